import type { RecalledRecord } from "../../core/event.ts";
import type { BroughtBackOutcome, RecallRefusals } from "../../core/operations/bring-back.ts";
import type { ForkedSession } from "../../core/operations/forks.ts";
import type {
  CompactionView,
  Fate,
  MessageTrace,
  UndoOutcome,
} from "../../core/operations/history.ts";
import type { SourcesView } from "../../core/operations/sources.ts";
import { plural, thousands } from "./amounts.ts";
import { oneLine, printable } from "./printable.ts";
import type { Style } from "./style.ts";
import { renderFacts, renderTable } from "./style.ts";

/** The outcome of an undo, in a sentence or two. */
export function renderUndo(outcome: UndoOutcome): string {
  if (!outcome.undone) {
    return `Nothing was undone. ${outcome.reason}`;
  }
  const { returned, leftOut, messages, usedTokens, tokensMax, event } = outcome;
  const room = tokensMax === null ? "" : ` of ${thousands(tokensMax)}`;
  const out = leftOut.length === 0 ? "" : ` ${plural(leftOut.length, "message")} stayed out.`;
  const back = returned.length === 0 ? "no message" : plural(returned.length, "message");
  return `Undone (event ${event}): ${back} came back, the history has ${messages}. The next request has about ${thousands(usedTokens)}${room} tokens.${out}`;
}

/** A sentence or two that say what was brought back. */
export function renderBroughtBack(outcome: BroughtBackOutcome): string {
  if (!outcome.broughtBack) return `Nothing was brought back. ${outcome.reason}`;
  const { messages, tokens, usedTokens, tokensMax } = outcome;
  const room = tokensMax === null ? "" : ` of ${thousands(tokensMax)}`;
  return `Brought back ${plural(messages.length, "message")} of about ${thousands(tokens)} tokens. The next request has about ${thousands(usedTokens)}${room} tokens.`;
}

/** Records that came back by themselves, with the ids by which they are refused. */
export function renderRecords(records: readonly RecalledRecord[]): string {
  if (records.length === 0) return "Nothing came back from memory in the last events.\n";
  const rows = records.map(
    ({ id, said_by, text }) => `${oneLine(id)}  ${oneLine(said_by)}: ${oneLine(text, 200)}\n`,
  );
  return rows.join("");
}

/** How many records come back no more. */
export function renderRefusals({ refused }: RecallRefusals): string {
  return `${plural(refused.length, "record")} will not come back by ${refused.length === 1 ? "itself" : "themselves"} in this session.`;
}

/** The sources of a text: the text itself, the statements that it was made from, the messages. */
export function renderSources(view: SourcesView, style: Style, room?: number): string {
  const made = view.madeFrom.map(
    ({ id, content }) => `- ${oneLine(id)}  ${oneLine(content, 200)}\n`,
  );
  const head = `${style.cyan(view.kind)}  ${oneLine(view.content, 400)}\n${made.join("")}`;
  if (view.messages.length === 0) return `${head}No message that is still there says it.\n`;
  const rows = view.messages.map(({ sessionId, id, time, role, text }) => [
    oneLine(sessionId, 60),
    `@${id}`,
    `${time.slice(0, 16).replace("T", " ")}Z`,
    role,
    oneLine(text),
  ]);
  const heads = [
    { title: "SESSION" },
    { title: "ID" },
    { title: "SAID" },
    { title: "ROLE" },
    { title: "TEXT", least: TEXT_LEAST },
  ] as const;
  const left = view.messageCount - view.messages.length;
  const more = left > 0 ? `${plural(left, "more message")}: --limit, --offset\n` : "";
  return head + renderTable(heads, rows, style, room) + more;
}

/** A fork, in a sentence. */
export function renderFork({ event, messages, historyTokens }: ForkedSession): string {
  return `It goes on from event ${event}, with ${plural(messages, "message")} of about ${thousands(historyTokens)} tokens.`;
}

const FATES: Readonly<Record<Fate, string>> = {
  kept: "kept",
  shortened: "shortened",
  quoted: "quoted in the summary",
  named: "names in the summary",
  in_memory: "only in memory",
  in_log: "only in the log",
};

/** The columns that a text has at least. */
const TEXT_LEAST = 20;

/** A compaction, with the fate of each message. */
export function renderDiff(view: CompactionView, style: Style, room?: number): string {
  const rows = view.messages.map(({ id, role, tokens, fate, text, names }) => [
    `@${id}`,
    role,
    thousands(tokens),
    FATES[fate],
    oneLine(fate === "named" ? `${names.join(", ")}: ${text}` : text),
  ]);
  const heads = [
    { title: "ID" },
    { title: "ROLE" },
    { title: "TOKENS", align: "right" },
    { title: "IS NOW" },
    { title: "TEXT", least: TEXT_LEAST },
  ] as const;
  const what = view.kind === "pruned" ? "Tool output was shortened" : "Compaction";
  const undone = view.inForce ? "" : " It was undone.";
  const head = `${what} (event ${view.event}): ${thousands(view.tokensBefore)} → ${thousands(view.tokensAfter)} tokens.${undone}\n`;
  const spans = view.sources.map(({ from, to }) => `${from}–${to}`).join(", ");
  const rests = view.summary === null ? "" : `The summary rests on the events ${spans}.\n`;
  const left = view.messageCount - view.messages.length;
  const more = left > 0 ? `${plural(left, "more message")}: --limit\n` : "";
  return head + renderTable(heads, rows, style, room) + more + rests;
}

/** A message, and what was made of it. */
export function renderTrace(trace: MessageTrace, style: Style): string {
  const { id, turn, time, tokens, now, pinned, memoryId, compactions, recalledBy } = trace;
  const { broughtBackBy, learned, copyOf } = trace;
  const state = {
    whole: "in the history",
    shortened: "shortened in the history",
    left: "left the history",
  };
  const facts = renderFacts(
    [
      ["message", `@${id}, turn ${turn}, ${time}, about ${thousands(tokens)} tokens`],
      ["now", `${state[now]}${pinned ? ", pinned" : ""}`],
      ...compactions.map(({ event, fate, inForce }) => {
        const undone = inForce ? "" : ", undone";
        return [`event ${event}`, `${FATES[fate]}${undone}`] as const;
      }),
      ["came back", recalledBy.map((event) => `event ${event}`).join(", ")],
      ["brought back", broughtBackBy.map((event) => `event ${event}`).join(", ")],
      ["in memory as", oneLine(memoryId ?? "")],
      ["copy of", copyOf ? `@${copyOf.message} of session ${oneLine(copyOf.sessionId, 200)}` : ""],
      ...learned.map(
        ({ id: known, kind, content }) =>
          [kind, `${oneLine(known)}  ${oneLine(content, 100)}`] as const,
      ),
    ],
    style,
  );
  return `${facts}\n${printable(JSON.stringify(trace.message, null, 2))}\n`;
}
