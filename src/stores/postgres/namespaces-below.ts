import type { AgeLimits } from "../../core/stores.ts";
import { trashOf } from "../namespaces.ts";
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

/** The namespaces that begin with `start` and have something old, found with one statement. */
export async function namespacesWithOld(
  statements: Pick<Statements, "rows">,
  start: string,
  { deletedMs, archivedMs, logged }: AgeLimits,
): Promise<readonly string[]> {
  const rows = await statements.rows<{ name: string }>(
    WITH_OLD,
    start,
    deletedMs ?? null,
    archivedMs ?? null,
    logged?.ms ?? null,
    logged?.behind ?? null,
    trashOf(""),
  );
  return rows.map(({ name }) => name);
}

const IS_TRASH = "right(name, length($6)) = $6";
const WITH_OLD = `
  select name from (${namespacesIn("snapshot")}) as found
  where case when ${IS_TRASH}
    then exists (select from rkat.snapshot where namespace = name and updated_at_ms <= $2)
    else exists (
      select from rkat.snapshot where namespace = name and archived and updated_at_ms < $3) end
  union
  select name from (${namespacesIn("log")}) as found
  where $4::bigint is not null and not ${IS_TRASH} and $4 >= (
    select timestamp_ms from rkat.event
    where namespace = name and position > coalesce((
      select position from rkat.projection_checkpoint
      where namespace = name and projection = $5), 0)
    order by position limit 1)`;

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
