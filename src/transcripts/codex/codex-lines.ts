import { hash } from "node:crypto";
import { isObject } from "../../core/fields.ts";
import {
  contentText,
  type Json,
  nameOf,
  objectOf,
  textOf,
  timeOf,
  titleOf,
} from "../json-fields.ts";

/**
 * Gives each message an id that a copy of it in a fork has too: the session that it was written in, its turn, and its content.
 * Forks copy items one by one and may leave some out, so places do not help.
 */
export class MessageKeys {
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

/** The session and the turn of the next message. */
export interface KeyPlace {
  readonly session: string;
  readonly turn: string;
}

/** The turns of a parent that a fork repeats without saying whose they are. */
export interface Copied {
  readonly parent: string;
  readonly turns: ReadonlySet<string>;
}

export const ENVELOPES = new Set([
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

export function isEnvelope(value: Json): boolean {
  return isObject(value.payload) && typeof value.type === "string";
}

/** The first line of the earliest files: `{"id", "timestamp", "instructions", "git"}`. */
export function isBareHead(value: Json): boolean {
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

export function openLine(value: Json): Opened {
  const time = timeOf(value.timestamp);
  if (isEnvelope(value))
    return { type: textOf(value.type), payload: objectOf(value.payload), time };
  if (value.record_type === "state") return { type: "state", payload: value, time };
  return { type: isBareHead(value) ? "session_meta" : "response_item", payload: value, time };
}

export interface PromptsState {
  readonly hasEvents: boolean;
  /** One of the items since the last answer had its event. */
  readonly isAnnounced?: boolean;
  /** A prompt has given the session its title. */
  readonly isTitled?: boolean;
  /** The lines of the last prompts, for turns that are taken back later. */
  readonly turns: readonly number[];
}

const TURNS_KEPT = 100;

/** Finds out which items of the user a person typed, and which turns were taken back. */
export class Prompts {
  readonly typed = new Map<number, string>();
  readonly dropped: { readonly from: number; readonly to: number }[] = [];
  title: string | undefined;
  #waiting: { readonly line: number; readonly text: string }[] = [];
  /** Events that came before their item. */
  #announced: { readonly line: number; readonly text: string }[] = [];
  #hasEvents: boolean;
  #isAnnounced: boolean;
  #turns: number[];
  readonly #isTitled: boolean;

  constructor(before?: PromptsState) {
    this.#hasEvents = before?.hasEvents ?? false;
    this.#isAnnounced = before?.isAnnounced ?? false;
    this.#turns = [...(before?.turns ?? [])];
    this.#isTitled = before !== undefined && before.isTitled !== false;
  }

  /** Whether no item or event waits for the other. */
  get isSettled(): boolean {
    return this.#waiting.length === 0 && this.#announced.length === 0;
  }

  get state(): PromptsState {
    const turns = this.#turns.slice(-TURNS_KEPT);
    const isTitled = this.#isTitled || this.title !== undefined;
    return { hasEvents: this.#hasEvents, isAnnounced: this.#isAnnounced, isTitled, turns };
  }

  follow(type: string, payload: Json, line: number, isBare: boolean): void {
    if (type === "event_msg") {
      if (payload.type === "user_message") this.#announce(payload, line);
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
    const announced = this.#announced.findIndex(({ text }) => says(item.text, text));
    if (announced >= 0) {
      const [event] = this.#announced.splice(announced, 1);
      this.#add(line, withoutEditor(event?.text || item.text));
    } else this.#waiting.push(item);
  }

  /** Decides about the items that wait for an event, when the answer begins, or the file ends. */
  end({ isAnswered = true } = {}): void {
    // A file without events does not show it, nor does a turn that lacks its event. The marks of injected texts do.
    if (!this.#hasEvents || (isAnswered && !this.#isAnnounced)) {
      for (const item of this.#waiting) if (!PROGRAMS.test(item.text)) this.#guess(item);
    }
    // It is answered, and its item was lost.
    if (isAnswered) for (const { line, text } of this.#announced) this.#guess({ line, text });
    this.#waiting = [];
    this.#announced = [];
    this.#isAnnounced = false;
  }

  #announce({ message, kind = "plain" }: Json, line: number): void {
    this.#hasEvents = true;
    this.#isAnnounced = true;
    // Some versions had events for `user_instructions` and `environment_context`, too.
    if (kind !== "plain" && kind !== null) return;
    const text = textOf(message);
    const found = this.#waiting.findLastIndex((item) => says(item.text, text));
    const [item] = found >= 0 ? this.#waiting.splice(found, 1) : [];
    if (item) this.#add(item.line, withoutEditor(text || item.text));
    else this.#announced.push({ line, text });
  }

  #guess({ line, text }: { readonly line: number; readonly text: string }): void {
    const typed = promptInCodex(text);
    if (typed !== "") this.#add(line, typed);
  }

  #add(line: number, text: string): void {
    this.typed.set(line, text);
    if (!this.#isTitled) this.title ??= titleOf(text);
    this.#turns.push(line);
  }

  #rollBack(count: unknown, line: number): void {
    if (typeof count !== "number" || !(count >= 1)) return;
    this.end();
    const turns = this.#turns.splice(-Math.min(Math.floor(count), this.#turns.length || 1));
    if (turns[0] !== undefined) this.dropped.push({ from: turns[0], to: line });
  }
}

/** Whether an item is the one that an event repeats. An item also has images and files. */
function says(item: string, event: string): boolean {
  return event.trim() === "" ? /^\[|^$/.test(item.trim()) : item.includes(event.trim());
}

/**
 * The start of a text that Codex puts before or instead of a prompt: `<environment_context>`, `<user_instructions>`. Each
 * version has more of them.
 */
const INJECTED = /^<(INSTRUCTIONS|skill|[a-z]+(?:_[a-z]+)+)[ >]/;

/** Texts of the program without a mark. */
const PROGRAMS =
  /^(?:Another language model started to solve|Warning: |You have (?:\d+|exhausted))/;

/** Editors put open files and the selection before a prompt, under headings of this form. */
function withoutEditor(text: string): string {
  if (!text.trimStart().startsWith("# Context from my IDE setup:")) return text;
  const heading = "## My request for Codex:";
  const at = text.indexOf(heading);
  return at < 0 ? text : text.slice(at + heading.length).trim();
}

/** The typed part of a text: all of it, the part after an injected text, or nothing. */
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
