/** Keys are the number of a namespace or of a vector space times this, plus a number of their own. */
export const KEYS = 2 ** 32;
/** Column blocks of an odd generation come behind those of an even one. */
export const GENERATION_KEYS = KEYS / 2;

const FOUND_BY_MARKS = `
  CREATE INDEX memory_entry_marked ON memory_entry (namespace) WHERE marks IS NOT NULL;
`;

/** The addition of schema 14: what a person did with an entry. */
export const MARKS_OF_ENTRIES = `
  ALTER TABLE memory_entry ADD COLUMN marks TEXT;
  ${FOUND_BY_MARKS}
`;

/**
 * Tables of the index (`indexing/index-store.ts` says what their rows mean).
 */
export const indexSchema = `
  CREATE TABLE memory_namespace (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    version INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    changes INTEGER NOT NULL,
    removed_at INTEGER NOT NULL,
    columns_at INTEGER NOT NULL,
    stored INTEGER NOT NULL,
    slots INTEGER NOT NULL,
    passages INTEGER NOT NULL,
    rebuilt INTEGER,
    rebuilt_version INTEGER
  ) STRICT;

  CREATE TABLE memory_session (
    namespace INTEGER NOT NULL,
    number INTEGER NOT NULL,
    id TEXT NOT NULL,
    entries INTEGER NOT NULL,
    text_bytes INTEGER NOT NULL,
    -- JSON: [first, size, used] of each.
    runs TEXT NOT NULL,
    PRIMARY KEY (namespace, number),
    UNIQUE (namespace, id)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE memory_free_run (
    namespace INTEGER NOT NULL,
    size INTEGER NOT NULL,
    first INTEGER NOT NULL,
    PRIMARY KEY (namespace, size, first)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE memory_label (
    namespace INTEGER NOT NULL,
    number INTEGER NOT NULL,
    text TEXT NOT NULL,
    uses INTEGER NOT NULL,
    PRIMARY KEY (namespace, number),
    UNIQUE (namespace, text)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE memory_entry (
    key INTEGER PRIMARY KEY,
    namespace INTEGER NOT NULL,
    id TEXT NOT NULL,
    session INTEGER NOT NULL,
    slot INTEGER NOT NULL,
    passages INTEGER NOT NULL,
    turn INTEGER,
    kind INTEGER NOT NULL,
    time ANY,
    -- NULL for none.
    role INTEGER,
    speaker INTEGER,
    source_from INTEGER,
    source_to INTEGER,
    content TEXT NOT NULL,
    -- What a person did with it.
    marks TEXT,
    UNIQUE (namespace, id)
  ) STRICT;
  CREATE UNIQUE INDEX memory_entry_by_slot ON memory_entry (namespace, slot);
  ${FOUND_BY_MARKS}

  CREATE TABLE memory_segment (
    key INTEGER PRIMARY KEY,
    generation INTEGER NOT NULL,
    state TEXT NOT NULL,
    becomes INTEGER,
    level INTEGER NOT NULL,
    first_entry INTEGER NOT NULL,
    last_entry INTEGER NOT NULL,
    first_change INTEGER NOT NULL,
    last_change INTEGER NOT NULL,
    postings INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    grown BLOB,
    words BLOB,
    columns BLOB
  ) STRICT;

  -- Its own number keeps rows small enough for a page; the order of words is in the index.
  CREATE TABLE memory_word_block (
    number INTEGER PRIMARY KEY,
    segment INTEGER NOT NULL,
    first BLOB NOT NULL,
    slot INTEGER NOT NULL,
    data BLOB NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX memory_word_block_by_word ON memory_word_block (segment, first, slot);

  CREATE TABLE memory_column_block (
    -- Namespace, whether the generation is odd, and the block.
    key INTEGER PRIMARY KEY,
    changed INTEGER NOT NULL,
    data BLOB NOT NULL
  ) STRICT;

  CREATE TABLE memory_vector_space (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace INTEGER NOT NULL,
    embedder TEXT NOT NULL,
    dimensions INTEGER NOT NULL,
    changes INTEGER NOT NULL,
    passages INTEGER NOT NULL,
    unrelated REAL,
    related REAL,
    UNIQUE (namespace, embedder)
  ) STRICT;

  CREATE TABLE memory_vector (
    key INTEGER PRIMARY KEY,
    row BLOB
  ) STRICT;

  CREATE TABLE memory_code_block (
    key INTEGER PRIMARY KEY,
    changed INTEGER NOT NULL,
    codes BLOB NOT NULL
  ) STRICT;
`;
