import { Command, CommanderError } from 'commander';
import packageJson from '../package.json' with { type: 'json' };
import { addCommands } from './commands/index.ts';
import { readEnvironment } from './environment.ts';
import { reportOf } from './errors.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { createOutput, type Streams } from './output/output.ts';
import { plain } from './output/style.ts';
import { createSession, type GlobalOptions, type Start } from './session.ts';

export interface ProgramStreams extends Streams {
  readonly stdin: NodeJS.ReadStream;
}

/** The program with the commands that `args` may mean. `start` runs the action of a command. */
async function createProgram(start: Start, args: readonly string[], json: boolean): Promise<Command> {
  const program = new Command('tiba')
    .description('Check bank accounts before a payout, and follow disbursements until they have arrived.')
    .version(packageJson.version, '-V, --version', 'print the version')
    .option('--json', 'print results as JSON, one document per line')
    .option('--unmasked', 'show account numbers and names in full')
    .option('--profile <name>', 'use this stored login instead of the current one')
    .helpOption('-h, --help', 'explain the command')
    .helpCommand('help [command]', 'explain a command')
    .configureHelp({ showGlobalOptions: true, sortSubcommands: false })
    .showHelpAfterError(json ? false : 'Run the command with --help for its options and an example.')
    .configureOutput(json ? { outputError: (text, write) => write(usageError(text)) } : {})
    .exitOverride();
  await addCommands(program, start, args[0]);
  return program;
}

/** What is wrong with the command line, as every other failure with `--json`. */
const usageError = (text: string): string => {
  const message = text.trim().replace(/^error: /, '');
  const advice = 'Run the command with --help for its options and an example.';
  return `${JSON.stringify({ level: 'error', error_code: null, message, advice, request_id: null })}\n`;
};

/**
 * Runs a command line. Resolves with the exit code of the process. A reader of standard output that is gone ends the
 * process: with its exit code if that is known already, else with 1, because a verdict that was not given is not a yes.
 */
export async function runProgram(args: readonly string[], streams: ProgramStreams): Promise<ExitCode> {
  let known: ExitCode = EXIT.error;
  streams.stdout.on('error', (error: NodeJS.ErrnoException) =>
    process.exit(error.code === 'EPIPE' ? known : EXIT.error),
  );
  // Notes that no program reads change nothing. Without a listener they would end the process.
  streams.stderr.on('error', () => undefined);
  known = await runCommand(args, streams);
  return known;
}

async function runCommand(args: readonly string[], streams: ProgramStreams): Promise<ExitCode> {
  const interruption = new AbortController();
  const stop = (): void => interruption.abort(new Interruption());
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
  let exitCode: ExitCode = EXIT.ok;
  const json = args.includes('--json');
  const start: Start = async (command, run) => {
    exitCode = await run(createSession(command.optsWithGlobals<GlobalOptions>(), streams, interruption.signal));
  };
  try {
    const program = await createProgram(start, args, json);
    if (args.length === 0) program.outputHelp();
    else if (args[0] === 'complete') await complete(program, args);
    else await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    // Its message has been printed.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    if (interruption.signal.aborted && error === interruption.signal.reason) return EXIT.interrupted;
    return reportFailure(error, streams, json);
  }
}

/** What a shell suggests at Tab. */
async function complete(program: Command, args: readonly string[]): Promise<void> {
  const [completion, { readProfiles }] = await Promise.all([
    import('./commands/completion.ts'),
    import('./configuration/profiles.ts'),
  ]);
  await completion.complete(program, args, () => Object.keys(readProfiles(readEnvironment()).profiles));
}

class Interruption extends Error {}

function reportFailure(error: unknown, streams: Streams, json: boolean): ExitCode {
  const { exitCode, ...report } = reportOf(error);
  const output = createOutput(streams, { json, unmasked: false });
  const { error_code: code, message, advice, request_id: requestId } = report;
  const lines = [
    code === null ? `error: ${message}` : `error: ${code}: ${plain(message)}`,
    ...(advice === null ? [] : [advice]),
    ...(requestId === null ? [] : [`Request ID, for the operator of the service: ${plain(requestId)}`]),
  ];
  output.failure(report, lines.join('\n'));
  return exitCode;
}
