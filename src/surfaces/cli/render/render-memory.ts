import type {
  MemoryEntry,
  MemoryFilter,
  MemoryHit,
  MemoryStats,
} from "../../../core/memory-store.ts";
import { plural } from "./plural.ts";
import { oneLine } from "./printable.ts";
import { renderExplanation } from "./render-explanation.ts";
import { renderPassage } from "./render-passage.ts";
import type { Style } from "./style.ts";
import { thousands } from "./thousands.ts";

/** Hits, best first, each with where it comes from and what was said around it. */
export function renderMemoryHits(
  hits: readonly MemoryHit[],
  style: Style,
  columns: number,
): string {
  return hits.map((hit) => renderHit(hit, style, columns)).join("\n");
}

/** Entries, each with where it comes from. */
export function renderMemoryEntries(entries: readonly MemoryEntry[], style: Style): string {
  return entries
    .map((entry) => renderPassage({ place: placeOf(entry), content: entry.content }, style))
    .join("\n");
}

export function renderMemoryStats(stats: MemoryStats, style: Style): string {
  const { entries, sessions, textBytes, diskBytes, index, vectors } = stats;
  const facts = [
    ["entries", thousands(entries)],
    ["sessions", thousands(sessions)],
    ["text", `${thousands(textBytes)} bytes`],
    ...(diskBytes === undefined ? [] : [["on disk", `${thousands(diskBytes)} bytes`]]),
    ["index", index],
    ...(vectors === undefined ? [] : [["vectors", vectorsText(vectors)]]),
  ];
  return facts.map(([name = "", value]) => `${style.dim(name.padEnd(10))}${value}\n`).join("");
}

/** What was searched, and what to try next. */
export function renderNothingFound(
  { entries, sessions }: MemoryStats,
  asked: MemoryFilter & { readonly minScore?: number },
  style: Style,
): string {
  if (entries === 0) {
    const hint = "Texts come here when a history is compacted, and with `rkat memory add`.";
    return `Memory is empty.\n${style.dim("hint:")} ${hint} \`rkat history search\` looks through complete logs.\n`;
  }
  const { sessionId, role, kind, since, until, minScore } = asked;
  const only = [
    ["session", sessionId],
    ["role", role],
    ["kind", kind],
    ["since", since],
    ["until", until],
  ].flatMap(([name, value]) => (value === undefined ? [] : [`${name} ${value}`]));
  const meant = only.length === 0 ? "" : `, only ${oneLine(only.join(", "), 200)},`;
  const floor = minScore === undefined ? "--min-score 0.1 shows weaker ones" : "lower --min-score";
  const ways = [
    "other words may find it",
    ...(minScore === 0 ? [] : [floor]),
    ...(only.length === 0 ? [] : ["search without the filters"]),
    "`rkat history search` looks through complete logs",
  ].join("; ");
  const all = `${plural(entries, "entry", "entries")} of ${plural(sessions, "session")}${meant}`;
  return `Nothing relevant is in memory: ${all} ${entries === 1 ? "was" : "were"} searched.\n${style.dim("hint:")} ${ways}.\n`;
}

function renderHit(hit: MemoryHit, style: Style, columns: number): string {
  const { content, score, neighbours, explanation } = hit;
  const around = (entries: readonly MemoryEntry[] = []) =>
    entries.map((entry) => `  ${style.dim(`⋮ ${neighbourLine(entry, columns - 5)}`)}\n`).join("");
  const [place = "", ...text] = renderPassage({ place: placeOf(hit), content }, style).split(
    /(?<=\n)/,
  );
  return [
    `${style.green(score.toFixed(2))}  ${place}`,
    around(neighbours?.before),
    ...text,
    around(neighbours?.after),
    explanation ? renderExplanation(explanation, style) : "",
  ].join("");
}

/** An entry of a log has its session in its id. */
function placeOf(entry: MemoryEntry): readonly (string | undefined)[] {
  const { id, sessionId, turn, kind, speaker, role, time } = entry;
  return [
    id.startsWith(`${sessionId}:`) ? undefined : `session ${sessionId}`,
    turn === null ? undefined : `turn ${turn}`,
    kind === "message" ? undefined : kind,
    speaker !== undefined && role !== undefined && speaker !== role
      ? `${speaker} (${role})`
      : (speaker ?? role),
    time,
    `id ${id}`,
  ];
}

function neighbourLine({ speaker, role, content }: MemoryEntry, columns: number): string {
  const who = speaker ?? role;
  return oneLine(who === undefined ? content : `${who}: ${content}`, columns);
}

function vectorsText({ embedder, embedded, pending }: NonNullable<MemoryStats["vectors"]>): string {
  const waiting = pending === 0 ? "" : `, ${thousands(pending)} to come`;
  return `${thousands(embedded)} of ${embedder}${waiting}`;
}
