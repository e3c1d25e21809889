/**
 * Tables of the memory store: entries, and the index of our own that finds them.
 *
 *     memory_entry ── slot ──► columns (who, when, which session), by slot
 *          │                     memory_column_block, and the newest in memory_segment.columns
 *          └─ its words ──────► postings (word → slots)
 *                                memory_word_block, and the newest in memory_segment.words
 *
 * Slots are explained in `memory-slots.ts`, segments in `memory-segments.ts`.
 */
export const memoryIndexSchema = `
  CREATE TABLE memory_namespace (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    -- INDEX_VERSION of whoever built the index.
    version INTEGER NOT NULL,
    -- Segments and columns of another generation are not searched.
    generation INTEGER NOT NULL,
    -- Grows with every transaction that changes the index.
    changes INTEGER NOT NULL,
    -- The last change that took something out: what was cached before is worthless.
    removed_at INTEGER NOT NULL,
    -- The last change of a row of memory_column_block.
    columns_at INTEGER NOT NULL,
    -- Entries stored so far, those deleted since too.
    stored INTEGER NOT NULL,
    slots INTEGER NOT NULL,
    passages INTEGER NOT NULL,
    -- The last entry that the next generation has, while it is built.
    rebuilt INTEGER,
    rebuilt_version INTEGER
  ) STRICT;

  CREATE TABLE memory_session (
    namespace INTEGER NOT NULL,
    number INTEGER NOT NULL,
    id TEXT NOT NULL,
    entries INTEGER NOT NULL,
    text_bytes INTEGER NOT NULL,
    PRIMARY KEY (namespace, number),
    UNIQUE (namespace, id)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE memory_run (
    namespace INTEGER NOT NULL,
    session INTEGER NOT NULL,
    part INTEGER NOT NULL,
    first INTEGER NOT NULL,
    size INTEGER NOT NULL,
    -- Slots given to passages, those of deleted entries too.
    used INTEGER NOT NULL,
    PRIMARY KEY (namespace, session, part)
  ) STRICT, WITHOUT ROWID;

  -- Runs of sessions that are no more.
  CREATE TABLE memory_free_run (
    namespace INTEGER NOT NULL,
    size INTEGER NOT NULL,
    first INTEGER NOT NULL,
    PRIMARY KEY (namespace, size, first)
  ) STRICT, WITHOUT ROWID;

  -- The numbers of roles and speakers in the columns.
  CREATE TABLE memory_label (
    namespace INTEGER NOT NULL,
    number INTEGER NOT NULL,
    text TEXT NOT NULL,
    -- How many entries have it as role or speaker.
    uses INTEGER NOT NULL,
    PRIMARY KEY (namespace, number),
    UNIQUE (namespace, text)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE memory_entry (
    -- Namespace and order of storing: namespace · 2^32 + how many were stored before.
    key INTEGER PRIMARY KEY,
    namespace INTEGER NOT NULL,
    id TEXT NOT NULL,
    session INTEGER NOT NULL,
    -- Of its first passage.
    slot INTEGER NOT NULL,
    passages INTEGER NOT NULL,
    turn INTEGER,
    -- Position in MEMORY_KINDS.
    kind INTEGER NOT NULL,
    -- Milliseconds, where they are all that there is to the text.
    time ANY,
    -- Numbers of labels.
    role INTEGER,
    speaker INTEGER,
    source_from INTEGER,
    source_to INTEGER,
    content TEXT NOT NULL,
    UNIQUE (namespace, id)
  ) STRICT;
  CREATE UNIQUE INDEX memory_entry_by_slot ON memory_entry (namespace, slot);

  CREATE TABLE memory_segment (
    -- Namespace and age: namespace · 2^32 + the change that made it.
    number INTEGER PRIMARY KEY,
    namespace INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    -- 'whole', 'growing' out of others, or 'gone' into another.
    state TEXT NOT NULL,
    -- The segment that it becomes part of.
    becomes INTEGER,
    level INTEGER NOT NULL,
    -- Entries whose words it has are between these, and the changes that added them.
    first_entry INTEGER NOT NULL,
    last_entry INTEGER NOT NULL,
    first_change INTEGER NOT NULL,
    last_change INTEGER NOT NULL,
    postings INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    -- Of one that grows, the last word that it has.
    grown BLOB,
    -- Of a small one, all that it has.
    words BLOB,
    columns BLOB
  ) STRICT;
  CREATE INDEX memory_segment_by_namespace ON memory_segment (namespace);

  CREATE TABLE memory_word_block (
    number INTEGER PRIMARY KEY,
    segment INTEGER NOT NULL,
    -- Its first word, in UTF-8. The postings of a frequent word are in several blocks, by slot.
    first BLOB NOT NULL,
    slot INTEGER NOT NULL,
    data BLOB NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX memory_word_block_by_word ON memory_word_block (segment, first, slot);

  CREATE TABLE memory_column_block (
    -- Namespace, whether its generation is odd, and which slots.
    key INTEGER PRIMARY KEY,
    changed INTEGER NOT NULL,
    data BLOB NOT NULL
  ) STRICT;
`;
