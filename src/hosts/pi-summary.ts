import type { Summarize } from "../compaction/compact-history.ts";
import { hasSecret } from "../compaction/write-summary.ts";
import { isObject } from "../core/fields.ts";
import type { PiAnswer, PiApi, PiContext, PiEntry, PiMessage, PiModel, PiUsage } from "./pi-api.ts";
import { answerMessage, fromPiMessages, textOfAnswer, userMessage } from "./pi-messages.ts";
import {
  type AskedProvider,
  type Counted,
  isMet,
  summaryByProvider,
  WithoutAnswer,
} from "./provider-summary.ts";

/** A request to the model, as pi sent it. */
interface LastRequest {
  readonly model: string;
  /** The newest entry of the session at that time. */
  readonly entryId: string | undefined;
  readonly messages: readonly PiMessage[];
  /** In the words of the provider's API. */
  readonly payload: unknown;
}

/** What leaves: the entries of the session before `kept`. */
interface Cut {
  readonly entries: readonly PiEntry[];
  readonly kept: number;
  readonly model: PiModel;
  /** Asks the model. */
  readonly ask: (messages: readonly PiMessage[], options: object) => Promise<PiAnswer>;
}

/**
 * Asks for summaries at the end of the session's last request, which the provider has in its cache, where that costs less than
 * a request of its own:
 *
 *     last request:  S U A T A T │ then: A T      asked: S U A T A T, "Noted.", the prompt for a summary
 */
export function continuedSummaries(pi: PiApi): (own: Summarize, cut: Cut) => Summarize {
  let sending: Omit<LastRequest, "payload"> | undefined;
  let last: LastRequest | undefined;
  const without = new WithoutAnswer();
  pi.on(
    "context_with_system",
    (
      { messages }: { messages: readonly PiMessage[] },
      { model, sessionManager }: Pick<PiContext, "model" | "sessionManager">,
    ) => {
      const entryId = sessionManager.getBranch().at(-1)?.id;
      sending = model && { model: nameOf(model), entryId, messages };
    },
  );
  // pi also sends requests that only keep a cache warm.
  pi.on("before_provider_request", ({ payload }: { payload: unknown }) => {
    if (sending) last = { ...sending, payload };
    sending = undefined;
  });
  pi.on("session_compact", () => {
    last = undefined;
  });
  return (own, cut) => {
    const counted = last && countedOf(last, cut);
    if (!last || !counted) return own;
    const { tokens } = counted;
    const sent = () => ({ messages: [], tokens, room: cut.model.contextWindow - tokens });
    const asked = askedAfter(last, counted, cut, without);
    const summarize = summaryByProvider(asked, own, without);
    return (request) => summarize({ ...request, sent });
  };
}

/** The provider's count of a request that has all that leaves, if it is one that may be sent again. */
function countedOf(
  { model, entryId, messages }: LastRequest,
  cut: Pick<Cut, "entries" | "kept" | "model">,
): Counted | undefined {
  const at = cut.entries.findIndex(({ id }) => id === entryId);
  if (at < 0 || cut.kept > at + 1 || model !== nameOf(cut.model)) return undefined;
  const later = cut.entries.slice(at + 1);
  if (later.some(({ type }) => type === "context_edit")) return undefined;
  if (fromPiMessages(messages).some(hasSecret)) return undefined;
  const answer = later.find(({ message }) => message?.role === "assistant");
  if (!answer?.message) return undefined;
  const { usage, timestamp } = answer.message;
  if (!isObject(usage)) return undefined;
  const cached = cachedIn(usage as PiUsage);
  const tokens = Number(usage.input) + cached;
  return tokens > 0 ? { tokens, cached, atMs: Number(timestamp) } : undefined;
}

function askedAfter(
  { model: id, payload }: LastRequest,
  counted: Counted,
  { model, ask }: Cut,
  without: WithoutAnswer,
): AskedProvider {
  const { input, cacheRead, cacheWrite } = model.cost;
  return {
    model: id,
    counted,
    sends: "closing",
    // pi has 0 where it knows no price.
    ...(input > 0 && cacheRead > 0
      ? { cache: { read: cacheRead / input, byItself: cacheWrite === 0 && cacheRead < input } }
      : {}),
    async ask({ closing, signal }) {
      const answer = await ask(endWith(closing), {
        ...{ signal, cacheRetention: "none" },
        onPayload: (end: unknown) => joined(payload, end),
      });
      if (answer.stopReason === "toolUse") return undefined;
      const text = textOfAnswer(answer);
      if (!isMet(cachedIn(answer.usage), { counted })) without.add(id);
      return text.trim() || undefined;
    },
  };
}

/** Where a provider's API has the messages of a request. */
const LISTS = ["messages", "input", "contents"] as const;

/** A request with the messages of another one at its end. */
function joined(payload: unknown, end: unknown): object {
  if (isObject(payload) && isObject(end)) {
    for (const name of LISTS) {
      const [begins, ends] = [payload[name], end[name]];
      if (Array.isArray(begins) && Array.isArray(ends)) {
        return { ...payload, [name]: [...begins, ...ends] };
      }
    }
  }
  throw new Error("rkat does not know where this provider's requests have their messages.");
}

/** The prompt after an answer: templates of many local servers refuse a user message after another, or after results. */
function endWith(closing: string): readonly PiMessage[] {
  return [answerMessage(Date.now()), userMessage(closing, Date.now())];
}

function cachedIn({ cacheRead = 0, cacheWrite = 0 }: PiUsage): number {
  return Number(cacheRead) + Number(cacheWrite);
}

function nameOf({ provider, id }: PiModel): string {
  return `${provider}/${id}`;
}
