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

  // Who changes knowledge locks this row first.
  `create table rkat.knowledge_state (
    namespace text collate "C" primary key,
    position bigint not null default 0,
    revision bigint not null default 0,
    -- What it was when rules were last made.
    distilled bigint not null default 0
  ) with (fillfactor = 50)`,
];
