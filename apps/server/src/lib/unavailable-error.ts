/** Something that this process depends on is away for a while. That is no defect, so the log shows no stack of it. */
export class UnavailableError extends Error {}
