import { cutMiddle } from "../compaction/cut-text.ts";
import { mentions, rankAnchors } from "../compaction/keep-anchors.ts";
import { isUsersWord } from "../core/event.ts";
import { given } from "../core/fields.ts";
import { contentText, isSummary, type Message } from "../core/message.ts";
import type { SessionView } from "../core/operations/sessions.ts";
import { refusalsIn } from "../core/refusal.ts";
import { speakerName } from "../core/speaker-name.ts";
import { type HandoffMessage, isCommand, isTyped, type Quote } from "../handoff/handoff-source.ts";
import { byRoom, decisions, failedCalls, filesOf, requestsOf } from "../handoff/session-facts.ts";
import { heldAfter } from "../knowledge/lasting-wishes.ts";
import { redactSecrets } from "../secrets/redact-secrets.ts";
import { unclosable } from "../text/quoting.ts";
import { CHARACTERS_MAX, shortened, TAG } from "./window-record.ts";

/** The most that each part takes, so that none of them crowds out the others. */
const LIMITS = {
  instructions: 20,
  refused: 10,
  asked: 3_600,
  decisions: 8,
  failed: 4,
  anchors: 80,
  lost: 40,
  line: 400,
  request: 240,
  prompt: 1_500,
  names: 1_500,
} as const;

/** The note in a session's task record with the names that the last summary lost. */
export const LOST_NOTE = "lost in the last compaction";

/** The note with the user's instructions up to the last compaction, one per line. */
export const INSTRUCTIONS_NOTE = "instructions before the last compaction";

/** The most that a note holds. */
const NOTE_MAX = 2_000;

/** A session. Its history may be only the beginning and the end. */
export interface CarriedSession {
  readonly task: SessionView["task"];
  readonly history: readonly Pick<SessionView["history"][number], "message" | "origin">[];
}

/** The lines of the record that must survive the compaction of a session, as far as a record has room. */
export function linesOf(session: CarriedSession): readonly string[] {
  let room = CHARACTERS_MAX;
  const lines: string[] = [];
  for (const kept of keptLines(session)) {
    const line = unclosable(TAG, kept);
    room -= line.length + 1;
    if (room < 0) break;
    lines.push(line);
  }
  return lines;
}

/** The names, paths and numbers of a session that its summary does not have, the most important first. */
export function lostNames(history: CarriedSession["history"], summary: string): readonly string[] {
  const said = summary.toLowerCase();
  return anchorsOf(history)
    .filter(({ text }) => !said.includes(text.toLowerCase()))
    .map(({ shown }) => shown);
}

/** The most important lines come first. */
function keptLines({ task, history }: CarriedSession): readonly string[] {
  const messages = factsOf(history);
  const own: readonly string[] = [LOST_NOTE, INSTRUCTIONS_NOTE];
  const notes = Object.entries(task.scratchpad).filter(([name]) => !own.includes(name));
  const lost = task.scratchpad[LOST_NOTE];
  const last = messages.findLast((each) => isTyped(each) && !isCommand(textOf(each.message)));
  const said = last === undefined ? "" : textOf(last.message);
  const asked = requestsOf(messages, last?.at ?? 0);
  const lines = [
    ...part("The goal:", task.goal ? [task.goal] : []),
    ...part(
      "What the user asked last:",
      said.trim() === "" ? [] : [named(said, speakerName(last?.origin?.speaker))],
      LIMITS.prompt,
    ),
    ...part(
      "Instructions of the user:",
      instructionsOf({ task, history }).map(({ text, by }) => named(text, by)),
    ),
    ...part("What the user refused:", history.flatMap(refusedIn).slice(-LIMITS.refused)),
    ...part(
      "Sub-tasks:",
      task.subTasks.map(({ done, text }) => `[${done ? "x" : " "}] ${text}`),
    ),
    ...part(
      "Notes:",
      notes.map(([name, text]) => `${name}: ${text}`),
    ),
    ...part(
      "What the user asked before, the newest first, with what became of it:",
      askedLines(asked),
      LIMITS.request,
    ),
    ...part("Decisions:", inOrder(decisions(messages).slice(0, LIMITS.decisions)), LIMITS.request),
    ...part("Calls that failed:", failedIn(messages), LIMITS.request),
    ...part("Files changed:", joined(textsOf(filesOf(messages).changed)), LIMITS.names),
    ...part("Names and numbers that an earlier summary lost:", lost ? [lost] : [], LIMITS.names),
  ];
  const all = lines.join("\n");
  const names = anchorsOf(history).filter(({ text }) => !mentions(all, text));
  const shown = names.slice(0, LIMITS.anchors).map((anchor) => anchor.shown);
  return [...lines, ...part("Names and numbers:", joined(shown), LIMITS.names)];
}

/** The requests that fit, the newest first. */
function askedLines(newestFirst: readonly Quote[]): readonly string[] {
  const lineOf = ({ text, outcome = "", speaker }: Quote) =>
    `[${outcome}${speaker === undefined ? "" : `; by ${speaker}`}] ${text}`;
  let room = LIMITS.asked;
  const fitting = byRoom(newestFirst).filter((quote) => {
    room -= Math.min(lineOf(quote).length, LIMITS.request);
    return room >= 0;
  });
  const chosen = new Set(fitting);
  return newestFirst.filter((quote) => chosen.has(quote)).map(lineOf);
}

/** The messages as a handoff reads them. */
function factsOf(history: CarriedSession["history"]): readonly HandoffMessage[] {
  return history.map(({ message, origin }, index) => ({
    at: index + 1,
    message,
    origin: { ...origin, author: isUsersWord(origin) ? "user" : (origin?.author ?? "program") },
    denied: refusalsIn(message),
  }));
}

function failedIn(messages: readonly HandoffMessage[]): readonly string[] {
  return failedCalls(messages)
    .slice(0, LIMITS.failed)
    .map((quotes) => quotes.map(({ text }) => cutMiddle(text, LIMITS.request / 2 - 4)).join(" → "))
    .reverse();
}

function inOrder(newestFirst: readonly Quote[]): readonly string[] {
  const ordered = newestFirst.toReversed().sort((one, other) => one.at - other.at);
  return ordered.map(({ text, speaker }) => named(text, speaker));
}

function textsOf(quotes: readonly Quote[]): readonly string[] {
  return quotes.map(({ text }) => text);
}

/** Words of the user. */
interface Said {
  readonly text: string;
  /** The name of who said them, if the log has it. */
  readonly by?: string;
}

/** The user's messages, word for word. */
function promptsIn(history: CarriedSession["history"]): readonly Said[] {
  const said = history.filter(
    ({ message, origin }) => message.role === "user" && !isSummary(message) && isUsersWord(origin),
  );
  return said
    .map(({ message, origin }) => ({
      text: textOf(message),
      ...given({ by: speakerName(origin?.speaker) }),
    }))
    .filter(({ text }) => text.trim() !== "");
}

/** The newest comes last. */
function instructionsOf({ task, history }: CarriedSession): readonly Said[] {
  const noted = (task.scratchpad[INSTRUCTIONS_NOTE] ?? "").split("\n").filter(Boolean);
  const said = [
    ...noted.map((line) => ({ ...unnamed(line), isInstruction: true })),
    ...promptsIn(history),
  ];
  return heldAfter(said)
    .map(({ text, said: { by } }) => ({ text, ...given({ by }) }))
    .slice(-LIMITS.instructions);
}

/** Words with the name of who said them. Words that begin like a name have an empty one before them. */
function named(text: string, name: string | undefined): string {
  if (name !== undefined) return `[by ${name}] ${text}`;
  return NAMED.test(text) ? `[] ${text}` : text;
}

const NAMED = /^\[(?:by ([^\]]+))?\] /;

function unnamed(line: string): Said {
  const [mark = "", by] = NAMED.exec(line) ?? [];
  return { text: line.slice(mark.length), ...given({ by }) };
}

/** The instructions of a session as the text of a note, without the oldest that do not fit. */
export function instructionsNote(session: CarriedSession): string {
  const lines = instructionsOf(session).map(({ text, by }) => redactSecrets(named(text, by)));
  while (lines.join("\n").length > NOTE_MAX) lines.shift();
  return lines.join("\n");
}

function part(
  title: string,
  items: readonly string[],
  charactersMax: number = LIMITS.line,
): readonly string[] {
  // Half a credential is not seen as one.
  const lines = items.map(
    (item) => `- ${shortened(redactSecrets(item).replaceAll(/\s+/g, " ").trim(), charactersMax)}`,
  );
  return lines.length > 0 ? [title, ...lines] : [];
}

function joined(names: readonly string[]): readonly string[] {
  return names.length > 0 ? [names.join(", ")] : [];
}

/** A name that only a tool's output has is for a search. */
function anchorsOf(history: CarriedSession["history"]) {
  const said = history.filter(({ message }) => message.role !== "tool_results");
  return rankAnchors(said.map(({ message }) => message)).slice(0, LIMITS.anchors);
}

function textOf(message: Message): string {
  return message.role === "user" ? contentText(message.content) : "";
}

function refusedIn({ message }: CarriedSession["history"][number]): readonly string[] {
  return refusalsIn(message).flatMap(({ reason }) => reason ?? []);
}

/** The names as the text of a note. */
export function lostNote(names: readonly string[]): string {
  return shortened(names.slice(0, LIMITS.lost).join(", "), NOTE_MAX);
}
