import { SessionError } from "../../core/errors.ts";
import { PostgresDatabase, type PostgresDatabaseOptions } from "./postgres-database.ts";
import type { Statements } from "./statements.ts";

/** Tables whose rows name their namespace. Those of the index have its number, which stays. */
const TABLES = [
  "log",
  "event",
  "snapshot",
  "approval",
  "forgotten_text",
  "imported_message",
  "imported_file",
  "knowledge_entry",
  "knowledge_key",
  "knowledge_band",
  "knowledge_gone",
  "projection_checkpoint",
  "knowledge_state",
  "memory_waiting",
] as const;

/** Rows that an unused namespace may have all the same, because it was looked at. */
const LEFT_BY_LOOKING = ["projection_checkpoint", "knowledge_state"] as const;

/** A namespace of millions of events is written once more. */
const ANSWER_MS = 60 * 60_000;

/**
 * Gives a namespace another name, with its trash and its users, in one transaction.
 *
 * @throws SessionError `NOT_POSSIBLE` when something has that name
 */
export async function renameNamespace(
  options: PostgresDatabaseOptions,
  from: string,
  to: string,
): Promise<void> {
  const database = new PostgresDatabase({ ...options, answerMs: ANSWER_MS });
  try {
    await database.write(async (statements) => {
      await requireUnused(statements, to);
      for (const table of TABLES) {
        await statements.change(
          `update rkat.${table} set namespace = $2 || substr(namespace, length($1) + 1) where ${isOf("namespace", "$1")}`,
          from,
          to,
        );
      }
      await statements.change(
        `update rkat.memory_namespace set name = $2 || substr(name, length($1) + 1) where ${isOf("name", "$1")}`,
        from,
        to,
      );
    });
  } finally {
    await database.close();
  }
}

/** Whether a column has a namespace, or one below it. */
function isOf(column: string, name: string): string {
  return `(${column} = ${name}::text or starts_with(${column}, ${name}::text || E'\\n'))`;
}

async function requireUnused(statements: Statements, name: string): Promise<void> {
  const used = TABLES.filter((table) => !LEFT_BY_LOOKING.some((left) => left === table));
  const asked = [
    ...used.map((table) => `exists (select from rkat.${table} where ${isOf("namespace", "$1")})`),
    `exists (select from rkat.memory_namespace where ${isOf("name", "$1")} and stored > 0)`,
  ];
  const found = await statements.row<{ used: boolean }>(
    `select ${asked.join(" or ")} as used`,
    name,
  );
  if (found?.used) {
    throw new SessionError("NOT_POSSIBLE", {
      message: "Something was stored in the namespace meanwhile. Nothing was restored over it.",
      hint: "Name another namespace in the address: ?namespace=NAME.",
    });
  }
  for (const table of LEFT_BY_LOOKING) {
    await statements.change(`delete from rkat.${table} where ${isOf("namespace", "$1")}`, name);
  }
  await statements.change(`delete from rkat.memory_namespace where ${isOf("name", "$1")}`, name);
}
