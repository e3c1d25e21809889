import type { Stores } from "../../src/core/stores.ts";
import { createSessionService } from "../../src/index.ts";
import { Replay, type ReplayOptions } from "../../src/replay/replay.ts";
import type { ReplayReport } from "../../src/replay/replay-report.ts";
import { readTranscript } from "../../src/transcripts/read-transcript.ts";

/** Replays chat JSON Lines into stores as `rkat replay` does, without a model. */
export async function replayChat(
  chat: Uint8Array,
  stores: Stores,
  options: ReplayOptions & { readonly name?: string; readonly threshold?: number } = {},
): Promise<ReplayReport> {
  const { name = "talk.jsonl", threshold = 4000 } = options;
  const replay = new Replay(await readTranscript([chat], name));
  const service = createSessionService({
    model: replay.model,
    tools: replay.tools,
    builtinTools: false,
    stores,
    knowledge: false,
    compaction: { autoCompactThreshold: threshold, summarizer: "fallback" },
  });
  return await replay.run(service, { memory: stores.memory, ...options });
}
