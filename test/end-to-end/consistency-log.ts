/** A transaction as the service reported it once. */
export interface Entry {
  readonly transactionId: string;
  readonly version: number;
  /** Its JSON text, byte for byte. */
  readonly data: string;
  /** The channel that reported it, such as `GET`. */
  readonly by: string;
}

/** Records everything that the service reported about transactions, and finds contradictions in it. */
export interface ConsistencyLog {
  record(entry: Entry): void;
  contradictions(): string[];
}

export function createConsistencyLog(): ConsistencyLog {
  const entries = new Map<string, Entry[]>();
  return {
    record(entry) {
      const own = entries.get(entry.transactionId) ?? [];
      entries.set(entry.transactionId, own);
      own.push(entry);
    },
    contradictions: () => [...entries.values()].flatMap((own) => disagreements(own).concat(versionDecreases(own))),
  };
}

/** The data may differ only while the status is PROCESS; a final status has the same data on every channel. */
function disagreements(entries: readonly Entry[]): string[] {
  const found: string[] = [];
  let [latest] = entries;
  for (const each of entries.toSorted((one, other) => one.version - other.version)) {
    const earlier = latest ?? each;
    const mayDiffer = each.version > earlier.version && statusOf(earlier) === 'PROCESS';
    if (each.data !== earlier.data && !mayDiffer) found.push(`${describe(earlier)} but then ${describe(each)}`);
    latest = each;
  }
  return found;
}

/** A GET never returns an older version than an earlier GET did. */
function versionDecreases(entries: readonly Entry[]): string[] {
  const read = entries.filter(({ by }) => by === 'GET');
  return read.flatMap((each, index) => {
    const earlier = read[index - 1];
    return earlier === undefined || earlier.version <= each.version
      ? []
      : [`GET returned version ${earlier.version}, and later: ${describe(each)}`];
  });
}

const statusOf = ({ data }: Entry): string | undefined => /"status":"(\w+)"/.exec(data)?.[1];

const describe = ({ by, version, data }: Entry): string => `${by} reported version ${version} as ${data}`;
