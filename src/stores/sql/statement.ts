/** A value that is bound to a parameter. */
export type Value = string | number | boolean | null | Uint8Array;

/** SQL with values in it, as data. Each database writes it with its own parameters. */
export interface Statement {
  readonly texts: readonly string[];
  readonly parts: readonly Part[];
}

/** A value, a piece of SQL with values of its own, or one that each database writes in its own way. */
type Part = Value | readonly Value[] | Statement | ((dialect: Dialect) => Statement);

export type ColumnType = "text" | "integer" | "bigint" | "boolean" | "bytea";

/** Columns of a table that is made of values: for each the type and the values of all rows. */
export type Columns = Readonly<
  Record<string, readonly [type: ColumnType, values: readonly Value[]]>
>;

/**
 * The words of one database where the databases differ. Statements keep to the SQL that SQLite and
 * PostgreSQL share, and name tables as `rkat.event`.
 */
export interface Dialect {
  /** The parameter with this number, counted from 1. */
  parameter(number: number): string;
  /** The condition that what stands before it is one of these values. */
  isIn(values: readonly Value[], type: ColumnType): Statement;
  /** Rows of values, with their columns and `place`, which counts them. */
  table(name: string, columns: Columns): Statement;
  /** Labels of a session as they are kept. */
  labels(labels: Readonly<Record<string, string>>): Statement;
  hasLabels(labels: Readonly<Record<string, string>>): Statement;
  /** Whether the table of snapshots takes agent, project and branch out of `source` by itself. */
  readonly readsSource: boolean;
  /** Times of leases, by the clock that all processes share. */
  readonly lease: {
    readonly until: Statement;
    readonly length: Statement;
    readonly now: () => Statement;
    span(ms: number): Statement;
    readonly ended: Statement;
  };
}

/** A statement, or a piece of one: `` sql`select id from rkat.approval where namespace = ${namespace}` ``. */
export function sql(texts: TemplateStringsArray, ...parts: readonly Part[]): Statement {
  return { texts, parts };
}

/** SQL without values. Nothing that a user has written may get into it. */
export function words(text: string): Statement {
  return { texts: [text], parts: [] };
}

export function joined(statements: readonly Statement[], separator: string): Statement {
  const between = statements.slice(1).map(() => separator);
  return { texts: ["", ...between, ""].slice(0, statements.length + 1), parts: statements };
}

export function isIn(values: readonly Value[], type: ColumnType = "text"): Part {
  return (dialect) => dialect.isIn(values, type);
}

export function table(name: string, columns: Columns): Part {
  return (dialect) => dialect.table(name, columns);
}

/** Inserts rows of one namespace, whose columns have the names of the table's. `order by place` keeps their order. */
export function insertAll(
  into: string,
  namespace: string,
  columns: Columns,
  end: Statement,
): Statement {
  const names = words(Object.keys(columns).join(", "));
  return sql`insert into ${words(into)} (namespace, ${names})
    select ${namespace}, ${names} from ${table("added", columns)} where true ${end}`;
}

export interface Written {
  readonly text: string;
  readonly values: readonly (Value | readonly Value[])[];
}

/** The text of a statement and the values of its parameters. The text has no values in it. */
export function written(statement: Statement, dialect: Dialect): Written {
  const values: (Value | readonly Value[])[] = [];
  const write = ({ texts, parts }: Statement): string =>
    texts.map((text, at) => (at < parts.length ? text + place(parts[at] as Part) : text)).join("");
  const place = (part: Part): string => {
    if (typeof part === "function") return write(part(dialect));
    if (isStatement(part)) return write(part);
    values.push(part);
    return dialect.parameter(values.length);
  };
  return { text: write(statement), values };
}

function isStatement(part: Part): part is Statement {
  return typeof part === "object" && part !== null && "texts" in part;
}

/** Whether a statement that changes rows also returns some. */
export function isReturning(text: string): boolean {
  return /\breturning\b/.test(text);
}
