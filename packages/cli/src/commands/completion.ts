import { Argument, type Command } from 'commander';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Session, Start } from '../session.ts';
import { examples } from './examples.ts';

export function addCompletion(program: Command, start: Start): void {
  program
    .command('completion')
    .summary('let the shell complete commands')
    .description('Print a script with which the shell completes commands, options and profiles.')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish']))
    .addHelpText(
      'after',
      examples(
        ["echo 'source <(tiba completion bash)' >> ~/.bashrc", 'bash, with the package bash-completion.'],
        ["echo 'source <(tiba completion zsh)' >> ~/.zshrc", 'zsh, after compinit.'],
        ['tiba completion fish > ~/.config/fish/completions/tiba.fish', 'fish.'],
      ),
    )
    .action((shell: string, _options: unknown, command: Command) =>
      start(command, (session) => printScript(session, program.name(), shell)),
    );
}

async function printScript({ output }: Session, name: string, shell: string): Promise<ExitCode> {
  const { script } = await import('@bomb.sh/tab');
  const text = printed(() => script(shell, name, name));
  output.result({ shell, script: text }, () => text);
  return EXIT.ok;
}

/** What a function prints: the library offers the script in no other way. */
function printed(print: () => void): string {
  const { log } = console;
  let text = '';
  console.log = (...values) => {
    text += `${values.join(' ')}\n`;
  };
  try {
    print();
  } finally {
    console.log = log;
  }
  return text.trimEnd();
}

/** The hidden command that the script of a shell runs at each Tab: `tiba complete -- status --w`. */
export async function complete(program: Command, args: readonly string[], profiles: () => string[]): Promise<void> {
  const { default: tab } = await import('@bomb.sh/tab/commander');
  const root = tab(program);
  const profile = root.options.get('profile');
  if (profile !== undefined) {
    profile.handler = (suggest) => {
      for (const name of profiles()) suggest(name, '');
    };
  }
  await program.parseAsync(args, { from: 'user' });
}
