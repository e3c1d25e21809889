import type { LanguageModel, ModelChunk } from "../core/language-model.ts";
import type { Tool, ToolOutput } from "../core/tool.ts";
import { NO_USAGE } from "../core/usage.ts";
import type { RecordedAnswer } from "./join-results.ts";
import type { ReplayTurn } from "./replay-plan.ts";

/**
 * Replaces the recorded model: it gives the recorded answers in order, whatever it is
 * sent. After the last answer it gives empty ones.
 */
export class RecordingModel implements LanguageModel {
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
export function recordedTools(
  names: readonly string[],
  resultOf: (toolUseId: string) => ToolOutput | undefined,
): readonly Tool[] {
  return names.map((name) => ({
    definition: { name, description: "Recorded.", input_schema: { type: "object" } },
    execute: async (_args, { toolUseId }) =>
      resultOf(toolUseId) ?? { content: "The recording has no such call.", is_error: true },
  }));
}
