/**
 * What schema 8 added: where sessions came from, as JSON. NULL for the sessions of rkat itself. The
 * index has all that filters compare, so no snapshot is read for them.
 */
export const SOURCE_OF_SNAPSHOT = `
  ALTER TABLE snapshot ADD COLUMN source TEXT;
  ALTER TABLE snapshot ADD COLUMN agent TEXT AS (source ->> 'agent');
  ALTER TABLE snapshot ADD COLUMN project TEXT AS (source ->> 'project');
  ALTER TABLE snapshot ADD COLUMN branch TEXT AS (source ->> 'branch');
  CREATE INDEX snapshot_by_source ON snapshot (namespace, agent, project, branch, session_id)
    WHERE agent IS NOT NULL;
`;

/** What schema 11 added: whether the owner of a lease was asked to stop. */
export const STOP_OF_LEASE = "ALTER TABLE lease ADD COLUMN stop INTEGER NOT NULL DEFAULT 0;";

/**
 * Tables of sessions, their events, and the leases on them.
 *
 * The event log is the only place where text is kept; `event_text` finds the
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

  -- AUTOINCREMENT: the position of a deleted event is never given to another.
  CREATE TABLE event (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
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

  CREATE VIRTUAL TABLE event_text USING fts5 (
    text,
    content = '',
    tokenize = "porter unicode61 remove_diacritics 2 categories 'L* M* N* Co'"
  );

  CREATE TABLE snapshot (
    namespace TEXT NOT NULL,
    session_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL,
    archived INTEGER NOT NULL,
    labels TEXT NOT NULL,
    snapshot TEXT NOT NULL,
    PRIMARY KEY (namespace, session_id)
  ) STRICT;

  CREATE INDEX snapshot_by_update ON snapshot (namespace, updated_at_ms DESC, session_id DESC);
  ${SOURCE_OF_SNAPSHOT}

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
    PRIMARY KEY (namespace, key)
  ) STRICT, WITHOUT ROWID;
  ${STOP_OF_LEASE}
`;
