/** What was imported from other programs. Version 10 of the schema added it. */
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
