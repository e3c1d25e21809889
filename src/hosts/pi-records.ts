import { objectOf, textOf } from "../transcripts/json-fields.ts";
import type { AgentPrompt } from "./agent-prompt.ts";
import { ANSWER } from "./host-messages.ts";
import type { PiApi, PiContext, PiEntry, PiUsage } from "./pi-api.ts";
import type { PiMessage } from "./pi-messages.ts";

/** The type of the entries that keep records in a session. */
const RECORDS = "rkat-records";

interface KeptRecords {
  /** The time of the prompt that they stand before. */
  readonly before: number;
  readonly text: string;
}

/** Sends records of memory before the prompts that they are about, in each later request and after a restart too. */
export function recallIn(
  pi: PiApi,
  recall: (prompt: AgentPrompt) => Promise<string | undefined>,
): void {
  let found: string | undefined;
  pi.on(
    "before_agent_start",
    async ({ prompt }: { prompt: string }, { cwd: folder, sessionManager }: PiContext) => {
      const windowFrom = windowStart(sessionManager.getBranch());
      const sessionId = sessionManager.getSessionId();
      found = await recall({ sessionId, folder, prompt, windowFrom });
    },
  );
  pi.on("context", ({ messages }: { messages: PiMessage[] }, { sessionManager }: PiContext) => {
    const last = messages.findLast(({ role }) => role === "user");
    if (found !== undefined && last) {
      pi.appendEntry(RECORDS, {
        before: Number(last.timestamp),
        text: found,
      } satisfies KeptRecords);
    }
    found = undefined;
    const kept = recordsIn(sessionManager.getBranch());
    if (kept.size === 0) return undefined;
    return {
      messages: messages.flatMap((message) => {
        const text = message.role === "user" ? kept.get(Number(message.timestamp)) : undefined;
        return text === undefined ? [message] : [...recordMessages(text, message), message];
      }),
    };
  });
}

/** When the oldest message was said that the last compaction kept. */
function windowStart(entries: readonly PiEntry[]): string | undefined {
  const last = entries.findLast(({ type }) => type === "compaction");
  if (!last) return undefined;
  return (entries.find(({ id }) => id === last.firstKeptEntryId) ?? last).timestamp;
}

function recordsIn(entries: readonly PiEntry[]): ReadonlyMap<number, string> {
  return new Map(
    entries.flatMap(({ type, customType, data }) => {
      const { before, text } = objectOf(data);
      const isKept = type === "custom" && customType === RECORDS;
      return isKept && typeof before === "number" ? [[before, textOf(text)] as const] : [];
    }),
  );
}

/** Records, and an answer between them and the prompt: many local servers refuse two messages of the user in a row. */
function recordMessages(text: string, { timestamp }: PiMessage): readonly PiMessage[] {
  const answer = {
    ...{ role: "assistant", content: [{ type: "text", text: ANSWER }], stopReason: "stop" },
    ...{ api: "rkat", provider: "rkat", model: "rkat", usage: NO_USAGE },
  };
  return [
    { role: "user", content: [{ type: "text", text }], timestamp },
    { ...answer, timestamp },
  ];
}

const NO_USAGE: PiUsage = {
  ...{ input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 },
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};
