/** V8's format: a tree of calls, and for each sample the node of the tree that was running. */
export interface CpuProfile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: CallFrame }[];
  /** In microseconds, on the machine's monotonic clock. */
  readonly startTime: number;
  readonly samples: readonly number[];
  /** From the previous sample, or from the start, to each sample. */
  readonly timeDeltas: readonly number[];
}

interface CallFrame {
  readonly functionName: string;
  readonly url: string;
  /** From 0. */
  readonly lineNumber: number;
}

export interface SummaryOptions {
  /** Only samples in this range count, which leaves out the start of the process and the warm-up. */
  readonly fromUs: number;
  readonly toUs: number;
  /** File names are shown relative to this. */
  readonly root: string;
}

const FUNCTIONS_MAX = 40;
const ORIGINS_MAX = 16;

/**
 * The self time (without called functions) as shares of the time that was not idle: first by package or folder, then by
 * function.
 */
export function summarizeProfile(profile: CpuProfile, { fromUs, toUs, root }: SummaryOptions): string {
  const frames = new Map(profile.nodes.map(({ id, callFrame }) => [id, callFrame]));
  const byFunction = new Map<string, number>();
  const byOrigin = new Map<string, number>();
  const add = (sums: Map<string, number>, key: string, us: number): void =>
    void sums.set(key, (sums.get(key) ?? 0) + us);
  let nowUs = profile.startTime;
  let busyUs = 0;
  for (const [index, id] of profile.samples.entries()) {
    const us = profile.timeDeltas[index] ?? 0;
    nowUs += us;
    const frame = frames.get(id);
    if (frame === undefined || frame.functionName === '(idle)' || nowUs < fromUs || nowUs > toUs) continue;
    const file = frame.url.replace(`file://${root}`, '');
    add(byFunction, functionName(frame, file), us);
    add(byOrigin, originOf(frame, file), us);
    busyUs += us;
  }
  return `${shares(byOrigin, busyUs, ORIGINS_MAX)}\n\n${shares(byFunction, busyUs, FUNCTIONS_MAX)}`;
}

function functionName({ functionName, lineNumber }: CallFrame, file: string): string {
  const name = functionName === '' ? '(anonymous)' : functionName;
  return file === '' ? name : `${name}  ${file}:${lineNumber + 1}`;
}

/** A package, a folder of the repository, Node's JavaScript, or code without a source: native code and V8 itself. */
function originOf({ functionName }: CallFrame, file: string): string {
  if (file.startsWith('node:')) return 'Node, JavaScript';
  const module = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1];
  if (module !== undefined) return module;
  const folder = /^(?:apps|bench)\/.*\//.exec(file)?.[0];
  return folder ?? (functionName.startsWith('(') ? functionName : 'Node and V8, native');
}

const shares = (sums: ReadonlyMap<string, number>, totalUs: number, linesMax: number): string =>
  [...sums]
    .sort(([, one], [, other]) => other - one)
    .slice(0, linesMax)
    .map(([name, us]) => `${((us / totalUs) * 100).toFixed(1).padStart(5)} %  ${name}`)
    .join('\n');
