import { hash } from "node:crypto";
import { basename, join } from "node:path";
import { given, isObject } from "../core/fields.ts";
import { isSummary, type Message, summaryMessage } from "../core/message.ts";
import { refusalIn } from "../core/refusal.ts";
import type { FoundFile } from "./found-file.ts";
import type { ImportedMessage, ImportedSession, ImportFormat, ReadOn } from "./imported.ts";
import {
  contentText,
  type Json,
  nameOf,
  objectOf,
  textOf,
  timeOf,
  titleOf,
} from "./json-fields.ts";
import { messagesFor } from "./messages-for.ts";
import { answerText, answerThinking, toolCall, toolResult } from "./one-block-messages.ts";
import { noteNoSession, readRecords } from "./read-records.ts";

/**
 * The rollouts of Codex, one file a session:
 *
 *     session_meta                     whose it is; copies of a parent's follow in a fork
 *     turn_context, event_msg          what happens, for its own screen
 *     response_item                    the messages, as the model gets them
 *     compacted                        what the model gets from here on instead
 *
 * The earliest files have the same items without an envelope. The messages are read from the items. An event
 * `user_message` repeats what a person typed, so an item without such an event was injected.
 */
export const codexFormat: ImportFormat = {
  agent: "codex",
  places: ({ env, home }) => {
    const folder = env.CODEX_HOME || join(home, ".codex");
    return [join(folder, "sessions"), join(folder, "archived_sessions")];
  },
  mayBe: (path) => /(?:^|\/)rollout-[^/]*\.jsonl(?:\.zst)?$/.test(path),
  recognises: ({ first }) =>
    first !== undefined &&
    (isEnvelope(first) ? ENVELOPES.has(textOf(first.type)) : isBareHead(first)),
  async *read(file, notes, from) {
    const outline = await outlineOf(file, from);
    if (!outline) return await noteNoSession(file, notes);
    const { id, ...about } = outline.session;
    if (outline.next) notes.readOn(file, outline.next);
    const messages = async function* (): AsyncGenerator<ImportedMessage> {
      const keys = new MessageKeys(id, outline.copied, stateOf(from)?.place);
      for await (const { value, line } of readRecords(file, notes, from)) {
        const { type, payload, time } = opened(value);
        keys.follow(type, payload);
        const part = partOf(type, payload, outline.typed.get(line));
        if (part === "unknown") notes.unknown(unknownName(type, payload));
        if (typeof part === "string") continue;
        const sourceId = keys.next(part.key);
        const dropped = outline.dropped.some(({ from, to }) => line >= from && line < to);
        if (dropped) notes.otherBranch(1);
        else
          yield {
            ...messageOf(part, keys.turn),
            sourceId,
            origin: originOf(part, time),
            line,
          };
      }
    };
    yield {
      id: `codex:${id}`,
      agent: "codex",
      nativeId: id,
      ...about,
      ...(from ? { isRest: true } : {}),
      messages: messagesFor(about.parent, messages()),
    };
  },
};

const ENVELOPES = new Set([
  "session_meta",
  "turn_context",
  "response_item",
  "event_msg",
  "compacted",
  "inter_agent_communication",
  "inter_agent_communication_metadata",
  "world_state",
  "security_risk_score",
  "realtime_item",
]);

const EVENTS = new Set(
  `user_message agent_message agent_reasoning agent_reasoning_raw_content token_count context_compacted
  thread_rolled_back turn_aborted task_started task_complete turn_started turn_complete entered_review_mode
  exited_review_mode patch_apply_end mcp_tool_call_end web_search_end image_generation_end sub_agent_activity
  thread_goal_updated item_completed exec_command_end view_image_tool_call error`.split(/\s+/),
);

/** Items that have nothing to read: encrypted, repeated elsewhere, or about the program itself. */
const SILENT_ITEMS = new Set(
  `web_search_call tool_search_call tool_search_output image_generation_call agent_message compaction
  compaction_summary context_compaction additional_tools ghost_snapshot other`.split(/\s+/),
);

function isEnvelope(value: Json): boolean {
  return isObject(value.payload) && typeof value.type === "string";
}

/** The first line of the earliest files: `{"id", "timestamp", "instructions", "git"}`. */
function isBareHead(value: Json): boolean {
  return (
    typeof value.id === "string" &&
    typeof value.timestamp === "string" &&
    value.type === undefined &&
    ("instructions" in value || "git" in value)
  );
}

interface Opened {
  readonly type: string;
  readonly payload: Json;
  readonly time: string | undefined;
}

function opened(value: Json): Opened {
  const time = timeOf(value.timestamp);
  if (isEnvelope(value))
    return { type: textOf(value.type), payload: objectOf(value.payload), time };
  if (value.record_type === "state") return { type: "state", payload: value, time };
  return { type: isBareHead(value) ? "session_meta" : "response_item", payload: value, time };
}

/** A message before it has an id. */
interface Part {
  readonly key: string;
  readonly message: Message;
  readonly memory?: false;
  readonly boundary?: "compaction";
}

function partOf(type: string, payload: Json, typed: string | undefined): Part | "unknown" | "none" {
  if (type === "compacted") {
    const summary =
      textOf(payload.message) || "Codex keeps this summary where only it can read it.";
    return {
      key: `compacted ${summary}`,
      message: summaryMessage(summary),
      memory: false,
      boundary: "compaction",
    };
  }
  if (type === "response_item") return itemPart(payload, typed);
  if (type === "event_msg") return EVENTS.has(textOf(payload.type)) ? "none" : "unknown";
  return ENVELOPES.has(type) || type === "state" ? "none" : "unknown";
}

function unknownName(type: string, payload: Json): string {
  const inner = nameOf(payload.type);
  return type !== "response_item" && type !== "event_msg" ? type : `${type}.${inner ?? "?"}`;
}

function itemPart(item: Json, typed: string | undefined): Part | "unknown" | "none" {
  const type = textOf(item.type);
  const callId = nameOf(item.call_id) ?? nameOf(item.id) ?? "";
  switch (type) {
    case "message":
      return textPart(item, typed);
    case "reasoning": {
      const text = [contentText(item.summary), contentText(item.content)]
        .filter(Boolean)
        .join("\n");
      if (text === "") return "none";
      return { key: `reasoning ${text}`, message: answerThinking(text), memory: false };
    }
    case "function_call":
      return callPart(callId, callName(item), item.arguments);
    case "custom_tool_call":
      return callPart(callId, textOf(item.name), { input: item.input });
    case "local_shell_call":
      return callPart(callId, "local_shell", item.action);
    case "function_call_output":
    case "custom_tool_call_output": {
      const { content, isError: hasFailed } = outputOf(item.output);
      const isError = hasFailed || refusalIn(content) !== undefined;
      return {
        key: `result ${callId} ${content}`,
        message: toolResult(callId, content, isError),
      };
    }
    default:
      return SILENT_ITEMS.has(type) ? "none" : "unknown";
  }
}

function textPart(item: Json, typed: string | undefined): Part | "unknown" | "none" {
  const text = contentText(item.content);
  if (text === "") return "none";
  const key = `${textOf(item.role)} ${text}`;
  switch (item.role) {
    case "assistant":
      return { key, message: answerText(text) };
    case "system":
    case "developer":
      return { key, message: { role: "system", content: text }, memory: false };
    case "user":
      return typed === undefined ? "none" : { key, message: { role: "user", content: typed } };
    default:
      return "unknown";
  }
}

function callPart(id: string, name: string, args: unknown): Part {
  return { key: `call ${id}`, message: toolCall(id, name || "unknown_tool", args) };
}

/** A tool of a server has the server's name before its own: `mcp__docs__` and `search`. */
function callName({ name, namespace }: Json): string {
  const before = textOf(namespace);
  return before === "" || before.endsWith("__")
    ? before + textOf(name)
    : `${before}__${textOf(name)}`;
}

/** Older versions put JSON in the text: `{"output": "…", "metadata": {"exit_code": 0}}`. */
function outputOf(output: unknown): { readonly content: string; readonly isError: boolean } {
  if (isObject(output) && output.content !== undefined) {
    return { content: contentText(output.content), isError: output.success === false };
  }
  const content = contentText(output);
  if (!content.startsWith("{")) return { content, isError: false };
  try {
    const inner = objectOf(JSON.parse(content));
    if (typeof inner.output !== "string" || !isObject(inner.metadata)) {
      return { content, isError: false };
    }
    const code = inner.metadata.exit_code;
    return { content: inner.output, isError: typeof code === "number" && code !== 0 };
  } catch {
    return { content, isError: false };
  }
}

function messageOf(
  { message, memory, boundary }: Part,
  turn: string,
): Omit<ImportedMessage, "sourceId" | "origin"> {
  const isPart = message.role === "block_assistant" || message.role === "tool_results";
  return { message, ...given({ memory, boundary }), ...(isPart ? { group: turn } : {}) };
}

function originOf({ message }: Part, time: string | undefined): ImportedMessage["origin"] {
  const isPrompt = message.role === "user" && !isSummary(message);
  return given({ author: isPrompt ? ("user" as const) : undefined, time });
}

/**
 * Gives each message an id that a copy of it in a fork has too: whose session it was, its turn, and its content.
 * Forks copy items one by one and may leave some out, so places do not help.
 */
class MessageKeys {
  readonly #own: string;
  readonly #copied: Copied | undefined;
  #session: string;
  #turn = "";
  #times = new Map<string, number>();

  constructor(own: string, copied: Copied | undefined, from?: KeyPlace) {
    this.#own = own;
    this.#copied = copied;
    this.#session = from?.session ?? copied?.parent ?? own;
    this.#turn = from?.turn ?? "";
  }

  get place(): KeyPlace {
    return { session: this.#session, turn: this.#turn };
  }

  /** The turn's name, for the parts of an answer. */
  get turn(): string {
    return `${this.#session} ${this.#turn}`;
  }

  follow(type: string, payload: Json): void {
    // A fork has its own head first, and then those of the sessions that it copies.
    if (type === "session_meta" && payload.id !== this.#own) {
      this.#move(nameOf(payload.id) ?? this.#session, this.#turn);
    }
    const turn = nameOf(payload.turn_id);
    if (turn === undefined || turn === this.#turn) return;
    if (type !== "turn_context" && !/^(?:task|turn)_started$/.test(textOf(payload.type))) return;
    const isOwn = this.#copied !== undefined && !this.#copied.turns.has(turn);
    this.#move(isOwn ? this.#own : this.#session, turn);
  }

  next(content: string): string {
    const key = hash("sha1", content).slice(0, 16);
    const times = this.#times.get(key) ?? 0;
    this.#times.set(key, times + 1);
    const turn = this.#turn === "" ? "" : `:${this.#turn}`;
    return `codex:${this.#session}${turn}:${key}${times === 0 ? "" : `:${times}`}`;
  }

  #move(session: string, turn: string): void {
    if (session === this.#session && turn === this.#turn) return;
    this.#session = session;
    this.#turn = turn;
    this.#times = new Map();
  }
}

/** Whose message comes next, and in which turn. */
interface KeyPlace {
  readonly session: string;
  readonly turn: string;
}

/** The turns of a parent that a fork repeats without saying whose they are. */
interface Copied {
  readonly parent: string;
  readonly turns: ReadonlySet<string>;
}

/** What a first reading finds, so that the second one can stream. */
interface Outline {
  readonly session: Omit<ImportedSession, "id" | "agent" | "nativeId" | "messages"> & {
    readonly id: string;
  };
  /** What a person typed, by the line of its item. */
  readonly typed: ReadonlyMap<number, string>;
  /** Lines of turns that the user took back. */
  readonly dropped: readonly { readonly from: number; readonly to: number }[];
  readonly copied: Copied | undefined;
  /** Where the next reading may begin. */
  readonly next: ReadOn | undefined;
}

/** What a later reading has to know of the lines before a turn. */
interface RestState {
  readonly session: Outline["session"];
  readonly place: KeyPlace;
  readonly prompts: PromptsState;
}

function stateOf(from: ReadOn | undefined): RestState | undefined {
  return from?.state as RestState | undefined;
}

/** Reads the file, or its end, for the first time. What is wrong with it is told at the second. */
async function outlineOf(file: FoundFile, from?: ReadOn): Promise<Outline | undefined> {
  const before = stateOf(from);
  let head: Json | undefined;
  let heads = 0;
  let { model, project, updatedAt } = before?.session ?? {};
  let keys: MessageKeys | undefined;
  let turn: (Omit<RestState, "session"> & { readonly at: Omit<ReadOn, "state"> }) | undefined;
  const prompts = new Prompts(before?.prompts);
  for await (const { value, line, offset } of readRecords(file, undefined, from)) {
    const { type, payload, time } = opened(value);
    updatedAt = time ?? updatedAt;
    if (type === "session_meta") {
      heads += 1;
      head ??= payload;
    }
    if (type === "turn_context") {
      model ??= nameOf(payload.model);
      project ??= nameOf(payload.cwd);
    }
    const own = before?.session.id ?? nameOf(head?.id) ?? idInName(file.path) ?? "";
    keys ??= new MessageKeys(own, undefined, before?.place);
    const { place } = keys;
    keys.follow(type, payload);
    if (keys.place.turn !== place.turn && prompts.isSettled) {
      turn = { at: { line, offset }, place, prompts: prompts.state };
    }
    prompts.follow(type, payload, line, !isEnvelope(value));
  }
  prompts.end();
  const about = before?.session ?? aboutIn(head ?? {}, file);
  if (!about) return undefined;
  const found = { title: about.title ?? prompts.title, model, updatedAt };
  const session = { ...about, ...given({ ...found, project: about.project ?? project }) };
  const { parent } = session;
  const parentId = parent?.id.slice("codex:".length);
  const copied =
    parentId !== undefined && !before && heads < 2 ? await copiedFrom(parentId, file) : undefined;
  // What a fork copies depends on another file, and places in a packed file are not those of its bytes.
  const canReadOn = !parent && !file.path.endsWith(".zst");
  const next =
    turn && canReadOn
      ? { ...turn.at, state: { session, place: turn.place, prompts: turn.prompts } }
      : from;
  return { session, typed: prompts.typed, dropped: prompts.dropped, copied, next };
}

function aboutIn(head: Json, file: FoundFile): Outline["session"] | undefined {
  const id = nameOf(head.id) ?? idInName(file.path);
  if (id === undefined) return undefined;
  const parent = parentOf(head);
  return {
    id,
    ...given({
      parent: parent && { id: `codex:${parent.id}`, relation: parent.relation },
      project: nameOf(head.cwd),
      branch: nameOf(objectOf(head.git).branch),
      startedAt: timeOf(head.timestamp),
    }),
  };
}

function parentOf(
  head: Json,
): { readonly id: string; readonly relation: "fork" | "subagent" } | undefined {
  // `{ thread_spawn: { parent_thread_id } }`, or a name such as "review"
  const { subagent } = objectOf(head.source);
  const spawn = objectOf(objectOf(subagent).thread_spawn);
  const forked = nameOf(head.forked_from_id);
  const spawnedBy = nameOf(spawn.parent_thread_id) ?? (subagent === undefined ? undefined : forked);
  if (spawnedBy !== undefined) return { id: spawnedBy, relation: "subagent" };
  return forked === undefined ? undefined : { id: forked, relation: "fork" };
}

function idInName(path: string): string | undefined {
  return /([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl(?:\.zst)?$/.exec(
    basename(path),
  )?.[1];
}

/** The parent is looked for among the files of the import, by the id at the end of its name. */
async function copiedFrom(parent: string, child: FoundFile): Promise<Copied | undefined> {
  for (const file of child.others()) {
    if (file.path === child.path || idInName(file.path) !== parent) continue;
    const turns = new Set<string>();
    for await (const { value } of readRecords(file)) {
      const turn = nameOf(opened(value).payload.turn_id);
      if (turn !== undefined) turns.add(turn);
    }
    return { parent, turns };
  }
  return undefined;
}

interface PromptsState {
  readonly title?: string;
  readonly hasEvents: boolean;
  /** The lines of the last prompts, for turns that are taken back later. */
  readonly turns: readonly number[];
}

const TURNS_KEPT = 100;

/** Finds out which items of the user a person typed, and which turns were taken back. */
class Prompts {
  readonly typed = new Map<number, string>();
  readonly dropped: { readonly from: number; readonly to: number }[] = [];
  title: string | undefined;
  #waiting: { readonly line: number; readonly text: string }[] = [];
  /** Events that came before their item. */
  #announced: string[] = [];
  #hasEvents: boolean;
  #turns: number[];

  constructor(before?: PromptsState) {
    this.title = before?.title;
    this.#hasEvents = before?.hasEvents ?? false;
    this.#turns = [...(before?.turns ?? [])];
  }

  /** Whether no item or event waits for the other. */
  get isSettled(): boolean {
    return this.#waiting.length === 0 && this.#announced.length === 0;
  }

  get state(): PromptsState {
    const turns = this.#turns.slice(-TURNS_KEPT);
    return { hasEvents: this.#hasEvents, turns, ...given({ title: this.title }) };
  }

  follow(type: string, payload: Json, line: number, isBare: boolean): void {
    if (type === "event_msg") {
      if (payload.type === "user_message") this.#announce(payload);
      else if (payload.type === "thread_rolled_back") this.#rollBack(payload.num_turns, line);
      return;
    }
    if (type !== "response_item") return;
    if (payload.type !== "message" || payload.role !== "user") {
      // Instructions may stand between a prompt and its event.
      if (payload.role !== "developer" && payload.role !== "system") this.end();
      return;
    }
    const item = { line, text: contentText(payload.content) };
    if (isBare) {
      this.#guess(item);
      return;
    }
    const announced = this.#announced.findIndex((text) => says(item.text, text));
    if (announced >= 0) {
      const [text] = this.#announced.splice(announced, 1);
      this.#add(line, withoutEditor(text || item.text));
    } else this.#waiting.push(item);
  }

  /** Decides about the items that wait for an event, when the answer begins. */
  end(): void {
    // A file without events cannot tell. Then the marks of injected texts do.
    if (!this.#hasEvents) for (const item of this.#waiting) this.#guess(item);
    this.#waiting = [];
    this.#announced = [];
  }

  #announce({ message, kind = "plain" }: Json): void {
    this.#hasEvents = true;
    // Some versions had events for `user_instructions` and `environment_context`, too.
    if (kind !== "plain" && kind !== null) return;
    const text = textOf(message);
    const found = this.#waiting.findLastIndex((item) => says(item.text, text));
    const [item] = found >= 0 ? this.#waiting.splice(found, 1) : [];
    if (item) this.#add(item.line, withoutEditor(text || item.text));
    else this.#announced.push(text);
  }

  #guess({ line, text }: { readonly line: number; readonly text: string }): void {
    const typed = promptInCodex(text);
    if (typed !== "") this.#add(line, typed);
  }

  #add(line: number, text: string): void {
    this.typed.set(line, text);
    this.title ??= titleOf(text);
    this.#turns.push(line);
  }

  #rollBack(count: unknown, line: number): void {
    if (typeof count !== "number" || !(count >= 1)) return;
    this.end();
    const turns = this.#turns.splice(-Math.min(Math.floor(count), this.#turns.length || 1));
    if (turns[0] !== undefined) this.dropped.push({ from: turns[0], to: line });
  }
}

/** Whether an item is the one that an event tells of. An item has images and files besides. */
function says(item: string, event: string): boolean {
  return event.trim() === "" ? /^\[|^$/.test(item.trim()) : item.includes(event.trim());
}

/**
 * The start of a text that Codex puts before or instead of a prompt: `<environment_context>`, `<user_instructions>`. Each
 * version has more of them.
 */
const INJECTED = /^<(INSTRUCTIONS|skill|[a-z]+(?:_[a-z]+)+)[ >]/;

/** Editors put open files and the selection before a prompt, under headings of this form. */
function withoutEditor(text: string): string {
  if (!text.trimStart().startsWith("# Context from my IDE setup:")) return text;
  const heading = "## My request for Codex:";
  const at = text.indexOf(heading);
  return at < 0 ? text : text.slice(at + heading.length).trim();
}

/** What a person typed of a text: all of it, what follows an injected text, or nothing. */
export function promptInCodex(text: string): string {
  let rest = text.trim();
  if (rest.startsWith("# AGENTS.md")) {
    const end = rest.indexOf("</INSTRUCTIONS>");
    rest = end < 0 ? "" : rest.slice(end + "</INSTRUCTIONS>".length).trim();
  }
  for (;;) {
    const tag = INJECTED.exec(rest)?.[1];
    if (tag === undefined) return withoutEditor(rest);
    const end = rest.indexOf(`</${tag}>`);
    if (end < 0) return "";
    rest = rest.slice(end + tag.length + 3).trim();
  }
}
