import { BACKLOG_MAX, type HistoryHit } from "../../core/event-store.ts";
import { snakeCase } from "../../core/fields.ts";
import { changedJson } from "../../core/json-values.ts";
import type {
  MemoryEntry,
  MemoryHit,
  MemoryLag,
  MemoryStats,
  OtherStatement,
  ScoreExplanation,
  ShownEntry,
} from "../../core/memory-store.ts";
import type { SearchMemory } from "../../core/operations/memory.ts";
import type { Given } from "../../core/operations/operation.ts";
import type { SourceView } from "../../core/session-source.ts";
import { plural, thousands, timeAgo } from "./amounts.ts";
import { oneLine, printable } from "./printable.ts";
import { renderFacts, renderTable, type Style } from "./style.ts";

/** Hits, best first. Each has its source, its text and its neighbours. */
export function renderMemoryHits(
  hits: readonly MemoryHit[],
  style: Style,
  columns: number,
): string {
  return hits.map((hit) => renderHit(hit, style, columns)).join("\n");
}

/** The same, numbered from 1 to pick from. */
export function renderNumberedHits(
  hits: readonly MemoryHit[],
  style: Style,
  columns: number,
): string {
  return hits
    .map((hit, at) => `${style.bold(`${at + 1}.`)} ${renderHit(hit, style, columns)}`)
    .join("\n");
}

/** Entries, each with its source and its text. */
export function renderMemoryEntries(entries: readonly ShownEntry[], style: Style): string {
  return entries
    .map((entry) => {
      const place = [entry.pinned ? "pinned" : undefined, ...placeOf(entry)];
      return renderPassage({ place, content: entry.content }, style) + renderEarlier(entry, style);
    })
    .join("\n");
}

/** The texts of an entry before it was edited, newest first, and the entries that it is kept beside. */
function renderEarlier({ earlier = [], keeps = [] }: ShownEntry, style: Style): string {
  const texts = earlier
    .toReversed()
    .map(({ content, until }) => `${style.dim(`  until ${until}:`)} ${oneLine(content, 200)}\n`);
  const kept = keeps.map(({ id, since, until }) => {
    const when = until === undefined ? `since ${since}` : `from ${since} until ${until}`;
    return `  ${style.dim(`kept beside ${oneLine(id)} ${when}`)}\n`;
  });
  return [...texts, ...kept].join("");
}

export function renderMemoryStats(stats: MemoryStats, style: Style): string {
  const { entries, sessions, textBytes, diskBytes, index, vectors } = stats;
  return renderFacts(
    [
      ["entries", thousands(entries)],
      ["sessions", thousands(sessions)],
      ["text", `${thousands(textBytes)} bytes`],
      ["on disk", diskBytes === undefined ? undefined : `${thousands(diskBytes)} bytes`],
      ["index", index],
      ["vectors", vectors && vectorsText(vectors)],
    ],
    style,
  );
}

/** The line for an answer of a memory that lacks some of the log; empty when it lacks nothing. */
export function renderLag(behind: MemoryLag | undefined, rkat: string): string {
  if (!behind) return "";
  const { events, seconds } = behind;
  const since = timeAgo(new Date(0).toISOString(), seconds * 1000);
  return `Memory is behind: it lacks the last ${plural(events, "event")} of the log${events < BACKLOG_MAX ? "" : " or more"}, the oldest from ${since}. It catches up by itself; \`${rkat} history search\` finds them now.\n`;
}

/** The text for a search without results: the searched places, and what to try next. */
export function renderNothingFound(
  { entries, sessions, vectors }: MemoryStats,
  asked: Omit<Given<SearchMemory>, "query">,
  style: Style,
  rkat: string,
): string {
  if (entries === 0) {
    const hint = `What sessions say comes into it by itself, and \`${rkat} memory add\` adds to it.`;
    return `Memory is empty.\n${style.dim("hint:")} ${hint} \`${rkat} history search\` searches complete logs.\n`;
  }
  const { sessionId, minScore, role, kind, agent, project, branch, since, until, asOf } = asked;
  const when = { since, until, "as of": asOf };
  const conditions = { session: sessionId, role, kind, agent, project, branch, ...when };
  const filters = Object.entries(conditions).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name} ${value}`],
  );
  const only = filters.length === 0 ? "" : ` (only ${oneLine(filters.join(", "), 200)})`;
  const ways = [
    "try other words",
    ...(minScore === 0 ? [] : [minScore === undefined ? "add --min-score 0" : "lower --min-score"]),
    ...(filters.length === 0 ? [] : ["drop the filters"]),
    `or search complete logs with \`${rkat} history search\``,
  ].join(", ");
  const all = `${plural(entries, "entry", "entries")} of ${plural(sessions, "session")}`;
  const how = vectors ? "words and meaning" : "words";
  const meaning = vectors
    ? ""
    : " Texts in other words are found with an embedder: set `[embeddings] provider`.";
  return `Nothing relevant. Compared the ${how} of ${all}${only}.\n${style.dim("hint:")} ${ways}.${meaning}\n`;
}

const IN_USER_STORE = "in ~/.rkat";

/** The hits of a search of the logs, best first. */
export function renderHistoryHits(hits: readonly HistoryHit[], style: Style): string {
  return hits
    .map(({ sessionId, turn, time, content, from, store, ...said }) => {
      const place = [`session ${sessionId}`, `turn ${turn}`, renderSpeaker(said), time];
      const passage = { place: [...place, store && IN_USER_STORE], content };
      return renderPassage(passage, style) + (from ? renderFrom(from, style) : "");
    })
    .join("\n");
}

const LINES_MAX = 8;

/** Text that was found: where it comes from, and its first lines. */
function renderPassage(
  passage: { readonly place: readonly (string | undefined)[]; readonly content: string },
  style: Style,
): string {
  const lines = printable(passage.content).trim().split("\n");
  const rest = lines.length - LINES_MAX;
  const shown = lines.slice(0, LINES_MAX).map((line) => `  ${line}\n`);
  if (rest > 0) shown.push(style.dim(`  … ${plural(rest, "more line")}\n`));
  const known = passage.place.filter((part) => part !== undefined);
  return `${style.dim(known.map((part) => oneLine(part)).join(" · "))}\n${shown.join("")}`;
}

function renderHit(hit: MemoryHit, style: Style, columns: number): string {
  const { content, score, neighbours, explanation, from, didYouMean, replaces, replacedBy } = hit;
  const around = (entries: readonly MemoryEntry[] = []) =>
    entries.map((entry) => `  ${style.dim(`⋮ ${neighbourLine(entry, columns - 5)}`)}\n`).join("");
  const [place = "", ...text] = renderPassage({ place: placeOf(hit), content }, style).split(
    /(?<=\n)/,
  );
  return [
    `${style.green(score.toFixed(2))}  ${place}`,
    around(neighbours?.before),
    ...text,
    didYouMean === undefined
      ? ""
      : `  ${style.dim(`did you mean: ${oneLine(printable(didYouMean), 200)}`)}\n`,
    around(neighbours?.after),
    replaces ? `  ${style.dim(`before: ${otherLine(replaces)}`)}\n` : "",
    replacedBy ? `  ${style.yellow(`replaced by: ${otherLine(replacedBy)}`)}\n` : "",
    from ? renderFrom(from, style) : "",
    explanation ? renderExplanation(explanation, style) : "",
  ].join("");
}

function otherLine({ id, said, time }: OtherStatement): string {
  const day = time === undefined ? "" : `, ${time.slice(0, 10)}`;
  return `${oneLine(printable(said), 100)} (${oneLine(id)}${day})`;
}

/** A line with the agent and the title fits into a terminal of 80 columns. */
const TITLE_COLUMNS = 60;

/** Which agent held the session, and how to open it there. */
function renderFrom(source: SourceView, style: Style): string {
  const { agent, title, project, branch, open } = source;
  const place = [
    agent,
    title && `"${oneLine(title, TITLE_COLUMNS)}"`,
    project && `in ${project}`,
    branch && `on ${branch}`,
  ];
  const lines = [place.filter(Boolean).join(" "), ...(open === undefined ? [] : [open])];
  return lines
    .map((line) => `  ${style.dim(`→ ${printable(line).replaceAll("\n", " ")}`)}\n`)
    .join("");
}

/** The parts of a score, as a table under its result. The largest part comes first. */
function renderExplanation({ parts }: ScoreExplanation, style: Style): string {
  const rows = [...parts]
    .sort((one, other) => (other.adds ?? 0) - (one.adds ?? 0))
    .map(({ name, of, adds, times }) => [
      name,
      oneLine(of ?? "", 40),
      adds === undefined ? "" : `+ ${adds.toFixed(3)}`,
      times === undefined ? "" : `× ${times.toFixed(2)}`,
    ]);
  if (rows.length === 0) return "";
  const columns = [
    { title: "part" },
    { title: "of" },
    { title: "adds", align: "right" },
    { title: "times", align: "right" },
  ] as const;
  return renderTable(columns, rows, style).replace(/^(?=.)/gm, "    ");
}

/** The origin of an entry. The id of an entry from a log begins with its session. */
function placeOf(entry: ShownEntry): readonly (string | undefined)[] {
  const { id, sessionId, turn, kind, time, store } = entry;
  return [
    id.startsWith(`${sessionId}:`) ? undefined : `session ${sessionId}`,
    turn === null ? undefined : `turn ${turn}`,
    kind === "message" ? undefined : kind,
    renderSpeaker(entry),
    time,
    `id ${id}`,
    store && IN_USER_STORE,
  ];
}

/** The speaker and the role of an entry: `Ada (user)`, `file (user)`, `assistant`. */
function renderSpeaker({
  speaker,
  role,
}: Pick<MemoryEntry, "speaker" | "role">): string | undefined {
  const both = speaker !== undefined && role !== undefined && speaker !== role;
  return both ? `${speaker} (${role})` : (speaker ?? role);
}

function neighbourLine({ speaker, role, content }: MemoryEntry, columns: number): string {
  const who = speaker ?? role;
  return oneLine(who === undefined ? content : `${who}: ${content}`, columns);
}

function vectorsText({ embedder, embedded, pending }: NonNullable<MemoryStats["vectors"]>): string {
  const waiting = pending === 0 ? "" : `, ${thousands(pending)} to come`;
  return `${thousands(embedded)} of ${embedder}${waiting}`;
}

/**
 * Hits, entries or stats for scripts, with the same names as on every wire. It works without the
 * schemas, which take longer to load than a search. All names in them are ours to rename.
 */
export function memoryJson(value: unknown): unknown {
  return changedJson(value, { leaf: (leaf) => leaf, key: snakeCase });
}
