import type { KnowledgeEntry } from "../../../core/knowledge.ts";
import { plural } from "./amounts.ts";
import { oneLine, printable } from "./printable.ts";
import type { Style } from "./style.ts";
import { renderFacts } from "./table.ts";

const TEXT_SHOWN = 200;

/** Entries of two lines each: the text, then its id, date and count. */
export function renderEntries(entries: readonly KnowledgeEntry[], style: Style): string {
  return entries
    .map((entry) => {
      const pin = entry.pinned ? `${style.yellow("pinned")} ` : "";
      const kind = style.green(entry.kind.padEnd(10));
      return `${kind} ${pin}${oneLine(entry.content, TEXT_SHOWN)}\n${" ".repeat(11)}${style.dim(about(entry))}\n`;
    })
    .join("");
}

/** One entry in full, and the entries that it was made of. */
export function renderEntry(
  entry: KnowledgeEntry,
  sources: readonly KnowledgeEntry[],
  style: Style,
): string {
  const facts = renderFacts(
    [
      ["id", entry.id],
      ["kind", `${entry.kind}${entry.pinned ? ", pinned" : ""}${entry.edited ? ", edited" : ""}`],
      ["seen", `${plural(entry.count, "time")}, last ${entry.lastTime}`],
      ["session", entry.sessionId],
      ["tool", entry.tool],
      ["arguments", shown(entry.args)],
      ["reason", shown(entry.reason)],
      ["goal", shown(entry.goal)],
      ["tags", shown(entry.tags.join(", "))],
      ["used", entry.usedAt],
    ],
    style,
  );
  const from = sources.length > 0 ? `\nMade of:\n${renderEntries(sources, style)}` : "";
  return `${printable(entry.content)}\n\n${facts}${from}`;
}

const shown = (text: string | undefined) => text && printable(text);

function about({ id, count, lastTime }: KnowledgeEntry): string {
  const times = count > 1 ? ` · ${plural(count, "time")}` : "";
  return `${id} · ${lastTime.slice(0, 10)}${times}`;
}
