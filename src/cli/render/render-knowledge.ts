import type { Ground, KnowledgeEntry } from "../../core/knowledge.ts";
import { plural } from "./amounts.ts";
import { oneLine, printable } from "./printable.ts";
import type { Style } from "./style.ts";
import { renderFacts } from "./table.ts";

const TEXT_SHOWN = 200;

/** An entry is its text, then its id, date and count, then the words that a rule rests on. */
export function renderEntries(entries: readonly KnowledgeEntry[], style: Style): string {
  return entries
    .map((entry) => {
      const pin = entry.pinned ? `${style.yellow("pinned")} ` : "";
      const kind = style.green(entry.kind.padEnd(10));
      const lines = [about(entry), ...(entry.restsOn ?? []).map(renderGround)];
      const below = lines.map((line) => `${" ".repeat(11)}${style.dim(line)}\n`).join("");
      return `${kind} ${pin}${oneLine(entry.content, TEXT_SHOWN)}\n${below}`;
    })
    .join("");
}

/** The speaker, words and time that a rule rests on: `you said "Always use pnpm." · 2026-01-31 · session 0199 · event 3`. */
function renderGround({ origin, said, time, sessionId, seq }: Ground): string {
  const verb = { added: "you added", model: "a model added" }[origin as string] ?? "you said";
  const words =
    said === "" ? "you denied it, without a reason" : `${verb} "${oneLine(said, TEXT_SHOWN)}"`;
  const where = sessionId === undefined ? [] : [`session ${sessionId}`, `event ${seq}`];
  return [words, time.slice(0, 10), ...where].join(" · ");
}

/** One entry in full, and the words that a rule rests on. */
export function renderEntry(entry: KnowledgeEntry, style: Style): string {
  const facts = renderFacts(
    [
      ["id", entry.id],
      ["kind", `${entry.kind}${entry.pinned ? ", pinned" : ""}${entry.edited ? ", edited" : ""}`],
      ["seen", `${plural(entry.count, "time")}, last ${entry.lastTime}`],
      ["session", entry.sessionId],
      ["from", entry.origin === "imported" ? "an imported transcript, makes no rule" : undefined],
      ["tool", entry.tool],
      ["arguments", shown(entry.args)],
      ["reason", shown(entry.reason)],
      ["goal", shown(entry.goal)],
      ["tags", shown(entry.tags.join(", "))],
      ["used", entry.usedAt],
    ],
    style,
  );
  const grounds = (entry.restsOn ?? []).map((ground) => `- ${renderGround(ground)}\n`);
  const from = grounds.length > 0 ? `\nRests on:\n${grounds.join("")}` : "";
  return `${printable(entry.content)}\n\n${facts}${from}`;
}

const shown = (text: string | undefined) => text && printable(text);

function about({ id, count, lastTime, origin }: KnowledgeEntry): string {
  const times = count > 1 ? ` · ${plural(count, "time")}` : "";
  const from = origin === "imported" ? " · from an imported transcript, makes no rule" : "";
  return `${id} · ${lastTime.slice(0, 10)}${times}${from}`;
}
