import { HAS_KIND_MARK, KIND_MARK } from "../history/stored-event.ts";

// A new store has its columns from the start: SQLite checks the whole schema for each column that is added to a table, which
// took most of the time of making a store. A test compares a new store with one that came here by all migrations.

/** It has all that filters compare, so no snapshot is read for them. */
const FOUND_BY_SOURCE = `
  CREATE INDEX snapshot_by_source ON snapshot (namespace, agent, project, branch, session_id)
    WHERE agent IS NOT NULL;
`;

/** The addition of schema 8: the origin of sessions. */
export const SOURCE_OF_SNAPSHOT = `
  ALTER TABLE snapshot ADD COLUMN source TEXT;
  ALTER TABLE snapshot ADD COLUMN agent TEXT AS (source ->> 'agent');
  ALTER TABLE snapshot ADD COLUMN project TEXT AS (source ->> 'project');
  ALTER TABLE snapshot ADD COLUMN branch TEXT AS (source ->> 'branch');
  ${FOUND_BY_SOURCE}
`;

/** The addition of schema 13: finds the events that changed a history, and the sessions of a list, without reading the others. */
export const FOUND_BY_KIND = `
  CREATE INDEX snapshot_by_archived ON snapshot (namespace, archived, updated_at_ms DESC, session_id DESC);
  CREATE INDEX event_by_kind ON event (log, ${KIND_MARK}, seq) WHERE ${HAS_KIND_MARK};
`;

/** The end of the words that are in their index. Those of later events wait. */
const END_OF_WORDS = `
  CREATE TABLE words_end (
    only_one INTEGER PRIMARY KEY CHECK (only_one = 1),
    position INTEGER NOT NULL
  ) STRICT;
  INSERT INTO words_end VALUES (1, 0);
`;

/**
 * The changes of schema 15: words wait, positions take no page of their own, and no index is there twice. A rkat that
 * adds words at once cannot go on beside this one, so their index has another name.
 */
export const WORDS_THAT_WAIT = `
  ${END_OF_WORDS}
  UPDATE words_end SET position = coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'event'), 0);
  DELETE FROM sqlite_sequence WHERE name = 'event';
  ALTER TABLE event_text RENAME TO event_words;
  DROP INDEX snapshot_by_update;
`;

/** The addition of schema 11: whether the owner of a lease was asked to stop. */
export const STOP_OF_LEASE = "ALTER TABLE lease ADD COLUMN stop INTEGER NOT NULL DEFAULT 0;";

/**
 * Tables of sessions, their events, and the leases on them.
 *
 * The event log is the only place where text is kept; `event_words` finds the
 * position of an event by its words and holds nothing else. It has no content
 * of its own, so deleting an event needs its text.
 */
export const sessionSchema = `
  -- The log of a session. One that was deleted has no namespace, until its events are gone.
  CREATE TABLE log (
    key INTEGER PRIMARY KEY,
    namespace TEXT,
    session_id TEXT NOT NULL,
    UNIQUE (namespace, session_id)
  ) STRICT;

  -- The position of a deleted event is never given to another: see \`words_end\`.
  CREATE TABLE event (
    position INTEGER PRIMARY KEY,
    log INTEGER NOT NULL REFERENCES log (key),
    seq INTEGER NOT NULL,
    -- User messages of the session up to this event.
    turns INTEGER NOT NULL,
    timestamp_ms INTEGER NOT NULL,
    event_id TEXT NOT NULL,
    event TEXT NOT NULL,
    -- Of the event's text. SQLite does not notice a byte that flips on the disk.
    checksum INTEGER NOT NULL,
    UNIQUE (log, seq)
  ) STRICT;

  CREATE VIRTUAL TABLE event_words USING fts5 (
    text,
    content = '',
    tokenize = "porter unicode61 remove_diacritics 2 categories 'L* M* N* Co'"
  );

  ${END_OF_WORDS}

  CREATE TABLE snapshot (
    namespace TEXT NOT NULL,
    session_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL,
    archived INTEGER NOT NULL,
    labels TEXT NOT NULL,
    snapshot TEXT NOT NULL,
    -- The origin of the session, as JSON. NULL for the sessions of rkat itself.
    source TEXT,
    agent TEXT AS (source ->> 'agent'),
    project TEXT AS (source ->> 'project'),
    branch TEXT AS (source ->> 'branch'),
    PRIMARY KEY (namespace, session_id)
  ) STRICT;

  ${FOUND_BY_SOURCE}
  ${FOUND_BY_KIND}

  CREATE TABLE projection_checkpoint (
    namespace TEXT NOT NULL,
    projection TEXT NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (namespace, projection)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE lease (
    namespace TEXT NOT NULL,
    key TEXT NOT NULL,
    owner TEXT NOT NULL,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    -- How long it was asked for.
    length_ms INTEGER NOT NULL,
    -- Whether its owner was asked to stop.
    stop INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (namespace, key)
  ) STRICT, WITHOUT ROWID;
`;

/** The imports from other programs. Version 10 of the schema added it. */
export const importSchema = `
  -- The start of the SHA-256 of a message's id in its source. It stays when the message is forgotten.
  CREATE TABLE imported_message (
    namespace TEXT NOT NULL,
    id BLOB NOT NULL,
    PRIMARY KEY (namespace, id)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE imported_file (
    namespace TEXT NOT NULL,
    path TEXT NOT NULL,
    state TEXT NOT NULL,
    PRIMARY KEY (namespace, path)
  ) STRICT, WITHOUT ROWID;
`;

/**
 * The addition of schema 12: a checksum of each entry. A rkat that makes none cannot go on beside this one, so a
 * column that it uses has another name.
 */
export const CHECKSUM_OF_KNOWLEDGE = `
  ALTER TABLE knowledge_entry RENAME COLUMN signature TO likeness;
  ALTER TABLE knowledge_entry ADD COLUMN checksum INTEGER;
`;

/**
 * Tables of what a project has learned, and of the calls that wait for approval.
 *
 * An entry is found by hashes: `knowledge_key` says which texts are the same,
 * `knowledge_band` which are much alike. A key without an entry was forgotten:
 * what has it is not learned again.
 */
export const knowledgeSchema = `
  -- AUTOINCREMENT: the order in which entries came.
  CREATE TABLE knowledge_entry (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace TEXT NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    session_id TEXT,
    pinned INTEGER NOT NULL,
    used INTEGER NOT NULL,
    -- Grows with each change; memory has heard of all but the last when the other is smaller.
    version INTEGER NOT NULL,
    heard INTEGER NOT NULL,
    likeness TEXT,
    entry TEXT NOT NULL,
    checksum INTEGER,
    UNIQUE (namespace, id)
  ) STRICT;
  CREATE INDEX knowledge_entry_by_kind ON knowledge_entry (namespace, kind, pinned, used, key);
  CREATE INDEX knowledge_entry_by_session ON knowledge_entry (namespace, session_id);
  CREATE INDEX knowledge_entry_unheard ON knowledge_entry (namespace) WHERE heard < version;

  CREATE TABLE knowledge_key (
    namespace TEXT NOT NULL,
    hash TEXT NOT NULL,
    entry INTEGER,
    PRIMARY KEY (namespace, hash)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX knowledge_key_by_entry ON knowledge_key (entry);

  CREATE TABLE knowledge_band (
    namespace TEXT NOT NULL,
    hash TEXT NOT NULL,
    entry INTEGER NOT NULL,
    PRIMARY KEY (namespace, hash, entry)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX knowledge_band_by_entry ON knowledge_band (entry);

  -- Ids that memory has yet to delete.
  CREATE TABLE knowledge_gone (
    namespace TEXT NOT NULL,
    id TEXT NOT NULL,
    PRIMARY KEY (namespace, id)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE knowledge_state (
    namespace TEXT PRIMARY KEY,
    position INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    -- What it was when rules were last made.
    distilled INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE approval (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace TEXT NOT NULL,
    id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    approval TEXT NOT NULL,
    -- On its way to the process that runs the turn.
    answer TEXT,
    UNIQUE (namespace, id)
  ) STRICT;
  CREATE INDEX approval_by_session ON approval (namespace, session_id);
`;

/**
 * Table of the texts that were forgotten, and the key of their marks. Without the key, a guessed text
 * cannot be tested.
 */
export const forgottenSchema = `
  CREATE TABLE forgotten_text (
    namespace TEXT NOT NULL,
    mark TEXT NOT NULL,
    PRIMARY KEY (namespace, mark)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE forgetting_key (
    only_one INTEGER PRIMARY KEY CHECK (only_one = 1),
    key BLOB NOT NULL
  ) STRICT;
`;
