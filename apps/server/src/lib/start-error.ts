/**
 * What keeps Tiba from starting and whoever starts it can mend. The message says how, and is all that is shown: a stack
 * trace would bury it.
 */
export class StartError extends Error {
  override readonly name: string = 'StartError';
}
