/** The part of a pool or a connection of `pg` that is used here. */
interface Asked {
  query(sql: string, values?: unknown[]): Promise<{ readonly rows: unknown[] }>;
}

export interface CopiedUsers {
  readonly schema: string;
  /** The namespace that is copied. */
  readonly from: string;
  /** The names of the copies are this and a number. */
  readonly to: string;
  /** The numbers of the copies, with both ends. */
  readonly first: number;
  readonly last: number;
}

/** Keys of rows are made apart by it. No user of a benchmark has as many rows. */
const KEYS = 1_000_000;
/** The numbers of namespaces in memory are made apart by it. */
const NUMBERS = 100_000;

/** Columns with the key of a row of another table. */
const KEY_COLUMNS = ["log", "entry"];
/** What a copy has no use for: which process works for the namespace just now, and vectors. */
const LEFT_OUT = ["lease", "memory_lease", "memory_vector_space"];

/**
 * Copies all that one namespace has in rkat's tables to many others: the log, its sessions, memory with its index, what
 * was learned. The server does it by itself, so thousands of users are made in the time of some hundred.
 */
export async function copyUsers(asked: Asked, copies: CopiedUsers): Promise<void> {
  const { schema, from, first, last } = copies;
  for (const [table, columns] of await namespacedTables(asked, schema)) {
    const names = columns.map(({ name }) => name);
    const ofMemory = columns.some(({ name, type }) => name === "namespace" && type === "integer");
    const own = ofMemory
      ? `namespace = (select number from "${schema}".memory_namespace where name = $1)`
      : table === "memory_namespace"
        ? "name = $1"
        : "namespace = $1";
    await asked.query(
      `insert into "${schema}".${table} (${names}) overriding system value
       select ${columns.map((column) => copied(column, table, copies))}
       from "${schema}".${table} cross join generate_series(${first}, ${last}) as copy where ${own}`,
      [from],
    );
    const [identity] = columns.filter(({ isIdentity }) => isIdentity);
    if (identity) {
      await asked.query(
        `select setval(pg_get_serial_sequence('"${schema}".${table}', '${identity.name}'),
           (select max(${identity.name}) from "${schema}".${table}))`,
      );
    }
  }
}

interface Column {
  readonly name: string;
  readonly type: string;
  readonly isIdentity: boolean;
}

function copied({ name, type, isIdentity }: Column, table: string, { to }: CopiedUsers): string {
  const isNumber = table === "memory_namespace" ? name === "number" : name === "namespace";
  if (isNumber && type === "integer") return `${name} + ${NUMBERS} + copy`;
  if (name === (table === "memory_namespace" ? "name" : "namespace")) {
    return `'${to.replaceAll("'", "''")}' || copy`;
  }
  if (isIdentity || (KEY_COLUMNS.includes(name) && type === "bigint")) {
    return `${name} + ${KEYS}::bigint * copy`;
  }
  return name;
}

/** The tables whose rows belong to namespaces, with their columns. Partitions are no tables of their own here. */
async function namespacedTables(
  asked: Asked,
  schema: string,
): Promise<ReadonlyMap<string, readonly Column[]>> {
  const { rows } = await asked.query(
    `select c.relname as table, a.attname as name, format_type(a.atttypid, null) as type,
       a.attidentity <> '' as identity
     from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = $1 and c.relkind in ('r', 'p') and not c.relispartition and a.attnum > 0
       and not a.attisdropped order by c.relname, a.attnum`,
    [schema],
  );
  const tables = new Map<string, Column[]>();
  for (const row of rows as { table: string; name: string; type: string; identity: boolean }[]) {
    const { table, name, type, identity } = row;
    tables.set(table, [...(tables.get(table) ?? []), { name, type, isIdentity: identity }]);
  }
  return new Map(
    [...tables].filter(
      ([table, columns]) =>
        !LEFT_OUT.includes(table) &&
        (table === "memory_namespace" || columns.some(({ name }) => name === "namespace")),
    ),
  );
}
