import { SessionError } from "../core/errors.ts";
import type { StoredEvent } from "../core/event.ts";
import { given } from "../core/fields.ts";
import { HistoryChanges } from "../core/history-changes.ts";
import { type LoggedMessage, MessageAssembler } from "../core/message-assembler.ts";
import type { LearnedFrom, MessageTrace } from "../core/operations/history.ts";
import type { CheckedRequest } from "../core/operations.ts";
import { messageWeight } from "../core/tokens.ts";
import { startsTurn } from "../core/turn.ts";
import { FollowedMessage } from "./message-fates.ts";
import type { ServiceCore } from "./service-core.ts";
import { memoryOf } from "./service-options.ts";

/** A message of the log, and what was made of it. */
export async function readMessage(
  core: ServiceCore,
  { sessionId, message: id }: CheckedRequest<"readMessage">,
): Promise<MessageTrace> {
  const { state: now } = await core.live.open(sessionId);
  const { settings, working } = now;
  const memoryId = `${sessionId}:${id}`;
  const changes = new HistoryChanges();
  const trail = new Trail(id, settings.memory);
  for await (const stored of core.options.stores.events.read(sessionId, 0, now.seq)) {
    changes.note(stored);
    trail.note(stored, memoryId);
  }
  const { logged, followed } = trail;
  if (!logged || !followed) {
    throw new SessionError("MESSAGE_NOT_IN_HISTORY", {
      message: `No message of this session has the id ${id}.`,
    });
  }
  const inForce = new Set(changes.inForce());
  const shownNow = now.history.find((entry) => entry.id === id);
  const weight = messageWeight(logged.message, settings.model);
  const entries = (await memoryOf(core.options)?.read([memoryId])) ?? [];
  const { inherited: said } = logged;
  return {
    id,
    turn: Math.max(0, trail.turns - 1),
    time: new Date(logged.timestampMs).toISOString(),
    message: logged.message,
    ...given({ origin: logged.origin }),
    tokens: Math.ceil(weight / 4),
    now: !shownNow ? "left" : shownNow.weight === weight ? "whole" : "shortened",
    pinned: working.isPinned(id),
    memoryId: entries.length > 0 ? memoryId : null,
    compactions: followed.fates.map((each) => ({ ...each, inForce: inForce.has(each.event) })),
    recalledBy: trail.recalledBy,
    broughtBackBy: trail.broughtBackBy,
    learned: await learnedFrom(core, said?.session ?? sessionId, trail.span),
    ...(said ? { copyOf: { sessionId: said.session, message: said.message } } : {}),
  };
}

/** Finds a message in a log, and what happened to it afterwards. */
class Trail {
  turns = 0;
  logged: LoggedMessage | undefined;
  followed: FollowedMessage | undefined;
  readonly recalledBy: number[] = [];
  readonly broughtBackBy: number[] = [];
  readonly #id: number;
  readonly #isRemembered: boolean;
  readonly #assembler = new MessageAssembler();
  /** The event before the next message. */
  #end: number | undefined;

  constructor(id: number, isRemembered: boolean) {
    this.#id = id;
    this.#isRemembered = isRemembered;
  }

  note(stored: StoredEvent, memoryId: string): void {
    const completed = this.#assembler.push(stored);
    if (this.followed) {
      this.#follow(stored, memoryId);
      if (completed) this.#end ??= completed.from - 1;
      return;
    }
    if (completed && startsTurn(completed.message)) this.turns += 1;
    if (completed?.id !== this.#id) return;
    this.logged = completed;
    this.followed = new FollowedMessage(completed, this.#isRemembered);
  }

  #follow(stored: StoredEvent, memoryId: string): void {
    const { event, seq } = stored;
    this.followed?.note(stored);
    if (event.type === "memory_recalled" && event.records.some(({ id }) => id === memoryId)) {
      this.recalledBy.push(seq);
    }
    const isBack = event.type === "messages_brought_back";
    if (isBack && event.messages.some(({ message }) => message === this.#id)) {
      this.broughtBackBy.push(seq);
    }
  }

  /** The events of the message, and what followed before the next one: the questions and answers about its calls. */
  get span(): { readonly from: number; readonly to: number } {
    const { from = 0, inherited } = this.logged ?? {};
    if (inherited) return { from: inherited.message, to: inherited.message };
    return { from, to: this.#end ?? Number.POSITIVE_INFINITY };
  }
}

/** What the project learned from events of a session, and the rules made of that. */
async function learnedFrom(
  { project }: ServiceCore,
  session: string,
  span: { readonly from: number; readonly to: number },
): Promise<readonly LearnedFrom[]> {
  const all = (await project?.all()) ?? [];
  const isFrom = ({ from, to }: { readonly from: number; readonly to: number }) =>
    from <= span.to && span.from <= to;
  const direct = all.filter(
    ({ sessionId, source }) => sessionId === session && source !== undefined && isFrom(source),
  );
  const ids = new Set(direct.map(({ id }) => id));
  const rules = all.filter(
    ({ id, sources = [] }) => !ids.has(id) && sources.some((each) => ids.has(each)),
  );
  return [...direct, ...rules].map(({ id, kind, content }) => ({ id, kind, content }));
}
