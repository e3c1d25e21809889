import type { CompareReport } from "../../app/restore.ts";
import { plural } from "./amounts.ts";
import { printable } from "./printable.ts";

/** Sessions that are named one by one; of more, the number is said. */
const NAMED_MAX = 10;

const SESSIONS = {
  only_in_backup: "only in the backup",
  only_here: "only here",
  longer_here: "went on here",
  longer_in_backup: "longer in the backup",
  different: "different",
} as const;

const ENTRIES = {
  only_in_backup: "only in the backup",
  only_here: "only here",
  different: "different",
} as const;

/** How stores differ from a backup, in words. */
export function renderDifferences({ same, made_at, differences }: CompareReport): string {
  if (same) return `Everything is as in the backup of ${printable(made_at)}.\n`;
  const lines = [`Compared with the backup of ${printable(made_at)}:`];
  for (const found of differences) {
    const { store, user, same_sessions, memory, knowledge } = found;
    const name = store === "user" ? "the user-wide store" : "the project";
    lines.push(
      "",
      user === undefined ? `In ${name}:` : `In ${name}, of the user ${printable(user)}:`,
    );
    lines.push(`  ${plural(same_sessions, "session")} the same`);
    for (const [kind, words] of Object.entries(SESSIONS)) {
      const ids = found[kind as keyof typeof SESSIONS];
      if (ids.length === 0) continue;
      lines.push(`  ${plural(ids.length, "session")} ${words}: ${named(ids)}`);
    }
    lines.push(...entryLines("memory", "memory entry", memory));
    lines.push(...entryLines("knowledge", "knowledge entry", knowledge));
  }
  return `${lines.join("\n")}\n`;
}

function named(ids: readonly string[]): string {
  const shown = ids.slice(0, NAMED_MAX).map((id) => printable(id));
  return ids.length > NAMED_MAX ? `${shown.join(", ")} …` : shown.join(", ");
}

function entryLines(
  kind: "memory" | "knowledge",
  one: string,
  counts: CompareReport["differences"][number][typeof kind],
): readonly string[] {
  return Object.entries(ENTRIES).flatMap(([name, words]) => {
    const count = counts[name as keyof typeof ENTRIES];
    if (count === 0) return [];
    return [`  ${plural(count, one, `${kind} entries`)} ${words}`];
  });
}
