/** How a command ends (docs/cli.md, "Exit codes"): a script reads these, so they never change their meaning. */
export const EXIT = {
  /** The answer is yes: it arrived, the account can be paid, the command did what it says. */
  ok: 0,
  /** No answer: the network, the service, or an ID that does not exist. */
  error: 1,
  /** The command line is wrong. */
  usage: 2,
  /** The answer is no: the disbursement failed, the account cannot be paid. */
  no: 3,
  /** There is no login, or the service has refused it. */
  notLoggedIn: 4,
  /** There is no final answer yet, or a person must decide. */
  open: 5,
  /** Ctrl-C. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
