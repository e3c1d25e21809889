import {
  isUsersWord,
  type Origin,
  type StoredEvent,
  type ToolApprovalResolved,
} from "../core/event.ts";
import { type EventStore, isDeleted, type PositionedEvent } from "../core/event-store.ts";
import { given } from "../core/fields.ts";
import { jsonText } from "../core/json-values.ts";
import type { NewKnowledge } from "../core/knowledge.ts";
import {
  contentText,
  FORGOTTEN,
  indexableText,
  type Message,
  type ToolUse,
  toolResults,
  toolUses,
} from "../core/message.ts";
import { refusalsIn } from "../core/refusal.ts";
import { speakerName, withoutName } from "../core/speaker-name.ts";
import { preferencesIn } from "../knowledge/lasting-wishes.ts";
import { correctionOf, factOf, preferenceOf } from "../knowledge/learned-entries.ts";
import type { ProjectKnowledge } from "../knowledge/project-knowledge.ts";
import { LogProjection, remember } from "./log-projection.ts";

/** How many events before a result to look for its call, when the call was not in a batch before. */
const CALL_DISTANCE = 200;

/** How many messages, such as system messages, may stand between a refused call and the user's next message. */
const REASON_DISTANCE = 4;

/** The user's words after a call that was refused without a reason. */
interface Reason {
  readonly text: string;
  readonly seq: number;
}

/**
 * Records what the log teaches: tool results as facts, denials as corrections, lasting statements
 * of users as preferences.
 *
 * The knowledge store saves the entries and the position in one transaction. So a result counts
 * once, even after a kill, or when several processes record.
 */
export class KnowledgeRecorder extends LogProjection {
  readonly name = "knowledge";
  readonly #knowledge: ProjectKnowledge;
  /** Arguments of calls whose results have not come yet. */
  readonly #args = new Map<string, unknown>();
  /** The last message of each session in this batch, if it has calls that were refused without a reason. */
  readonly #unexplained = new Map<string, StoredEvent | undefined>();
  #from = 0;

  constructor(events: EventStore, knowledge: ProjectKnowledge) {
    super(events);
    this.#knowledge = knowledge;
  }

  override async position(): Promise<number> {
    this.#from = await this.#knowledge.store.position();
    return this.#from;
  }

  /** The store has the position already. */
  protected override async reached(): Promise<void> {}

  protected async project(events: readonly PositionedEvent[], position: number): Promise<void> {
    const { limits, store } = this.#knowledge;
    const entries: NewKnowledge[] = [];
    const forgotten: string[] = [];
    this.#unexplained.clear();
    for (const { sessionId, stored } of events) {
      const isImported = stored.event.type === "message_added" && stored.event.imported;
      if (isImported || (await this.settingsOf(sessionId))?.knowledge) {
        entries.push(...(await this.#teaches(sessionId, stored)));
      }
      if (stored.event.type === "text_forgotten" && !stored.event.by) {
        forgotten.push(...(await this.#unlearned(sessionId, stored.event.events)));
        this.#unexplained.clear();
      }
    }
    if (forgotten.length > 0) await this.#knowledge.store.forget(forgotten);
    // Refused when another process was first. It has recorded the same.
    await store.record({ from: this.#from, to: position, entries, limits });
    this.#from = position;
    const taught = entries.flatMap(({ kind, sessionId }) => (kind === "fact" ? sessionId : []));
    const marked = events.filter(({ stored }) => stored.event.type === "session_deleted");
    // The session may have been deleted while its events were read.
    for (const id of new Set([...marked.map(({ sessionId }) => sessionId), ...taught])) {
      if (id && (await isDeleted(id, this.events))) await store.deleteSession(id);
    }
    await this.#knowledge.settle();
  }

  /** Ids of entries that their events no longer support. The process that forgot may have been killed before it deleted them. */
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
      this.#unexplained.clear();
      for await (const stored of this.events.read(sessionId, to - 1, to)) {
        taught.push(...(await this.#teaches(sessionId, stored)));
      }
      // A message may teach several preferences, or several facts.
      const isSaid =
        kind === "correction" || edited || taught.some((one) => one.content === content);
      if (taught.length === 0 || !isSaid) gone.push(id);
    }
    return gone;
  }

  async #teaches(sessionId: string, stored: StoredEvent): Promise<readonly NewKnowledge[]> {
    const { seq, event } = stored;
    // The messages that a fork began with were learned where they were said.
    if (event.type === "message_added" && event.inherited) return [];
    const time = new Date(stored.timestamp_ms).toISOString();
    const preferences = (said: string, origin: Origin | undefined) =>
      preferencesIn(withoutName(said, origin?.speaker)).map((text, index) =>
        preferenceOf(text, { sessionId, seq, index, time, by: speakerName(origin?.speaker) }),
      );
    switch (event.type) {
      case "run_started":
        return isUsersWord(event.origin) ? preferences(event.prompt, event.origin) : [];
      case "message_added":
        // A transcript is a file. Only its denials are recorded, and they make no rule.
        if (event.imported) {
          const denied = await this.#deniedIn(event.message, { sessionId, seq, time });
          return [...denied, ...(await this.#explainedBy(stored, { sessionId, seq, time }))];
        }
        // Unlike a prompt, an added message is the user's word only if its origin says so.
        if (event.message.role === "user" && event.origin?.author === "user") {
          return preferences(contentText(event.message.content), event.origin);
        }
        return await this.#factsOf(event.message, { sessionId, seq, time });
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

  /** The facts of an added message with tool results. Its calls are in the message before it. */
  async #factsOf(
    message: Message,
    at: { readonly sessionId: string; readonly seq: number; readonly time: string },
  ): Promise<readonly NewKnowledge[]> {
    const { sessionId, seq } = at;
    const results = toolResults(message);
    if (results.length === 0) return [];
    const calls = new Map<string, ToolUse>();
    for await (const { event } of this.events.read(sessionId, seq - 2, seq - 1)) {
      if (event.type !== "message_added") continue;
      for (const call of toolUses(event.message)) calls.set(call.id, call);
    }
    return results.flatMap(({ tool_use_id, content: result, is_error }, index) => {
      const call = calls.get(tool_use_id);
      if (!call || is_error) return [];
      const made = factOf({ name: call.name, args: call.args, result, index, ...at });
      return "fact" in made ? [made.fact] : [];
    });
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
    for await (const { event } of this.events.read(sessionId, from - 1, from)) {
      if (event.type !== "tool_approval_requested") continue;
      if (jsonText(event.args).includes(FORGOTTEN)) return [];
      return [correctionOf({ requested: event, resolved, sessionId, from, seq, time })];
    }
    return [];
  }

  /** The corrections in imported results. Their calls, and the prompt, are in messages before. */
  async #deniedIn(
    message: Message,
    at: { readonly sessionId: string; readonly seq: number; readonly time: string },
    said?: Reason,
  ): Promise<readonly NewKnowledge[]> {
    const { sessionId, seq } = at;
    const refused = refusalsIn(message);
    if (refused.length === 0) return [];
    const calls = new Map<string, ToolUse & { readonly from: number }>();
    let goal = "";
    const start = Math.max(0, seq - 1 - CALL_DISTANCE);
    for await (const { event, seq: from } of this.events.read(sessionId, start, seq - 1)) {
      if (event.type !== "message_added") continue;
      for (const call of toolUses(event.message)) calls.set(call.id, { ...call, from });
      const isPrompt = event.message.role === "user" && event.origin?.author === "user";
      if (isPrompt) goal = indexableText(event.message);
    }
    return refused.flatMap(({ toolUseId, ...refusal }, index) => {
      const call = calls.get(toolUseId);
      if (!call || jsonText(call.args).includes(FORGOTTEN)) return [];
      if (said && refusal.reason !== undefined) return [];
      const requested = { name: call.name, args: call.args, goal };
      const resolved = said ? { reason: said.text } : refusal;
      const explained = given({ explainedAt: said?.seq });
      const denial = { requested, resolved, from: call.from, importedAs: index };
      return [correctionOf({ ...denial, ...explained, ...at })];
    });
  }

  /** The corrections again, with the reason: agents that ask for none end the turn, and the next prompt has it. */
  async #explainedBy(
    stored: StoredEvent,
    at: { readonly sessionId: string; readonly time: string; readonly seq: number },
  ): Promise<readonly NewKnowledge[]> {
    const { seq, event } = stored;
    if (event.type !== "message_added" || event.message.role === "system") return [];
    const { message, origin } = event;
    const { sessionId } = at;
    const isPrompt = message.role === "user" && origin?.author === "user";
    const isKnown = this.#unexplained.has(sessionId);
    const refused = isKnown ? this.#unexplained.get(sessionId) : undefined;
    this.#unexplained.set(sessionId, hasUnexplained(message) ? stored : undefined);
    const text = isPrompt ? indexableText(message).trim() : "";
    if (text === "" || text.includes(FORGOTTEN)) return [];
    const found = isKnown ? refused : await this.#unexplainedBefore(sessionId, seq);
    if (found?.event.type !== "message_added") return [];
    return await this.#deniedIn(found.event.message, { ...at, seq: found.seq }, { text, seq });
  }

  async #unexplainedBefore(sessionId: string, seq: number): Promise<StoredEvent | undefined> {
    let last: StoredEvent | undefined;
    const start = Math.max(0, seq - 1 - REASON_DISTANCE);
    for await (const stored of this.events.read(sessionId, start, seq - 1)) {
      const { event } = stored;
      if (event.type !== "message_added" || event.message.role === "system") continue;
      last = hasUnexplained(event.message) ? stored : undefined;
    }
    return last;
  }

  async #argsOf(sessionId: string, seq: number, id: string): Promise<unknown> {
    const key = `${sessionId} ${id}`;
    let args = this.#args.get(key);
    const known = this.#args.delete(key);
    if (known) return args;
    for await (const { event } of this.events.read(
      sessionId,
      Math.max(0, seq - CALL_DISTANCE),
      seq,
    )) {
      if (event.type === "tool_call_requested" && event.id === id) args = event.args;
    }
    return args;
  }
}

function hasUnexplained(message: Message): boolean {
  return refusalsIn(message).some(({ reason }) => reason === undefined);
}
