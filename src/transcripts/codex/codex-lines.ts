import { hash } from "node:crypto";
import { isObject } from "../../core/fields.ts";
import { type Json, nameOf, objectOf, textOf, timeOf } from "../json-fields.ts";

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
