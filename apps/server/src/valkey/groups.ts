/** Windows whose keys have the same hash tag. In a cluster they are on one node, as all keys of a script must be. */
export interface Group<Request> {
  readonly tag: string;
  /**
   * A random value that Valkey keeps until it loses its data: another value means that the data is lost. '' until this
   * process has told Valkey what it has admitted.
   */
  generation: string;
  /** The requests of this turn of the event loop. */
  pending: Request[];
}

/** In a cluster, the windows are spread over its nodes. */
const CLUSTER_GROUPS = 16;

export const createGroups = <Request>(cluster: boolean): Group<Request>[] =>
  Array.from({ length: cluster ? CLUSTER_GROUPS : 1 }, (_each, index) => ({
    tag: `tiba:{limits:${index}}:`,
    generation: '',
    pending: [],
  }));

export function groupOf<Request>(groups: readonly Group<Request>[], key: string): Group<Request> {
  if (groups.length === 1) return groups[0] as Group<Request>;
  let hash = 0;
  for (let index = 0; index < key.length; index += 1) hash = (Math.imul(hash, 31) + key.charCodeAt(index)) | 0;
  return groups[(hash >>> 0) % groups.length] as Group<Request>;
}
