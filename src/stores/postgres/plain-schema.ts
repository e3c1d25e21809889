import { HAS_KIND_MARK, KIND_MARK } from "../history/stored-event.ts";

/**
 * Tables of sessions, their events, and the leases on them. Names compare by their bytes, whatever the
 * language of the database is.
 *
 * An event's place among those of all sessions is made of the number of its transaction
 * (`event-positions.ts`), because a sequence would not be in the order of the commits.
 */
export const LOG_TABLES: readonly string[] = [
  // The log of a session. One that was deleted has no namespace, until its events are gone.
  `create table rkat.log (
    key bigint generated always as identity primary key,
    namespace text collate "C",
    session_id text collate "C" not null,
    last_seq integer not null,
    -- User messages so far.
    turns integer not null,
    unique (namespace, session_id)
  ) with (fillfactor = 70)`,

  // No foreign key: an append would lock the row of the log a second time.
  `create table rkat.event (
    log bigint not null,
    seq integer not null,
    namespace text collate "C" not null,
    position bigint not null,
    -- User messages of the session up to this event.
    turns integer not null,
    timestamp_ms bigint not null,
    event_id text not null,
    -- JSON as text: nothing is asked of its inside, and jsonb would reorder its keys.
    event text not null,
    -- The stems of its words, for searches in the log.
    words tsvector,
    primary key (log, seq)
  )`,
  "create index event_by_position on rkat.event (namespace, position)",
  "create index event_by_word on rkat.event using gin (words)",

  `create table rkat.position_shift (
    only_one boolean primary key default true check (only_one),
    -- Added to the number of a transaction.
    shift bigint not null,
    -- The server that counts the transactions.
    server text not null
  )`,

  `create table rkat.snapshot (
    namespace text collate "C" not null,
    session_id text collate "C" not null,
    seq integer not null,
    updated_at_ms bigint not null,
    archived boolean not null,
    -- Each is the JSON of a key and a value.
    labels text[] not null,
    snapshot text not null,
    source text,
    agent text collate "C",
    project text collate "C",
    branch text collate "C",
    primary key (namespace, session_id)
  ) with (fillfactor = 70)`,
  "create index snapshot_by_update on rkat.snapshot (namespace, updated_at_ms desc, session_id desc)",
  `create index snapshot_by_source on rkat.snapshot (namespace, agent, project, branch, session_id)
    where agent is not null`,

  `create table rkat.projection_checkpoint (
    namespace text collate "C" not null,
    projection text collate "C" not null,
    position bigint not null,
    primary key (namespace, projection)
  ) with (fillfactor = 50)`,

  // A lease that was released keeps its last owner: what that one still appends is refused.
  `create table rkat.lease (
    namespace text collate "C" not null,
    key text collate "C" not null,
    owner text not null,
    host text not null,
    pid bigint not null,
    expires_at timestamptz not null,
    -- How long it was asked for.
    length interval not null,
    -- Its owner was asked to stop.
    stop boolean not null,
    primary key (namespace, key)
  ) with (fillfactor = 50)`,

  `create table rkat.approval (
    key bigint generated always as identity primary key,
    namespace text collate "C" not null,
    id text collate "C" not null,
    session_id text collate "C" not null,
    approval text not null,
    -- On its way to the process that runs the turn.
    answer text,
    unique (namespace, id)
  )`,
  "create index approval_by_session on rkat.approval (namespace, session_id)",

  `create table rkat.forgotten_text (
    namespace text collate "C" not null,
    mark text collate "C" not null,
    primary key (namespace, mark)
  )`,
  // The key of the marks. Without it, a guessed text cannot be tested.
  `create table rkat.forgetting_key (
    only_one boolean primary key default true check (only_one),
    key bytea not null
  )`,

  // The start of the SHA-256 of a message's id in its source. It stays when the message is forgotten.
  `create table rkat.imported_message (
    namespace text collate "C" not null,
    id bytea not null,
    primary key (namespace, id)
  )`,
  `create table rkat.imported_file (
    namespace text collate "C" not null,
    path text collate "C" not null,
    state text not null,
    primary key (namespace, path)
  )`,
];

/**
 * Tables of what a project has learned.
 *
 * An entry is found by hashes: `knowledge_key` says which texts are the same, `knowledge_band` which are
 * much alike. A key without an entry was forgotten: what has it is not learned again.
 */
export const KNOWLEDGE_TABLES: readonly string[] = [
  `create table rkat.knowledge_entry (
    -- The order in which entries came.
    key bigint generated always as identity primary key,
    namespace text collate "C" not null,
    id text collate "C" not null,
    kind text not null,
    session_id text collate "C",
    pinned boolean not null,
    used boolean not null,
    -- Grows with each change; memory has heard of all but the last when the other is smaller.
    version integer not null,
    heard integer not null,
    signature text,
    entry text not null,
    unique (namespace, id)
  )`,
  "create index knowledge_entry_by_kind on rkat.knowledge_entry (namespace, kind, pinned, used, key)",
  "create index knowledge_entry_by_session on rkat.knowledge_entry (namespace, session_id)",
  "create index knowledge_entry_unheard on rkat.knowledge_entry (namespace) where heard < version",

  `create table rkat.knowledge_key (
    namespace text collate "C" not null,
    hash text collate "C" not null,
    entry bigint,
    primary key (namespace, hash)
  )`,
  "create index knowledge_key_by_entry on rkat.knowledge_key (entry)",

  `create table rkat.knowledge_band (
    namespace text collate "C" not null,
    hash text collate "C" not null,
    entry bigint not null,
    primary key (namespace, hash, entry)
  )`,
  "create index knowledge_band_by_entry on rkat.knowledge_band (entry)",

  // Ids that memory has yet to delete.
  `create table rkat.knowledge_gone (
    namespace text collate "C" not null,
    id text collate "C" not null,
    primary key (namespace, id)
  )`,

  // A change of knowledge locks this row first.
  `create table rkat.knowledge_state (
    namespace text collate "C" primary key,
    position bigint not null default 0,
    revision bigint not null default 0,
    -- What it was when rules were last made.
    distilled bigint not null default 0
  ) with (fillfactor = 50)`,
];

/**
 * A checksum of each entry, as `checksumOf` makes it. A rkat that makes none cannot go on beside this one, so a column
 * that it uses has another name.
 */
/**
 * Events that were appended before have none. A program that knows no checksums would change an event and leave its checksum,
 * so the column that it writes has another name.
 */
export const CHECKSUM_OF_EVENTS: readonly string[] = [
  "alter table rkat.event rename column words to stems",
  "alter table rkat.event add column checksum bigint",
];

/** Finds the events that changed a history, and the sessions of a list, without reading the others. While it is made, appends wait. */
export const FOUND_BY_KIND: readonly string[] = [
  `create index snapshot_by_archived
    on rkat.snapshot (namespace, archived, updated_at_ms desc, session_id desc)`,
  `create index event_by_kind on rkat.event (log, (${KIND_MARK}), seq) where ${HAS_KIND_MARK}`,
];

/**
 * Each turn writes into each index that has the time of a session. `snapshot_by_archived` finds the usual lists. One of live and
 * archived sessions together sorts those of its namespace.
 */
export const FEWER_INDEXES: readonly string[] = ["drop index rkat.snapshot_by_update"];

/**
 * The stems of an event, each behind a mark of its namespace. An index of them has the events of each namespace apart,
 * so that a search reads nothing of others, however many there are. No stem has a space.
 */
function ownStems(stems: string, mark: string): string {
  return `replace(' ' || ${stems}::text, ' ''', ' ''' || ${mark})::tsvector`;
}

/**
 * While the index is made, appends wait. Older programs go on, and look through all that a namespace has. A search reads
 * the list of what was appended lately, of all namespaces, so it is a short one.
 */
export const FOUND_BY_OWN_WORD: readonly string[] = [
  `create index event_by_own_word on rkat.event
    using gin ((${ownStems("stems", "to_hex(hashtext(namespace))")})) with (gin_pending_list_limit = 256)`,
  "drop index rkat.event_by_word",
];

/**
 * Stems of words that most texts have and hardly a question asks for. A third of the words of an English text are these, and
 * PostgreSQL writes the whole list of the events that have one again, with each event that it adds.
 *
 * "Will" is not here, because "willing" has its stem. An index is made with this list, so the list never changes.
 */
const EVERYWHERE =
  "a an the this that these those such same each everi ani some no nor not onli both i me my you your he him his she her it " +
  "we us our they them their one who whom which what when where whi how am is are was were be been do did have has had " +
  "could should would and or but if so than then too also just veri more most much mani few as at by for from in into of " +
  "on to up with about after befor between becaus here there now yes ok im dont";

/** Stems that the index of words leaves out. A search for one of them looks through all that a namespace has. */
export const STEMS_EVERYWHERE: ReadonlySet<string> = new Set(EVERYWHERE.split(" "));

/** Few namespaces share one. */
export function namespaceMark(namespace: string): string {
  return `left(encode(int4send(hashtext(${namespace})), 'base64'), 4)`;
}

/** The stems of an event that its index has. */
export function indexedStems(event = ""): string {
  const stems = `ts_delete(${event}stems, '{${EVERYWHERE.replaceAll(" ", ",")}}'::text[])`;
  return ownStems(stems, namespaceMark(`${event}namespace`));
}

/** Less is written for each append. While the index is made, appends wait. Older programs go on, and look through all that a namespace has. */
export const FOUND_BY_RARER_WORD: readonly string[] = [
  `create index event_by_rarer_word on rkat.event
    using gin ((${indexedStems()})) with (gin_pending_list_limit = 256) where stems is not null`,
  "drop index rkat.event_by_own_word",
];

export const CHECKSUM_OF_KNOWLEDGE: readonly string[] = [
  "alter table rkat.knowledge_entry rename column signature to likeness",
  "alter table rkat.knowledge_entry add column checksum bigint",
  `update rkat.knowledge_entry set checksum =
    ('x' || left(encode(sha256(convert_to(entry, 'UTF8')), 'hex'), 12))::bit(48)::bigint`,
];
