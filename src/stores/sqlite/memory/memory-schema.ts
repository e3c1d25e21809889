/**
 * Tables of the memory store.
 *
 * An entry is cut into passages. The number of a passage says where it is, so
 * that a range of numbers is a namespace or a session, and the number next to
 * it is its neighbour (`memory-place.ts`). `position` of an entry is the number
 * of its first passage.
 *
 * `memory_words` finds passages by the words that `indexed-words.ts` makes of
 * them, and holds nothing else. It has no content of its own, so that what is
 * deleted must be told its words again; in return nothing of it stays behind in
 * its pages.
 */
export const memorySchema = `
  CREATE TABLE memory_namespace (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    passages INTEGER NOT NULL
  ) STRICT;

  -- A session takes another number when its passages have filled one.
  CREATE TABLE memory_session (
    number INTEGER PRIMARY KEY,
    namespace INTEGER NOT NULL REFERENCES memory_namespace (number),
    id TEXT NOT NULL,
    -- Given to passages so far, those of deleted entries too.
    passages INTEGER NOT NULL,
    entries INTEGER NOT NULL,
    text_bytes INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX memory_session_by_id ON memory_session (namespace, id);

  CREATE TABLE memory_entry (
    position INTEGER PRIMARY KEY,
    passages INTEGER NOT NULL,
    namespace INTEGER NOT NULL,
    id TEXT NOT NULL,
    turn INTEGER,
    kind TEXT NOT NULL,
    time TEXT,
    role TEXT,
    speaker TEXT,
    source_from INTEGER,
    source_to INTEGER,
    -- Whether the text names a time.
    says_when INTEGER NOT NULL,
    text_hash INTEGER NOT NULL,
    content TEXT NOT NULL,
    UNIQUE (namespace, id)
  ) STRICT;
  CREATE INDEX memory_entry_by_text ON memory_entry (text_hash);

  -- All but spaces is part of a word: our own code has cut the text already.
  CREATE VIRTUAL TABLE memory_words USING fts5 (
    words,
    content = '',
    columnsize = 0,
    detail = none,
    tokenize = "porter unicode61 remove_diacritics 0 categories 'L* M* N* P* S* C*'"
  );
  INSERT INTO memory_words (memory_words, rank) VALUES ('secure-delete', 1);
`;
