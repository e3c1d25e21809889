import { supersededEvents } from "../agent/approvals.ts";
import { SessionError } from "../core/errors.ts";
import type { EventEnvelope } from "../core/event.ts";
import { isUnreadable } from "../core/event-shape.ts";
import { given } from "../core/fields.ts";
import { newId } from "../core/ids.ts";
import type { KnownFork } from "../core/kept-state.ts";
import type { CostOperations } from "../core/operations/cost.ts";
import { parseRequest } from "../core/operations/operation.ts";
import {
  type SessionCreated,
  type SessionOperations,
  type SessionSummary,
  type SessionView,
  type Subscribe,
  type SubscribeOptions,
  subscribe as subscribeRequest,
} from "../core/operations/sessions.ts";
import type { CheckedRequest } from "../core/operations.ts";
import { requireOptions, SUBSCRIBE_OPTIONS } from "../core/options.ts";
import { readerQueues } from "../core/reader-queues.ts";
import type { SessionSnapshot } from "../core/session-snapshot.ts";
import { loggedSource, OWN_AGENT, sourceFilter, sourceView } from "../core/session-source.ts";
import { SessionState } from "../core/session-state.ts";
import { taskView } from "../core/task.ts";
import { tokenUsage, totalTokens } from "../core/usage.ts";
import { notInTrash } from "../forgetting/trash.ts";
import { commitAll } from "./fork-session.ts";
import type { ToldRules } from "./knowledge-operations.ts";
import { LiveSession } from "./live-sessions.ts";
import { openingEvents } from "./opening-events.ts";
import type { Part, ServiceCore } from "./service-core.ts";
import { sessionCost } from "./session-cost.ts";
import { openedLazily, subscription } from "./subscription.ts";

const LIST_LIMIT_DEFAULT = 20;

interface Lifecycle {
  /** Creates the session that has this id. */
  create(id: string, request: CheckedRequest<"createSession">): Promise<SessionCreated>;
  /** Deletes a session that exists. */
  remove(sessionId: string, when: { readonly now: boolean }): Promise<void>;
  subscribe(request: Subscribe, options?: SubscribeOptions): AsyncIterable<EventEnvelope>;
}

/** Creates, reads, lists, archives, deletes and restores sessions. */
export function sessionOperations(
  core: ServiceCore,
  rules: ToldRules,
): Part<keyof SessionOperations | keyof CostOperations> & Lifecycle {
  const { options, settings, live, work, projections, trash, deletions } = core;
  const { stores, project: ownProject } = options;
  const { events, sessions } = stores;
  const isPersistent = core.capabilities.includes("session-store");
  const hasMemory = core.capabilities.includes("memory-store");

  async function create(
    id: string,
    request: CheckedRequest<"createSession">,
  ): Promise<SessionCreated> {
    const { model, systemPrompt, maxTokens, compaction, messages = [], labels = {} } = request;
    const { approvals } = request;
    const source = request.source ?? ownSource(id, options);
    if (model !== undefined) await settings.model(model);
    const memory = hasMemory && request.memory !== false;
    const limit = maxTokens ?? options.maxTokens;
    const learns = core.project !== undefined && (request.knowledge ?? request.memory !== false);
    const knowledge = learns ? await rules.addendum() : undefined;
    const opening = openingEvents({
      id,
      settings: {
        model: model ?? settings.defaultModelName,
        memory,
        labels,
        ...given({ user: core.user }),
        ...(source ? { source: loggedSource(source) } : {}),
        ...(learns ? { knowledge: true } : {}),
        ...(approvals ? { approvals } : {}),
        ...(limit === undefined ? {} : { max_tokens: limit }),
        ...(compaction ? { compaction: settings.wireCompaction(compaction) } : {}),
      },
      systemPrompt: [systemPrompt ?? options.systemPrompt, options.surroundings?.()]
        .filter(Boolean)
        .join("\n\n"),
      searchesMemory: memory && core.searchesMemory && options.builtinTools !== false,
      searchesHistory: isPersistent,
      knowledge,
      messages,
    });
    const session = new LiveSession(new SessionState(id), events);
    await session.commit(opening);
    await sessions.save(session.state.snapshot());
    live.add(session);
    if (knowledge) await rules.rulesUsed(knowledge.rules);
    projections.wake();
    return { sessionId: id };
  }

  /** Tells which of their forks were not deleted since. */
  async function existing(
    parents: readonly { readonly forks?: readonly KnownFork[] }[],
  ): Promise<IsThere> {
    const ids = parents.flatMap(({ forks = [] }) => forks.map(({ session }) => session));
    const known = ids.length === 0 ? undefined : await sessions.sources(ids);
    return (id) => known?.has(id) ?? false;
  }

  async function remove(sessionId: string, { now }: { readonly now: boolean }): Promise<void> {
    // The lessons of its user stay, so they are learned first.
    await core.projected();
    await work.alone(sessionId, async () => {
      const session = await orUnreadable(sessionId, now, async () => {
        const opened = await live.open(sessionId);
        if (trash?.keeps && !now) {
          const { state } = opened;
          await trash.put((await sessions.load(sessionId)) ?? state.snapshot(), events);
        }
        return opened;
      });
      const event = { type: "session_deleted", session_id: sessionId } as const;
      if (session) return await session.commit([event]);
      const stored = { event_id: newId(), timestamp_ms: Date.now(), event };
      await events.append(sessionId, await events.lastSeq(sessionId), [stored]);
    });
    await deletions.end(sessionId);
    live.forget(sessionId);
  }

  return {
    create,
    remove,
    createSession: (request) => create(newId(), request),
    async read({ sessionId }) {
      const session = await live.open(sessionId);
      const isActive = session.running !== undefined || (await work.runsElsewhere(session));
      const isThere = await existing([session.state]);
      return sessionView(session.state, isActive, ownProject, isThere);
    },
    sessionCost: (request) => sessionCost(core, request),
    async list({ limit = LIST_LIMIT_DEFAULT, deleted, agent, project, branch, ...rest }) {
      const source = sourceFilter(given({ agent, project, branch }), ownProject);
      const query = { limit, ...rest, ...given({ source }) };
      if (deleted) {
        const found = (await trash?.list(query, events)) ?? [];
        return found.map((snapshot) => deletedSummary(snapshot, ownProject));
      }
      const found = await sessions.list(query);
      const isThere = await existing(found);
      return found.map((snapshot) => sessionSummary(snapshot, ownProject, isThere));
    },
    async archive({ sessionId }) {
      await work.run(sessionId, {}, (session) =>
        session.commit([
          ...supersededEvents(session.state),
          { type: "session_archived", session_id: sessionId },
        ]),
      );
      live.forget(sessionId);
    },
    async unarchive({ sessionId }) {
      await work.run(sessionId, { archivedToo: true }, async (session) => {
        if (!session.state.archived) return;
        await session.commit([{ type: "session_unarchived", session_id: sessionId }]);
      });
    },
    async delete({ sessionId, now = false }) {
      // An earlier deletion was interrupted, by a kill or a full disk.
      const isEnded = await deletions.end(sessionId);
      const isGone = now && (await trash?.remove(sessionId));
      if ((isEnded || isGone) && (await events.lastSeq(sessionId)) === 0) return;
      await orUnreadable(sessionId, now, () => live.open(sessionId));
      await remove(sessionId, { now });
    },
    async restore({ sessionId }) {
      if (!trash) throw notInTrash(sessionId);
      await deletions.end(sessionId);
      await work.alone(sessionId, async (held) => {
        const { snapshot, lacks } = await trash.copyOf(sessionId, events);
        const begins = { sessionId, lastSeq: 0, events: lacks, snapshot, ids: [] };
        if (lacks.length > 0) await commitAll(core.options.stores, [begins]);
        else await sessions.save(snapshot, held);
        await trash.remove(sessionId);
      });
      projections.wake();
    },
    subscribe: (request, options = {}) =>
      openedLazily(async () => {
        work.requireOpen();
        requireOptions("subscribe()", SUBSCRIBE_OPTIONS, options);
        const { signal = new AbortController().signal, onOpen } = options;
        const { sessionId, afterSeq } = parseRequest(subscribeRequest, request);
        const session = await live.open(sessionId);
        const from = afterSeq ?? session.state.seq;
        // The log may be ahead of the state while a turn runs.
        const end = from > session.state.seq ? await events.lastSeq(sessionId) : from;
        if (from > end) throw afterTheEnd(from, end);
        onOpen?.(from);
        return subscription(session, from, readerQueues, { signal, ended: work.ended });
      }),
  };
}

/** A reader of another log, or of one that was restored from a backup, would wait, and miss events. */
function afterTheEnd(from: number, seq: number): SessionError {
  return new SessionError("NOT_POSSIBLE", {
    message: `The log of the session ends at ${seq}, and ${from} is after its end.`,
    hint: "Read the session again, and continue from the seq that it has now.",
  });
}

/**
 * What is opened to delete a session. Undefined when the session has an event that cannot be read and goes for good: that
 * takes no reading.
 *
 * @throws SessionError `SESSION_STORE_ERROR`, with both ways out, when it is to be restorable
 */
async function orUnreadable<Opened>(
  sessionId: string,
  now: boolean,
  open: () => Promise<Opened>,
): Promise<Opened | undefined> {
  try {
    return await open();
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    if (now) return undefined;
    throw new SessionError("SESSION_STORE_ERROR", {
      message: SessionError.from(error).message,
      hint: `\`rkat repair\` makes it readable again. \`rkat sessions delete ${sessionId} --now\` deletes the session for good as it is.`,
      cause: error,
    });
  }
}

/** Whether a fork was not deleted. */
type IsThere = (sessionId: string) => boolean;

/** A snapshot as an entry of a list. `project` is the project that the store belongs to. */
function sessionSummary(
  snapshot: SessionSnapshot,
  project: string | undefined,
  isThere: IsThere,
): SessionSummary {
  const forks = (snapshot.forks ?? []).filter(({ session }) => isThere(session));
  return {
    sessionId: snapshot.id,
    createdAt: new Date(snapshot.created_at_ms).toISOString(),
    updatedAt: new Date(snapshot.updated_at_ms).toISOString(),
    model: snapshot.settings.model,
    turns: snapshot.turns,
    messageCount: snapshot.message_count,
    totalTokens: totalTokens(snapshot.usage),
    archived: snapshot.archived,
    labels: snapshot.settings.labels,
    ...given({ user: snapshot.settings.user }),
    source: sourceView(snapshot.settings.source, snapshot.id, project),
    ...(forks.length === 0
      ? {}
      : { forks: forks.map(({ session, event }) => ({ sessionId: session, event })) }),
  };
}

/** A snapshot in the trash. Its time is that of the deletion. */
function deletedSummary(snapshot: SessionSnapshot, project: string | undefined): SessionSummary {
  const summary = sessionSummary(snapshot, project, () => true);
  return { ...summary, deletedAt: summary.updatedAt };
}

/** The result of `read`. */
function sessionView(
  state: SessionState,
  isActive: boolean,
  project: string | undefined,
  isThere: IsThere,
): SessionView {
  return {
    ...sessionSummary(state.snapshot(), project, isThere),
    isActive,
    usage: tokenUsage(state.usage),
    lastAssistantText: state.lastAssistantText,
    seq: state.seq,
    compactions: state.compactions,
    recordedCompactions: state.recordedCompactions,
    historyTokens: state.historyTokens,
    task: taskView(state.working.task),
    instructions: state.working.instructions,
    history: state.history.map(({ id, turn, message, origin }) => ({
      id,
      turn: Math.max(0, turn),
      message,
      ...(origin ? { origin } : {}),
      ...(state.working.isPinned(id) ? { pinned: true as const } : {}),
    })),
  };
}

/** The source of a session that begins here. Without a branch or a worktree, the project of the stores says it all. */
function ownSource(id: string, { heldIn, project }: ServiceCore["options"]) {
  const held = heldIn?.();
  if (held === undefined || (held.branch === undefined && held.project === project)) {
    return undefined;
  }
  return { agent: OWN_AGENT, nativeId: id, ...held };
}
