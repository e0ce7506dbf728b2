/** What stands below the help of a command. */
export const examples = (...lines: readonly (readonly [command: string, what: string])[]): string =>
  `\nExamples:\n${lines.map(([command, what]) => `  $ ${command}\n      ${what}\n`).join('')}`;
