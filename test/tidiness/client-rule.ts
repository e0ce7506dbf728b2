import { type Repository, type Rule, SERVER, select, textOf } from './repository.ts';

/**
 * Each statement names the client whose rows it reads or writes: every table that belongs to clients is tied to a
 * parameter, or to the rows that one gives, by `client_id`. So no statement mixes the rows of clients by accident, and a
 * distributed PostgreSQL finds each row in one place (docs/decisions/0057-one-place.md).
 */

const FOLDER = `${SERVER}postgres/`;
const SCHEMA = 'schema.sql';
const MIGRATIONS = `${FOLDER}migrations/`;

const OPERATOR = 'the operator reads over all clients';
const OLD = 'deletes what is old of all clients, each through an index by client';
const CLAIM = 'work of all clients that processes claim';
const CACHE = 'what every process caches of all clients';
const RESTORE = 'marks all clients after a backup was restored';
const ARCHIVE = 'the archive goes over all clients';
const PERSON = 'a person is paid by several clients';
const PEOPLE = 'a proposal belongs to the operator; its client_id only says whom it is about';
const FINDING = 'a finding belongs to a process; its client_id only says whose inquiries fail';
const DELIVERY = 'takes those of the client from all deliveries, as from their view';
const BUILT = 'its conditions are built; they name the client';

/** Statements that read or write rows of all clients: the file, the function or constant that has it, and why. */
const EXEMPT: Readonly<Record<string, string>> = {
  'account-checks.ts findAccountChecksByRequest': OPERATOR,
  'account-checks.ts findNewest': OPERATOR,
  'account-checks.ts findOldestAccountCheck': OLD,
  'account-checks.ts listAccountChecks': BUILT,
  'account-validation-rows.ts QUEUES_SQL': CLAIM,
  'account-validation-rows.ts findAbandonedRows': CLAIM,
  'account-validations.ts deleteEndedValidations': OLD,
  'account-validations.ts deleteValidationsWithoutRows': OLD,
  'account-validations.ts listRunningValidations': OPERATOR,
  'archive-files.ts beginArchive': ARCHIVE,
  'archive-files.ts claimRemovableArchiveFiles': ARCHIVE,
  'archive-files.ts countArchivedClients': ARCHIVE,
  'archive-files.ts endArchive': ARCHIVE,
  'archive-files.ts findArchiveOwner': ARCHIVE,
  'archive-files.ts hasArchive': ARCHIVE,
  'archive-files.ts isRetentionHeld': ARCHIVE,
  'archive-files.ts listArchivePositions': ARCHIVE,
  'archive-files.ts listRemovableArchiveFiles': ARCHIVE,
  'archive-files.ts releaseRetention': ARCHIVE,
  'backlog.ts readBacklog': OPERATOR,
  'bank-findings.ts STORE_SQL': FINDING,
  'bank-findings.ts listBankFindings': FINDING,
  'callback-deliveries.ts FIND_DUE_DISTRIBUTED_SQL': CLAIM,
  'callback-deliveries.ts FIND_DUE_SQL': CLAIM,
  'callback-endpoints.ts listUnhealthyEndpoints': OPERATOR,
  'callback-history.ts findDelivery': DELIVERY,
  'callback-history.ts listDeliveries': DELIVERY,
  'callback-outbox-list.ts listOwn': OPERATOR,
  'delivery-replays.ts replayDelivery': DELIVERY,
  'clients.ts findAllClients': CACHE,
  'clients.ts findClientsWithScope': 'a notice about a bank goes to all clients',
  'clients.ts listClients': OPERATOR,
  'distributed/hanging-nodes.ts findNodeOf': 'the clients whose rows are on a node that hangs',
  'distributed/distribution.ts emptyOutboxRanges': 'a command of the operator, while no process runs',
  'distributed/one-client.ts listClientIds': 'the clients, for work that is done client by client',
  'events.ts listEvents': 'its client_id = $1 has no alias',
  'operator-actions.ts verifyOperatorActions': OPERATOR,
  'operator-proposals.ts decideProposal': PEOPLE,
  'operator-proposals.ts deleteOldProposals': OLD,
  'operator-proposals.ts endProposalsOf': PEOPLE,
  'operator-proposals.ts findProposal': PEOPLE,
  'operator-proposals.ts lockProposal': PEOPLE,
  'personal-data.ts CONFLICTS_SQL': PERSON,
  'personal-data.ts PAID_TO_SQL': PERSON,
  'personal-data.ts eraseAccountHashes': PERSON,
  'personal-data.ts listValidationRowsOf': PERSON,
  'callback-replays.ts COMPLETE_SQL': CLAIM,
  'callback-replays.ts deleteRangeReplays': OLD,
  'callback-replays.ts findRangeReplay': OPERATOR,
  'callback-replays.ts listOpenReplays': CLAIM,
  'restores.ts endWhatPeopleDid': RESTORE,
  'restores.ts record': RESTORE,
  'retention/callbacks.ts findOldestAttempt': OLD,
  'retention/events.ts findOldestEvent': OLD,
  'retention/status-messages.ts deleteMessages': OLD,
  'retention/status-messages.ts findOldestStatusMessage': OLD,
  'retention/transactions.ts findOldestTransaction': OLD,
  'snap-clients.ts findAllSnapClients': CACHE,
  'snap-clients.ts setSnapClient': 'a partner ID belongs to one client of all',
  'snap-external-ids.ts deleteExternalIds': OLD,
  'status-inquiries.ts listInquiryReviews': OPERATOR,
  'status-inquiry-claims.ts CLAIM_DUE_SQL': CLAIM,
  'status-inquiry-claims.ts DUE_RAILS_DISTRIBUTED_SQL': CLAIM,
  'status-inquiry-claims.ts DUE_RAILS_SQL': CLAIM,
  'status-inquiry-claims.ts findDue': CLAIM,
  'status-inquiry-claims.ts postpone': CLAIM,
  'transaction-search.ts amountSource': OPERATOR,
  'transaction-search.ts newestSource': OPERATOR,
  'transaction-search.ts sourceOf': OPERATOR,
  'transaction-search.ts sourceOverNodes': OPERATOR,
  'transactions.ts NEWLY_OVERDUE_SQL': CLAIM,
  'transactions.ts listOverdue': OPERATOR,
};

/** A reference to a table of clients. */
interface Reference {
  readonly table: string;
  /** '' where it has no alias. */
  readonly alias: string;
}

interface Statement {
  /** `file function`. */
  readonly place: string;
  readonly sql: string;
}

/** The tables and views with a column client_id. */
function clientTables(repository: Repository): Set<string> {
  const tables = [...textOf(repository, SCHEMA).matchAll(/create table tiba\.(\w+) \(([^;]*)\);/g)];
  const owned = tables
    .filter(([, , columns = '']) => /^ {2}client_id text/m.test(columns))
    .map(([, name = '']) => name);
  const partitions = [...textOf(repository, SCHEMA).matchAll(/create table tiba\.(\w+) partition of tiba\.(\w+)/g)];
  for (const [, name = '', whole = ''] of partitions) if (owned.includes(whole)) owned.push(name);
  for (const file of select(repository, [MIGRATIONS], ['.sql'])) {
    const views = textOf(repository, file).matchAll(/create view tiba\.(\w+) as\s+select (?:\w+\.)?client_id/g);
    owned.push(...Array.from(views, ([, name = '']) => name));
  }
  if (owned.length < 10) throw new Error('the rule does not see the tables of clients');
  return new Set(owned);
}

const TEXT = /`(?:\\.|[^`\\])*`|'(?:\\.|[^'\\\n])*'/g;
const STATEMENT = /^\s*(?:with|select|insert into|update|delete from)\s/i;
/** A function or a constant of the file itself. */
const NAME = /^(?:export )?(?:(?:async )?function\*?|const) (\w+)/gm;

function statementsOf(file: string, code: string): Statement[] {
  const bare = code.replaceAll(/\/\*[^]*?\*\/|(?<![:'"`\w])\/\/.*/g, (comment) => comment.replaceAll(/[^\n]/g, ' '));
  const constants = new Map(
    [...bare.matchAll(/const (\w+)(?:: string)? =\s*(`(?:\\.|[^`\\])*`|'(?:\\.|[^'\\\n])*')/g)].map(
      ([, name = '', text = '']) => [name, text.slice(1, -1)] as const,
    ),
  );
  const resolve = (text: string, depth = 0): string =>
    text.replaceAll(/\$\{([^{}]*)\}/g, (_, expression: string) => {
      const constant = depth < 5 ? constants.get(expression.trim()) : undefined;
      return constant === undefined ? ' $0 ' : resolve(constant, depth + 1);
    });
  return [...bare.matchAll(TEXT)].flatMap((match) => {
    const sql = resolve(match[0].slice(1, -1)).replaceAll(/--.*/g, ' ');
    if (!STATEMENT.test(sql) || !sql.includes('tiba.')) return [];
    const name = [...bare.slice(0, match.index).matchAll(NAME)].at(-1)?.[1] ?? '';
    // A part of other statements is read where it is used.
    if (constants.has(name) && bare.includes(`\${${name}}`)) return [];
    return [{ place: `${file.slice(FOLDER.length)} ${name}`, sql }];
  });
}

/** What follows the name of a table where it has no alias. */
const KEYWORDS = 'on|set|where|cross|join|left|order|group|union|limit|using|select|values|for|returning|inner|natural';
const REFERENCE = new RegExp(
  String.raw`\b(insert into|from|join|update|using|,)\s+tiba\.(\w+)(?:\s+(?:as\s+)?(?!(?:${KEYWORDS})\b)([a-z]\w*))?`,
  'gi',
);

function referencesOf(sql: string, tables: ReadonlySet<string>): Reference[] {
  return [...sql.matchAll(REFERENCE)].flatMap(([, verb = '', table = '', alias = '']) => {
    // What is inserted is the client's whose ID is inserted.
    if (!tables.has(table) || /insert/i.test(verb)) return [];
    return [{ table, alias }];
  });
}

const nameOf = ({ alias, table }: Reference): string => (alias === '' ? table : alias);

/** Two names of a statement whose client_id is the same. */
type Pair = readonly [string, string];

/** An alias, and what its client_id is compared with. */
const EQUALITY =
  /(?:\b(\w+)\.)?\bclient_id(?: collate "C")?\s*=\s*(?:any\s*\()?\s*(?:(\w+)\.client_id|(\$\d+|\w+\.\w+))?/gi;
const TUPLE = /\((?:(\w+)\.)?client_id,[^()]*\)\s*(?:=|in)\s*/gi;

const FROM_ITEM = new RegExp(
  String.raw`\b(?:from|join)\s+(?:lateral\s+)?(?:(?:tiba\.)?(\w+)(?:\s+(?:as\s+)?(?!(?:${KEYWORDS})\b)([a-z]\w*))?|\()`,
  'gi',
);
const USING = /\)?\s*\w*\s+using \([\w,\s]*\bclient_id\b[\w,\s]*\)/gi;

/** `one join other using (client_id)`: the two items before it, at the same depth of parentheses. '' for a subquery. */
function joinedByUsing(sql: string): Pair[] {
  const found = [...sql.matchAll(FROM_ITEM), ...sql.matchAll(USING)].sort((one, other) => one.index - other.index);
  const items: string[][] = [];
  const pairs: Pair[] = [];
  let [depth, position] = [0, 0];
  for (const match of found) {
    const between = sql.slice(position, match.index);
    depth += between.split('(').length - between.split(')').length;
    position = match.index;
    const [text, name = '', alias = name] = match;
    if (/^(?:from|join)/i.test(text)) {
      items[depth] = [...(items[depth] ?? []), alias];
      continue;
    }
    const [one, other] = items[text.startsWith(')') ? depth - 1 : depth]?.slice(-2) ?? [];
    if (one !== undefined && other !== undefined) pairs.push([one, other]);
  }
  return pairs;
}

/** The references that are tied to no client. */
function untied(sql: string, tables: ReadonlySet<string>): Reference[] {
  const references = referencesOf(sql, tables);
  const names = new Set(references.map(nameOf));
  const unnamed = references.filter(({ alias }) => alias === '').map(nameOf);
  const tied = new Set<string>();
  const pairs = joinedByUsing(sql);
  /** How often client_id stands without a name and could be that of several tables. */
  let unclear = 0;
  for (const [, alias, other] of [...sql.matchAll(EQUALITY), ...sql.matchAll(TUPLE)]) {
    // What an insert stores instead.
    if (other === 'excluded') continue;
    const name = alias ?? (unnamed.length === 1 ? unnamed[0] : undefined);
    if (name === undefined) unclear += 1;
    else if (other === undefined) tied.add(name);
    else pairs.push([name, other]);
  }
  // What is no table of clients is a part of the statement, whose own tables are looked at where it is made.
  for (const [one, other] of pairs) {
    if (!names.has(one)) tied.add(other);
    if (!names.has(other)) tied.add(one);
  }
  // Each client_id without a name counts for one table.
  if (unclear >= unnamed.length) for (const table of unnamed) tied.add(table);
  if (names.size === 1 && unclear >= references.length) for (const name of names) tied.add(name);
  for (let count = -1; count !== tied.size; ) {
    count = tied.size;
    for (const [one, other] of pairs) {
      if (tied.has(one)) tied.add(other);
      else if (tied.has(other)) tied.add(one);
    }
  }
  return references.filter((reference) => !tied.has(nameOf(reference)));
}

export const statementsNameTheirClient: Rule = {
  name: 'each statement is tied to its client by client_id, or is listed with a reason',
  check(repository) {
    const tables = clientTables(repository);
    const used = new Set<string>();
    const found = select(repository, [FOLDER], ['.ts']).flatMap((file) =>
      statementsOf(file, textOf(repository, file)).flatMap(({ place, sql }) => {
        const references = untied(sql, tables);
        if (references.length === 0) return [];
        used.add(place);
        if (EXEMPT[place] !== undefined) return [];
        const names = references.map(({ table, alias }) => `${table} ${alias}`.trim()).join(', ');
        return [`${place}: ${names} without client_id in: ${sql.replaceAll(/\s+/g, ' ').trim().slice(0, 60)}`];
      }),
    );
    const unused = Object.keys(EXEMPT).filter((place) => !used.has(place));
    return [...found, ...unused.map((place) => `${place} is listed, and its statements are tied to their client`)];
  },
  planted: [
    { [`${FOLDER}planted.ts`]: "const FIND = 'select status from tiba.transactions where transaction_id = $1';\n" },
    {
      [`${FOLDER}planted.ts`]:
        'const FIND = `select v.kind from tiba.events v\n  join tiba.transactions t on t.transaction_id = v.subject_id\n' +
        ' where v.client_id = $1`;\n',
    },
    { [`${FOLDER}planted.ts`]: "const MARK = 'update tiba.callback_outbox set state = $1 where sequence = $2';\n" },
    {
      [`${FOLDER}planted.ts`]:
        'const END = `delete from tiba.events v using tiba.clients c where v.client_id = c.client_id`;\n',
    },
    {
      [`${FOLDER}planted.ts`]:
        'const FIND = `select v.kind from tiba.events v\n  join tiba.transactions t on t.transaction_id = v.subject_id\n' +
        '  join tiba.clients c using (client_id)\n where c.client_id = $1`;\n',
    },
    {
      [`${FOLDER}planted.ts`]:
        'const COUNT = `with own as (select status from tiba.transactions where client_id = $1)\n' +
        'select count(*) from own, tiba.events`;\n',
    },
  ],
};
