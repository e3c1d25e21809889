/**
 * Tables of the vectors of passages. They can always be made again from the entries.
 *
 * A space is what one embedder made in one namespace; vectors of two spaces are never
 * compared. A passage's vector is kept twice, as a code and as a row (`vectors/quantise.ts`):
 * codes in blocks, since all of them are loaded, rows alone, since few of them are read.
 *
 * A passage without a row is still to be embedded: no other list says so.
 */
export const memoryVectorSchema = `
  CREATE TABLE memory_vector_space (
    -- Never given twice, so that what is loaded of one is not taken for another.
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace INTEGER NOT NULL,
    embedder TEXT NOT NULL,
    dimensions INTEGER NOT NULL,
    -- Grows with every transaction that changes the space.
    changes INTEGER NOT NULL,
    -- Passages that have a row.
    passages INTEGER NOT NULL,
    -- What cosines mean (vectors/calibration.ts).
    unrelated REAL,
    related REAL,
    UNIQUE (namespace, embedder)
  ) STRICT;

  CREATE TABLE memory_vector (
    -- Space and slot: space · 2^32 + slot.
    key INTEGER PRIMARY KEY,
    -- NULL for a passage without words.
    row BLOB
  ) STRICT;

  CREATE TABLE memory_code_block (
    -- Space and slots: space · 2^32 + slot / 256.
    key INTEGER PRIMARY KEY,
    changed INTEGER NOT NULL,
    -- 256 bits that say which slots have a code, and those codes.
    codes BLOB NOT NULL
  ) STRICT;
`;
