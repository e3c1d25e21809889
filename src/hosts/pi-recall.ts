import { compactionThreshold } from "../compaction/default-compactor.ts";
import { estimateTokens } from "../core/tokens.ts";
import { objectOf, textOf } from "../transcripts/json-fields.ts";
import type { AgentPrompt, PromptRecords, WindowSize } from "./host-messages.ts";
import type { PiApi, PiContext, PiEntry, PiMessage } from "./pi-api.ts";
import { answerMessage, userMessage } from "./pi-messages.ts";

/** The type of the entries that keep records in a session. */
const RECORDS = "rkat-records";

interface PiCompaction {
  readonly preparation: { readonly settings: { readonly reserveTokens: number } };
}

interface KeptRecords {
  /** The time of the prompt that they stand before. */
  readonly before: number;
  readonly text: string;
  /** Those of earlier prompts have left. Older versions of rkat do not say it. */
  readonly replaces?: boolean;
}

/**
 * Sends records of memory before the prompts that they are about, in each later request and after a restart too. pi counts
 * them only once they were sent. So they take a part of the window, and leave where those of a later prompt need their room
 * and at the next compaction, but for those of a request that is being worked on.
 */
export function recallIn(
  pi: PiApi,
  recall: (prompt: AgentPrompt, context: PiContext) => Promise<PromptRecords | undefined>,
): void {
  let found: PromptRecords | undefined;
  /** Tokens that pi leaves free, known from its first compaction on. */
  let reserved = 0;
  pi.on("session_before_compact", ({ preparation: { settings } }: PiCompaction) => {
    reserved = settings.reserveTokens;
  });
  pi.on("before_agent_start", async ({ prompt }: { prompt: string }, context: PiContext) => {
    const { cwd: folder, sessionManager } = context;
    const windowFrom = windowStart(sessionManager.getBranch());
    const sessionId = sessionManager.getSessionId();
    const window = sizeOf(context, reserved);
    found = await recall({ sessionId, folder, prompt, windowFrom, window }, context);
  });
  pi.on("context", ({ messages }: { messages: PiMessage[] }, { sessionManager }: PiContext) => {
    const last = messages.findLast(({ role }) => role === "user");
    if (found !== undefined && last) {
      const before = Number(last.timestamp);
      pi.appendEntry(RECORDS, { before, ...found } satisfies KeptRecords);
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

/** Whether a request of this session has had records. */
export function isToldRecords({ sessionManager }: PiContext): boolean {
  return sessionManager.getBranch().some(({ customType }) => customType === RECORDS);
}

function sizeOf(context: PiContext, reserved: number): WindowSize | undefined {
  const { model, sessionManager } = context;
  if (!model) return undefined;
  const { contextWindow } = model;
  const threshold = Math.min(compactionThreshold(contextWindow), contextWindow - reserved);
  const texts = [...recordsIn(sessionManager.getBranch()).values()];
  const recalled = estimateTokens(texts.map((content) => ({ role: "user", content })));
  return { threshold, recalled, used: context.getContextUsage?.()?.tokens ?? recalled };
}

/** When the oldest message was said that the last compaction kept. */
function windowStart(entries: readonly PiEntry[]): string | undefined {
  const last = entries.findLast(({ type }) => type === "compaction");
  if (!last) return undefined;
  return (entries.find(({ id }) => id === last.firstKeptEntryId) ?? last).timestamp;
}

/** The records that are sent, by the time of the prompt that they stand before. */
function recordsIn(entries: readonly PiEntry[]): ReadonlyMap<number, string> {
  const cut = entries.findLastIndex(({ type }) => type === "compaction");
  const request = workedOnAt(entries.slice(0, Math.max(0, cut)));
  const kept = entries.flatMap(({ type, customType, data }, at) => {
    const { before, text, replaces } = objectOf(data);
    if (type !== "custom" || customType !== RECORDS || typeof before !== "number") return [];
    if (at < cut && before !== request) return [];
    return [{ before, text: textOf(text), replaces: replaces === true }];
  });
  const from = Math.max(
    0,
    kept.findLastIndex(({ replaces }) => replaces),
  );
  return new Map(kept.slice(from).map(({ before, text }) => [before, text]));
}

/** The time of the last prompt, if it has no final answer yet. */
function workedOnAt(entries: readonly PiEntry[]): unknown {
  const messages = entries.flatMap(({ message }) => message ?? []);
  const last = messages.at(-1);
  if (last?.role === "assistant" && last.stopReason === "stop") return undefined;
  return messages.findLast(({ role }) => role === "user")?.timestamp;
}

/** Records, and an answer between them and the prompt: many local servers refuse two messages of the user in a row. */
function recordMessages(text: string, { timestamp }: PiMessage): readonly PiMessage[] {
  return [userMessage(text, timestamp), answerMessage(timestamp)];
}
