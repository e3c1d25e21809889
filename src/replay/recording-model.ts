import type { LanguageModel, ModelChunk } from "../core/language-model.ts";
import type { ToolOutput } from "../core/tool.ts";
import { NO_USAGE } from "../core/usage.ts";
import type { RecordedAnswer } from "./join-results.ts";
import type { ReplayTurn } from "./replay-plan.ts";

/**
 * Answers in the place of the model that was recorded: whatever it is sent, it
 * says what was said. Where the recording says nothing, it says nothing.
 */
export class RecordingModel implements LanguageModel {
  readonly id: string;
  #answers: readonly RecordedAnswer[] = [];
  #said = 0;

  constructor(recordingName: string) {
    this.id = `recording/${recordingName}`;
  }

  /** Says the answers of this turn from now on. */
  begin(turn: ReplayTurn): void {
    this.#answers = turn.answers;
    this.#said = 0;
  }

  async *stream(): AsyncGenerator<ModelChunk> {
    const answer = this.#answers[this.#said];
    this.#said += 1;
    for (const block of answer?.message.blocks ?? []) yield { type: "block", block };
    yield {
      type: "finish",
      stopReason: answer?.message.stop_reason ?? "end_turn",
      usage: NO_USAGE,
      ...(answer?.origin ? { origin: answer.origin } : {}),
    };
  }

  /** What a call of the answer that was said last came to. */
  resultOf(toolUseId: string): ToolOutput | undefined {
    return this.#answers[this.#said - 1]?.results.get(toolUseId);
  }
}
