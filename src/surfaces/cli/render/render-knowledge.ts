import type { KnowledgeEntry } from "../../../core/knowledge.ts";
import { oneLine, printable } from "./printable.ts";
import type { Style } from "./style.ts";

const TEXT_SHOWN = 200;

/** Entries, two lines each: what is known, and since when. */
export function renderEntries(entries: readonly KnowledgeEntry[], style: Style): string {
  return entries
    .map((entry) => {
      const pin = entry.pinned ? `${style.yellow("pinned")} ` : "";
      const kind = style.green(entry.kind.padEnd(10));
      return `${kind} ${pin}${oneLine(entry.content, TEXT_SHOWN)}\n${" ".repeat(11)}${style.dim(about(entry))}\n`;
    })
    .join("");
}

/** One entry with all that is known of it. */
export function renderEntry(
  entry: KnowledgeEntry,
  sources: readonly KnowledgeEntry[],
  style: Style,
): string {
  const facts: readonly (readonly [string, string | undefined])[] = [
    ["id", entry.id],
    ["kind", `${entry.kind}${entry.pinned ? ", pinned" : ""}${entry.edited ? ", edited" : ""}`],
    ["heard", `${entry.count} ${entry.count === 1 ? "time" : "times"}, last ${entry.lastTime}`],
    ["session", entry.sessionId],
    ["tool", entry.tool],
    ["arguments", entry.args],
    ["reason", entry.reason],
    ["goal", entry.goal],
    ["tags", entry.tags.join(", ") || undefined],
    ["used", entry.usedAt],
  ];
  const lines = facts.flatMap(([name, value]) =>
    value === undefined ? [] : [`${style.dim(name.padEnd(10))} ${printable(value)}\n`],
  );
  const rests = sources.length > 0 ? `\nIt rests on:\n${renderEntries(sources, style)}` : "";
  return `${printable(entry.content)}\n\n${lines.join("")}${rests}`;
}

function about({ id, count, lastTime }: KnowledgeEntry): string {
  const times = count > 1 ? ` · ${count} times` : "";
  return `${id} · ${lastTime.slice(0, 10)}${times}`;
}
