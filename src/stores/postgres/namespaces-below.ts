import type { Statements } from "./statements.ts";

/** The namespaces that begin with `start` and have a session or knowledge. Jumps from one to the next. */
export async function namespacesBelow(
  statements: Pick<Statements, "rows">,
  start: string,
): Promise<readonly string[]> {
  const tables = ["log", "snapshot", "knowledge_entry"];
  const rows = await statements.rows<{ name: string }>(
    tables.map((table) => `(${namespacesIn(table)})`).join(" union "),
    start,
  );
  return rows.map(({ name }) => name);
}

function namespacesIn(table: string): string {
  const next = (than: string) =>
    `select min(namespace) from rkat.${table} where namespace > ${than}`;
  return `
    with recursive step (name) as (
      ${next("$1")} union all
      select (${next("step.name")}) from step where starts_with(name, $1)
    )
    select name from step where starts_with(name, $1)`;
}
