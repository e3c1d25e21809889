import type { StoredEvent, ToolApprovalResolved } from "../core/event.ts";
import type { EventStore, PositionedEvent } from "../core/event-store.ts";
import type { NewKnowledge } from "../core/knowledge.ts";
import { FORGOTTEN } from "../core/message.ts";
import type { Projection } from "../core/projection.ts";
import { correctionOf } from "../knowledge/correction-of.ts";
import { factOf } from "../knowledge/fact-of.ts";
import { preferenceOf } from "../knowledge/preference-of.ts";
import { preferencesIn } from "../knowledge/preferences-in.ts";
import type { ProjectKnowledge } from "../knowledge/project-knowledge.ts";

/** Events before a result among which its call is looked for, when it has not passed by. */
const CALL_DISTANCE = 200;
const REMEMBERED_MAX = 1000;

/**
 * Records what the log teaches: tool results as facts, denials as corrections,
 * what users state as preferences.
 *
 * Its position is kept with what it recorded, in one step, so that each result
 * counts once, whatever is killed when, and however many processes record. Ids
 * are made of the session and the place in its log.
 */
export class KnowledgeRecorder implements Projection {
  readonly name = "knowledge";
  readonly #events: EventStore;
  readonly #knowledge: ProjectKnowledge;
  readonly #learns = new Map<string, boolean>();
  /** Arguments of calls that passed by and have no result yet. */
  readonly #args = new Map<string, unknown>();
  #from = 0;

  constructor(events: EventStore, knowledge: ProjectKnowledge) {
    this.#events = events;
    this.#knowledge = knowledge;
  }

  async position(): Promise<number> {
    this.#from = await this.#knowledge.store.position();
    return this.#from;
  }

  async apply(events: readonly PositionedEvent[]): Promise<void> {
    const last = events.at(-1);
    if (!last) return;
    const { limits, store } = this.#knowledge;
    const entries: NewKnowledge[] = [];
    const forgotten: string[] = [];
    for (const { sessionId, stored } of events) {
      if (await this.#learnsFrom(sessionId))
        entries.push(...(await this.#teaches(sessionId, stored)));
      if (stored.event.type === "text_forgotten") {
        forgotten.push(...(await this.#unlearned(sessionId, stored.event.events)));
      }
    }
    if (forgotten.length > 0) await this.#knowledge.store.forget(forgotten);
    // Refused when another process was first: then it has recorded the same.
    await store.record({ from: this.#from, to: last.position, entries, limits });
    this.#from = last.position;
    await this.#knowledge.settle();
  }

  /** What was learned from events that teach it no more, should whoever forgot it have been killed. */
  async #unlearned(sessionId: string, seqs: readonly number[]): Promise<readonly string[]> {
    const changed = new Set(seqs);
    const entries = (await this.#knowledge.all()).filter(
      ({ sessionId: heardIn, source }) =>
        heardIn === sessionId && source && (changed.has(source.from) || changed.has(source.to)),
    );
    const gone: string[] = [];
    for (const { id, kind, content, edited, source } of entries) {
      const taught: NewKnowledge[] = [];
      const { to = 0 } = source ?? {};
      for await (const stored of this.#events.read(sessionId, to - 1, to)) {
        taught.push(...(await this.#teaches(sessionId, stored)));
      }
      const isSaid =
        kind !== "preference" || edited || taught.some((one) => one.content === content);
      if (taught.length === 0 || !isSaid) gone.push(id);
    }
    return gone;
  }

  async #teaches(sessionId: string, stored: StoredEvent): Promise<readonly NewKnowledge[]> {
    const { seq, event } = stored;
    const time = new Date(stored.timestamp_ms).toISOString();
    switch (event.type) {
      case "run_started":
        // What was said elsewhere, by whomever, was not said by the user here and now.
        if (event.origin) return [];
        return preferencesIn(event.prompt).map((text, index) =>
          preferenceOf(text, { sessionId, seq, index, time }),
        );
      case "tool_call_requested":
        remember(this.#args, `${sessionId} ${event.id}`, event.args);
        return [];
      case "tool_execution_completed": {
        if (event.is_error) return [];
        const args = await this.#argsOf(sessionId, seq, event.id);
        const { name, result } = event;
        const made = factOf({ name, args, result, sessionId, seq, time });
        return "fact" in made ? [made.fact] : [];
      }
      case "tool_approval_resolved":
        return await this.#correction(sessionId, seq, time, event);
      default:
        return [];
    }
  }

  async #correction(
    sessionId: string,
    seq: number,
    time: string,
    resolved: ToolApprovalResolved,
  ): Promise<readonly NewKnowledge[]> {
    const { decision, by, request: from } = resolved;
    if (decision !== "deny" || by !== "user" || from === undefined) return [];
    if (resolved.reason?.includes(FORGOTTEN)) return [];
    for await (const { event } of this.#events.read(sessionId, from - 1, from)) {
      if (event.type !== "tool_approval_requested") continue;
      if (JSON.stringify(event.args)?.includes(FORGOTTEN)) return [];
      return [correctionOf({ requested: event, resolved, sessionId, from, seq, time })];
    }
    return [];
  }

  async #argsOf(sessionId: string, seq: number, id: string): Promise<unknown> {
    const key = `${sessionId} ${id}`;
    let args = this.#args.get(key);
    const known = this.#args.delete(key);
    if (known) return args;
    for await (const { event } of this.#events.read(
      sessionId,
      Math.max(0, seq - CALL_DISTANCE),
      seq,
    )) {
      if (event.type === "tool_call_requested" && event.id === id) args = event.args;
    }
    return args;
  }

  /** Whether the session was created so that the project learns from it. Its first event says so. */
  async #learnsFrom(sessionId: string): Promise<boolean> {
    const known = this.#learns.get(sessionId);
    if (known !== undefined) return known;
    let learns = false;
    for await (const { event } of this.#events.read(sessionId, 0, 1)) {
      learns = event.type === "session_created" && event.settings.knowledge === true;
    }
    remember(this.#learns, sessionId, learns);
    return learns;
  }
}

/** Adds to a map that forgets its oldest when it is full. */
function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > REMEMBERED_MAX && oldest !== undefined) map.delete(oldest);
}
