import { setImmediate } from "node:timers/promises";
import { SessionError } from "../core/errors.ts";
import type { EventEnvelope } from "../core/event.ts";
import type { LanguageModel } from "../core/language-model.ts";
import type { MemoryStore } from "../core/memory-store.ts";
import type { CompactionSettings, StartTurn } from "../core/requests.ts";
import type { SessionService } from "../core/session-service.ts";
import type { SessionState } from "../core/session-state.ts";
import type { Tool } from "../core/tool.ts";
import type { Recording } from "../transcripts/recording.ts";
import { recordedTools } from "./recorded-tools.ts";
import { RecordingModel } from "./recording-model.ts";
import { planReplay, type ReplayPlan, type ReplayTurn } from "./replay-plan.ts";
import type { ReplayReport } from "./replay-report.ts";
import { ReplayedSession, type WitnessedCompaction } from "./replayed-session.ts";

export interface ReplayOptions {
  /** Where the service's memory goes; counted when all is done. */
  readonly memory?: Pick<MemoryStore, "stats">;
  readonly compaction?: CompactionSettings;
  readonly labels?: Readonly<Record<string, string>>;
  /** Stops the replay; the session keeps what was replayed. */
  readonly signal?: AbortSignal;
  readonly watch?: ReplayWatcher;
}

/** Who looks on while a recording is replayed. */
export interface ReplayWatcher {
  onEvent?(event: EventEnvelope): void;
  onCompaction?(compaction: WitnessedCompaction): void;
  /** A turn is over, of `turns` that the recording has. */
  onTurn?(session: SessionState, turns: number): void | Promise<void>;
}

/**
 * A recorded conversation, about to go through a session service once more:
 * the real loop, compaction, stores and memory, with the recording in the place
 * of the model and of the tools.
 */
export class Replay {
  /** Has only the recorded answers to give: summaries must come from somewhere else. */
  readonly model: LanguageModel;
  readonly tools: readonly Tool[];
  readonly #recording: Recording;
  readonly #plan: ReplayPlan;
  readonly #model: RecordingModel;

  constructor(recording: Recording) {
    this.#recording = recording;
    this.#plan = planReplay(recording);
    this.#model = new RecordingModel(recording.name);
    this.model = this.#model;
    this.tools = recordedTools(this.#plan.toolNames, (id) => this.#model.resultOf(id));
  }

  /**
   * Replays into a new session of a service that was made with this model and
   * these tools, and closes the service: what left the history is in memory then.
   */
  async run(service: SessionService, options: ReplayOptions = {}): Promise<ReplayReport> {
    const startedAt = performance.now();
    let session: ReplayedSession;
    let interrupted: boolean;
    try {
      session = await this.#createSession(service, options);
      interrupted = await this.#replayTurns(service, session, options);
    } finally {
      await service.close();
    }
    const indexed = await options.memory?.stats({ sessionId: session.state.id });
    return {
      file: this.#recording.name,
      ...session.report(),
      indexed_messages: indexed?.entries ?? 0,
      duration_ms: Math.round(performance.now() - startedAt),
      interrupted,
    };
  }

  async #createSession(
    service: SessionService,
    { compaction, labels, watch }: ReplayOptions,
  ): Promise<ReplayedSession> {
    const { sessionId } = await service.createSession({
      messages: [...this.#plan.seed],
      ...(compaction ? { compaction } : {}),
      ...(labels ? { labels } : {}),
    });
    const session = new ReplayedSession(sessionId);
    const { seq } = await service.read({ sessionId });
    for await (const event of service.subscribe({ sessionId, afterSeq: 0 })) {
      watch?.onEvent?.(event);
      session.take(event);
      if (event.seq === seq) break;
    }
    return session;
  }

  /** Returns whether it was stopped before the end. */
  async #replayTurns(
    service: SessionService,
    session: ReplayedSession,
    { signal, watch }: ReplayOptions,
  ): Promise<boolean> {
    const { turns } = this.#plan;
    const onEvent = (event: EventEnvelope) => {
      watch?.onEvent?.(event);
      const compaction = session.take(event);
      if (compaction) watch?.onCompaction?.(compaction);
    };
    for (const turn of turns) {
      this.#model.begin(turn);
      try {
        const request = requestOf(turn, session.state.id);
        await service.startTurn(request, { onEvent, ...(signal ? { signal } : {}) });
      } catch (error) {
        if (SessionError.is(error) && error.code === "TURN_INTERRUPTED") return true;
        throw error;
      }
      await watch?.onTurn?.(session.state, turns.length);
      // A recording and a store in this thread never wait: without this, Ctrl-C would not be heard.
      await setImmediate();
    }
    return false;
  }
}

function requestOf(
  { prompt, context, answers, origin = {} }: ReplayTurn,
  sessionId: string,
): StartTurn {
  return {
    sessionId,
    prompt,
    context: [...context],
    // One call more than there are answers, for results of tools that nobody answered.
    budget: { maxModelCalls: answers.length + 1 },
    // Said elsewhere, whether or not the recording knows by whom and when: no rule comes of it here.
    origin,
  };
}
