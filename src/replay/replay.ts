import { setImmediate } from "node:timers/promises";
import { SessionError } from "../core/errors.ts";
import type { EventEnvelope } from "../core/event.ts";
import type { LanguageModel, ModelChunk } from "../core/language-model.ts";
import type { MemoryStore } from "../core/memory-store.ts";
import type { CompactionSettings } from "../core/operations/request-fields.ts";
import type { StartTurn } from "../core/operations/turns.ts";
import type { SessionService } from "../core/session-service.ts";
import type { SessionState } from "../core/session-state.ts";
import type { Tool, ToolOutput } from "../core/tool.ts";
import { NO_USAGE } from "../core/usage.ts";
import type { Recording } from "../transcripts/imported.ts";
import {
  planReplay,
  type RecordedAnswer,
  type ReplayPlan,
  type ReplayTurn,
} from "./replay-plan.ts";
import {
  ReplayedSession,
  type ReplayReport,
  type WitnessedCompaction,
} from "./replayed-session.ts";

export interface ReplayOptions {
  /** The service's memory. Its entries are counted at the end. */
  readonly memory?: Pick<MemoryStore, "stats">;
  readonly compaction?: CompactionSettings;
  readonly labels?: Readonly<Record<string, string>>;
  /** Stops the replay. The session keeps the replayed turns. */
  readonly signal?: AbortSignal;
  readonly watch?: ReplayWatcher;
}

/** Callbacks during a replay. */
export interface ReplayWatcher {
  onEvent?(event: EventEnvelope): void;
  onCompaction?(compaction: WitnessedCompaction): void;
  /** Called after each turn. The recording has `turns` of them. */
  onTurn?(session: SessionState, turns: number): void | Promise<void>;
}

/**
 * Replays a recorded conversation through a session service: the loop, compaction,
 * stores and memory are real, and the recording replaces the model and the tools.
 */
export class Replay {
  /** It only has the recorded answers, so summaries need another model. */
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
   * Replays into a new session of a service that was made with this model and these
   * tools. Then it closes the service, so that memory has everything.
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

  /** Returns true when it was stopped before the end. */
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
      // Nothing in a replay waits for I/O, so without this Ctrl-C would have no effect.
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
    // One more than the answers, for recordings that end with tool results.
    budget: { maxModelCalls: answers.length + 1 },
    // Always set, so that no rule is made from a recorded prompt.
    origin,
  };
}

/**
 * Replaces the recorded model: it gives the recorded answers in order, whatever it is
 * sent. After the last answer it gives empty ones.
 */
class RecordingModel implements LanguageModel {
  readonly id: string;
  #answers: readonly RecordedAnswer[] = [];
  #given = 0;

  constructor(recordingName: string) {
    this.id = `recording/${recordingName}`;
  }

  /** Starts with the answers of this turn. */
  begin(turn: ReplayTurn): void {
    this.#answers = turn.answers;
    this.#given = 0;
  }

  async *stream(): AsyncGenerator<ModelChunk> {
    const answer = this.#answers[this.#given];
    this.#given += 1;
    for (const block of answer?.message.blocks ?? []) yield { type: "block", block };
    yield {
      type: "finish",
      stopReason: answer?.message.stop_reason ?? "end_turn",
      usage: NO_USAGE,
      ...(answer?.origin ? { origin: answer.origin } : {}),
    };
  }

  /** The recorded result of a call in the last answer. */
  resultOf(toolUseId: string): ToolOutput | undefined {
    return this.#answers[this.#given - 1]?.results.get(toolUseId);
  }
}

/** Tools that return the recorded results. */
function recordedTools(
  names: readonly string[],
  resultOf: (toolUseId: string) => ToolOutput | undefined,
): readonly Tool[] {
  return names.map((name) => ({
    definition: { name, description: "Recorded.", input_schema: { type: "object" } },
    execute: async (_args, { toolUseId }) =>
      resultOf(toolUseId) ?? { content: "The recording has no such call.", is_error: true },
  }));
}
