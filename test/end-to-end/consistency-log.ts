/** A transaction as somebody was told of it. */
export interface Entry {
  readonly transactionId: string;
  readonly version: number;
  /** Its JSON text, byte for byte. */
  readonly data: string;
  /** By what it was told, such as `GET`. */
  readonly by: string;
}

/** Remembers all that was ever said about transactions, and says where it does not agree. */
export interface ConsistencyLog {
  record(sighting: Entry): void;
  contradictions(): string[];
}

export function createConsistencyLog(): ConsistencyLog {
  const seen = new Map<string, Entry[]>();
  return {
    record(sighting) {
      const own = seen.get(sighting.transactionId) ?? [];
      seen.set(sighting.transactionId, own);
      own.push(sighting);
    },
    contradictions: () => [...seen.values()].flatMap((own) => disagreements(own).concat(versionDecreases(own))),
  };
}

/** PROCESS as often as it is told, then for ever one final status with the same data, whoever tells of it. */
function disagreements(sightings: readonly Entry[]): string[] {
  const found: string[] = [];
  let [latest] = sightings;
  for (const each of sightings.toSorted((one, other) => one.version - other.version)) {
    const earlier = latest ?? each;
    const mayDiffer = each.version > earlier.version && statusOf(earlier) === 'PROCESS';
    if (each.data !== earlier.data && !mayDiffer) found.push(`${describe(earlier)} but then ${describe(each)}`);
    latest = each;
  }
  return found;
}

/** Whoever has read a version never reads an older one after it. */
function versionDecreases(sightings: readonly Entry[]): string[] {
  const read = sightings.filter(({ by }) => by === 'GET');
  return read.flatMap((each, index) => {
    const earlier = read[index - 1];
    return earlier === undefined || earlier.version <= each.version
      ? []
      : [`GET told of version ${earlier.version}, and later: ${describe(each)}`];
  });
}

const statusOf = ({ data }: Entry): string | undefined => /"status":"(\w+)"/.exec(data)?.[1];

const describe = ({ by, version, data }: Entry): string => `${by} of version ${version} said ${data}`;
