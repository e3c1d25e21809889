import type { Stores } from "../../src/core/stores.ts";
import { createSessionService } from "../../src/index.ts";
import { Replay, type ReplayOptions } from "../../src/replay/replay.ts";
import type { ReplayReport } from "../../src/replay/replayed-session.ts";
import type { CompactionOptions } from "../../src/session/service-options.ts";
import { readTranscript } from "../../src/transcripts/read-transcript.ts";

interface ChatReplayOptions extends Pick<CompactionOptions, "summarizer" | "keepAnchors"> {
  readonly name?: string;
  readonly threshold?: number;
}

/** Replays chat JSON Lines into stores as `rkat replay` does, without a model. */
export async function replayChat(
  chat: Uint8Array,
  stores: Stores,
  options: ReplayOptions & ChatReplayOptions = {},
): Promise<ReplayReport> {
  const { name = "talk.jsonl", threshold = 4000, summarizer = "fallback", keepAnchors } = options;
  const replay = new Replay(await readTranscript([chat], name));
  const service = createSessionService({
    model: replay.model,
    tools: replay.tools,
    builtinTools: false,
    stores,
    knowledge: false,
    compaction: {
      autoCompactThreshold: threshold,
      summarizer,
      ...(keepAnchors === undefined ? {} : { keepAnchors }),
    },
  });
  return await replay.run(service, { memory: stores.memory, ...options });
}
