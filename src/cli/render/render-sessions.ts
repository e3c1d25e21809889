import { speakerOf } from "../../core/event.ts";
import { contentText, isSummary, type Message, toolUses } from "../../core/message.ts";
import type {
  HistoryMessage,
  SessionSummary,
  SessionView,
} from "../../core/operations/sessions.ts";
import { OWN_AGENT, type SourceView } from "../../core/session-source.ts";
import { renderTask, type TaskView } from "../../core/task.ts";
import { plural, shortTimeAgo, thousands, timeAgo } from "./amounts.ts";
import { oneLine, printable, textWidth } from "./printable.ts";
import { renderFacts, renderTable, type Style } from "./style.ts";

const RESULT_LINES_MAX = 20;

/**
 * A table of sessions, newest first, in lines of `columns`. Where they are too short for titles, or for the table on a
 * terminal that `wraps`, the columns that matter less go first.
 */
export function renderSessionList(
  sessions: readonly SessionSummary[],
  now: number,
  style: Style,
  columns: number,
  { wraps = false }: { readonly wraps?: boolean } = {},
): string {
  const short = shortIds(sessions.map(({ sessionId }) => sessionId));
  const idOf = ({ sessionId }: SessionSummary) => printable(short.get(sessionId) ?? sessionId);
  const cells = sessions.map((session) => {
    const { source, totalTokens } = session;
    const isOwn = source.agent === OWN_AGENT;
    return {
      SESSION: idOf(session),
      "LAST USED": hasTime(session) ? shortTimeAgo(session.updatedAt, now) : NO_TIME,
      // The id of an imported session begins with its agent.
      AGENT:
        isOwn || session.sessionId.startsWith(`${source.agent}:`) ? "" : oneLine(source.agent, 20),
      TURNS: String(session.turns),
      // The tokens that another agent spent are not known.
      TOKENS: totalTokens === 0 && !isOwn ? "" : thousands(totalTokens),
      MODEL: oneLine(source.model ?? session.model, 40),
      TITLE: oneLine(source.title ?? "", TITLE_COLUMNS.most),
      LABELS: [
        ...labelList(session.labels),
        ...(isOwn && source.parent ? [`(fork of ${shortId(source.parent.id)})`] : []),
        ...(session.store === "user" ? ["(user)"] : []),
        ...(session.archived ? ["(archived)"] : []),
        ...(session.deletedAt ? ["(deleted)"] : []),
      ].join(" "),
    };
  });
  const isMixed = cells.some(({ TITLE }) => TITLE !== "");
  const isEmpty = (name: ColumnName) => cells.every((row) => row[name] === "");
  let names = COLUMNS.filter((name) => name === "LABELS" || !isEmpty(name));
  const leaveOut = (left: ColumnName) => {
    names = names.filter((name) => name !== left);
  };
  const widthOf = (name: ColumnName) =>
    Math.max(...[name, ...cells.map((row) => row[name])].map(textWidth));
  const roomForTitle = () =>
    names.reduce((room, name) => room - (name === "TITLE" ? 0 : widthOf(name)) - 2, columns + 2);
  const least = isMixed ? TITLE_COLUMNS.least : wraps ? 0 : Number.NEGATIVE_INFINITY;
  for (const name of LESS_IMPORTANT) {
    if (roomForTitle() < least) leaveOut(name);
  }
  // Ids of subagents begin with the whole id of their session. They get a line of their own.
  const above = cells.map(({ SESSION }) =>
    isMixed && roomForTitle() < TITLE_COLUMNS.least && textWidth(SESSION) > ID_COLUMNS_MAX
      ? SESSION
      : "",
  );
  for (const [index, row] of cells.entries()) if (above[index]) row.SESSION = "";
  const room = Math.max(wraps ? 0 : TITLE_COLUMNS.least, roomForTitle());
  if (room < TITLE_COLUMNS.readable) leaveOut("TITLE");
  const rows = cells.map((row) =>
    names.map((name) => (name === "TITLE" ? oneLine(row.TITLE, room) : row[name])),
  );
  const heads = names.map((title) => ({
    title,
    align: title === "TURNS" || title === "TOKENS" ? ("right" as const) : ("left" as const),
  }));
  const [head = "", ...lines] = renderTable(heads, rows, style).split("\n");
  return [
    head,
    ...lines.map((line, index) => (above[index] ? `${above[index]}\n${line}` : line)),
  ].join("\n");
}

const NO_TIME = "no time";

/** Some agents write no times. */
function hasTime({ updatedAt }: SessionSummary): boolean {
  return Date.parse(updatedAt) > 0;
}

const COLUMNS = [
  "SESSION",
  "LAST USED",
  "AGENT",
  "TURNS",
  "TOKENS",
  "MODEL",
  "TITLE",
  "LABELS",
] as const;

type ColumnName = (typeof COLUMNS)[number];

const LESS_IMPORTANT = ["MODEL", "TOKENS"] as const satisfies readonly ColumnName[];

const ID_COLUMNS_MAX = 32;

const TITLE_COLUMNS = { readable: 10, least: 24, most: 80 } as const;

/** The agent that a session came from, and the command that opens it there. Nothing for a session of rkat itself. */
function sourceFacts({ agent, project, branch, title, parent, open }: SourceView) {
  if (agent === OWN_AGENT) return parent ? ([["fork of", placeOf(parent)]] as const) : [];
  const place = [agent, project && `in ${project}`, branch && `on ${branch}`];
  return [
    ["title", oneLine(title ?? "", 200)],
    ["from", oneLine(place.filter(Boolean).join(" "), 400)],
    ["parent", parent ? oneLine(`${parent.id} (${parent.relation})`, 200) : ""],
    ["open it with", oneLine(open ?? "", 400)],
  ] as const;
}

/** A session, and the history that the model would be sent next. */
export function renderSession(view: SessionView, now: number, style: Style): string {
  const facts = renderFacts(
    [
      ...sourceFacts(view.source),
      ["model", oneLine(view.source.model ?? view.model, 200)],
      [
        "last used",
        `${hasTime(view) ? timeAgo(view.updatedAt, now) : NO_TIME}${view.isActive ? ", a turn is running" : ""}`,
      ],
      ["turns", `${view.turns} (${plural(view.messageCount, "message")})`],
      [
        "history",
        `${plural(view.history.length, "message")}, about ${plural(view.historyTokens, "token")}`,
      ],
      ["compactions", compactionsOf(view)],
      ["used", plural(view.totalTokens, "token")],
      ["labels", labelList(view.labels).join(" ")],
      ["archived", view.archived ? "yes" : ""],
      ["forks", forksOf(view)],
    ],
    style,
  );
  const task = renderTaskView(view.task);
  const record = task === "" ? "" : `\n${style.cyan("task record")}\n${indent(task)}`;
  const held = view.instructions.map(
    ({ message, text, by }) => `- ${printable(by ? `${by}: ${text}` : text)} (@${message})`,
  );
  const standing =
    held.length === 0 ? "" : `\n${style.cyan("standing instructions")}\n${indent(held.join("\n"))}`;
  const body = view.history.map((entry, index) => renderMessage(entry, index, style)).join("");
  return `${style.bold(`Session ${printable(view.sessionId)}`)}\n${facts}${standing}${record}${body}`;
}

/** Sessions that began with this one's history. */
function forksOf({ forks = [] }: SessionView): string {
  return forks
    .map(({ sessionId: id, event }) => placeOf({ id, event, relation: "fork" }))
    .join(", ");
}

function placeOf({ id, event, relation }: NonNullable<SourceView["parent"]>): string {
  const place = event === undefined ? relation : `at event ${event}`;
  return oneLine(`${id} (${place})`, 200);
}

/** The number of compactions. For an imported session, also those of its agent: `0, and 2 by claude-code`. */
function compactionsOf({ compactions, recordedCompactions, source }: SessionView): string {
  if (recordedCompactions === 0) return String(compactions);
  return `${compactions}, and ${recordedCompactions} by ${oneLine(source.agent, 40)}`;
}

/** A task record, in the words that the model reads. Empty text for an empty record. */
export function renderTaskView(task: TaskView): string {
  const { subTasks: sub_tasks, activeFiles: active_files, goal, scratchpad } = task;
  const text = renderTask({ goal, sub_tasks, scratchpad, active_files });
  return text === "" ? "" : `${printable(text)}\n`;
}

/**
 * An id as people see it. A UUIDv7 begins with its time. The first 8 characters are the same for all
 * sessions of a minute, the first 13 have the millisecond. An imported session's id begins with its agent.
 */
export function shortId(id: string): string {
  return printable(id.slice(0, shortLength(id)));
}

function shortLength(id: string): number {
  return id.indexOf(":") + 1 + 13;
}

/** The shortest prefixes that tell ids apart, of at least 13 characters after the agent's name. */
export function shortIds(ids: readonly string[]): ReadonlyMap<string, string> {
  const sorted = [...ids].sort();
  return new Map(
    sorted.map((id, index) => {
      const shared = Math.max(
        sharedStart(id, sorted[index - 1] ?? ""),
        sharedStart(id, sorted[index + 1] ?? ""),
      );
      const short = id.slice(0, Math.max(shortLength(id), shared + 1));
      // `claude-code:0d5c….agent-1a2b` beside `claude-code:0d5c…`
      return [id, short.endsWith(".") ? id : short];
    }),
  );
}

/** The name of a message's role for people: "user", "tool results", "summary". */
export function roleName(message: Message): string {
  if (isSummary(message)) return "summary";
  return message.role.replace("block_", "").replace("_", " ");
}

function renderMessage(
  { id, turn, message, origin, pinned }: HistoryMessage,
  index: number,
  style: Style,
): string {
  const said = [speakerOf(origin), origin?.time].filter(Boolean).join(", ");
  const place = [turn >= 0 ? `turn ${turn}` : "", said, pinned ? "pinned" : ""]
    .filter(Boolean)
    .join(", ");
  const name = `${style.dim(`${index} @${id}`)}  ${style.cyan(roleName(message))}`;
  const head = `\n${name}${place ? style.dim(`  ${place}`) : ""}\n`;
  return head + indent(textOf(message, style));
}

function textOf(message: Message, style: Style): string {
  const calls = toolUses(message).map(
    ({ name, args }) =>
      `${style.yellow("→")} ${oneLine(name, 80)} ${oneLine(JSON.stringify(args) ?? "", 200)}`,
  );
  switch (message.role) {
    case "system":
    case "user":
      return printable(contentText(message.content));
    case "assistant":
      return [printable(message.content), ...calls].filter(Boolean).join("\n");
    case "block_assistant": {
      const texts = message.blocks.flatMap((block) =>
        block.block_type === "text" ? [printable(block.data.text)] : [],
      );
      const shown = [...texts, ...calls].join("\n");
      return shown === "" && message.blocks.length > 0 ? style.dim("(only reasoning)") : shown;
    }
    case "tool_results":
      return message.results.map(({ content }) => headOf(printable(content), style)).join("\n");
  }
}

function headOf(text: string, style: Style): string {
  const lines = text.split("\n");
  const rest = lines.length - RESULT_LINES_MAX;
  if (rest <= 0) return text;
  return `${lines.slice(0, RESULT_LINES_MAX).join("\n")}\n${style.dim(`… ${rest} more lines`)}`;
}

function indent(text: string): string {
  return text.replace(/^(?=.)/gm, "  ").replace(/(?<!\n)\n*$/, "\n");
}

function labelList(labels: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(labels).map(([name, value]) => oneLine(`${name}=${value}`, 60));
}

function sharedStart(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length += 1;
  return length;
}
