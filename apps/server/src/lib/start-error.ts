/**
 * A fault that keeps Tiba from starting and that the person who starts it can correct. The message says how. Only the
 * message is printed: a stack trace would hide it.
 */
export class StartError extends Error {
  override readonly name: string = 'StartError';
}
