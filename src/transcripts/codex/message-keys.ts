import { hash } from "node:crypto";
import { type Json, nameOf, textOf } from "../json-fields.ts";

/**
 * Gives each message an id that a copy of it in a fork has too: whose session it was, its turn, and its content.
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

/** Whose message comes next, and in which turn. */
export interface KeyPlace {
  readonly session: string;
  readonly turn: string;
}

/** The turns of a parent that a fork repeats without saying whose they are. */
export interface Copied {
  readonly parent: string;
  readonly turns: ReadonlySet<string>;
}
