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
    signature TEXT,
    entry TEXT NOT NULL,
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
