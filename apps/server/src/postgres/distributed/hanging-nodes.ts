import { setTimeout as wait } from 'node:timers/promises';
import type { Log } from '../../observability/log.ts';
import { type Database, DatabaseContended, DatabaseUnavailable, type HangingNodes } from '../database.ts';

/** Between two checks of a node that hangs. */
const RECHECK_MS = 1_000;

/** A node that is being checked, or that hangs. */
interface CheckedNode {
  /** Those whose rows are on it. */
  readonly clientIds: ReadonlySet<string>;
  /** The result of the first check; never rejects. */
  readonly answers: Promise<boolean>;
}

/**
 * Once a statement about a client has reached its deadline, checks the client's node, until it answers. `database` has
 * connections of its own for the checks: those of the service may all wait for the node.
 */
export function watchHangingNodes(database: Database, log: Log): HangingNodes {
  /** By address. Empty as long as no deadline passes. */
  const checkedNodes = new Map<string, CheckedNode>();
  const closing = new AbortController();
  const watching = new Set<Promise<void>>();
  let locating = false;

  const checkedNodeOf = (clientId: string): CheckedNode | undefined =>
    checkedNodes.values().find(({ clientIds }) => clientIds.has(clientId));

  /** Until the node of the client answers. */
  async function watch(clientId: string): Promise<void> {
    locating = true;
    const node = await findNodeOf(database, clientId).finally(() => {
      locating = false;
    });
    if (node === null || checkedNodes.has(node.address)) return;
    const { address, clientIds } = node;
    const answered = answers(database, node);
    checkedNodes.set(address, { clientIds, answers: answered.catch(() => true) });
    try {
      if (await answered) return;
      log.error({ node: address }, 'a node of the distributed database does not answer; refusing its clients');
      do await wait(RECHECK_MS, undefined, { signal: closing.signal });
      while (!(await answers(database, node)));
      log.info({ node: address }, 'the node of the distributed database answers again');
    } finally {
      checkedNodes.delete(address);
    }
  }

  /** While one node is being located, no other is: its next deadline has it checked. */
  function check(clientId: string): void {
    if (closing.signal.aborted || locating || checkedNodeOf(clientId) !== undefined) return;
    const watched = watch(clientId)
      .catch((error: unknown) => {
        if (!closing.signal.aborted) log.warn({ err: error }, 'checking a node of the distributed database failed');
      })
      .finally(() => watching.delete(watched));
    watching.add(watched);
  }

  return {
    async guard(clientId, work) {
      if (checkedNodes.size > 0 && (await checkedNodeOf(clientId)?.answers) === false) {
        throw new DatabaseUnavailable(new Error('the node of the client does not answer'), false);
      }
      try {
        return await work();
      } catch (error) {
        if (reachedDeadline(error)) check(clientId);
        throw error;
      }
    },
    any: () => checkedNodes.size > 0,
    async close() {
      closing.abort();
      await Promise.all(watching);
      await database.close();
    },
  };
}

const reachedDeadline = (error: unknown): boolean =>
  error instanceof DatabaseUnavailable && !error.lostConnection && !(error instanceof DatabaseContended);

interface Node {
  readonly address: string;
  readonly name: string;
  readonly port: number;
  readonly clientIds: ReadonlySet<string>;
}

/** The node that has the client's rows, with all of the clients whose rows it has. */
async function findNodeOf(database: Database, clientId: string): Promise<Node | null> {
  const clients = await database.query<{ client_id: string }>('select client_id from tiba.clients');
  const placed = await database.query<{ client_id: string; name: string; port: number }>(
    `select c.client_id, p.nodename as name, p.nodeport::int as port
       from unnest($1::text[]) as c (client_id)
       join pg_dist_shard_placement p
         on p.shardid = get_shard_id_for_distribution_column('tiba.transactions', c.client_id)`,
    [clients.map((client) => client.client_id)],
  );
  const own = placed.find((client) => client.client_id === clientId);
  if (own === undefined) return null;
  const { name, port } = own;
  const onNode = placed.filter((client) => client.name === name && client.port === port);
  return { address: `${name}:${port}`, name, port, clientIds: new Set(onNode.map((client) => client.client_id)) };
}

/** Within the deadline of a statement. */
async function answers(database: Database, { name, port }: Node): Promise<boolean> {
  try {
    const [row] = await database.query<{ answers: boolean }>(
      'select citus_check_connection_to_node($1, $2) as answers',
      [name, port],
    );
    return row?.answers === true;
  } catch (error) {
    if (error instanceof DatabaseUnavailable) return false;
    throw error;
  }
}
