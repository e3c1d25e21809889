import { compactHistory, type Summarize } from "../compaction/compact-history.ts";
import type { HistoryCompaction } from "../compaction/compact-history-options.ts";
import { cutMiddle, textSize } from "../compaction/cut-text.ts";
import { keepAnchors } from "../compaction/keep-anchors.ts";
import type { AnchorReport } from "../core/event.ts";
import { contentText, isSummary, type Message } from "../core/message.ts";
import { heldAfter } from "../knowledge/lasting-wishes.ts";
import { redactMessage } from "../secrets/redact-message.ts";
import { redactSecrets } from "../secrets/redact-secrets.ts";

/** The messages that a host takes out of its window, where the host alone chooses them. */
export interface Leaving extends Omit<HistoryCompaction, "compactor"> {
  /** From the oldest on. The summary of the compaction before, if there is one, is the first. */
  readonly leaving: readonly Message[];
  /** The messages that the window still has after them. The summary need not say them. */
  readonly staying: readonly Message[];
  /** All texts that the user typed before the messages that stay, from the oldest on. */
  readonly typed: readonly string[];
  readonly summarize: Summarize;
  readonly contextWindow: number;
  /** Extra instructions for the summary, besides the prompt. */
  readonly instructions?: string;
  readonly signal?: AbortSignal;
}

/** The user's words that a summary has as they were. */
export interface Quoted {
  /** Standing instructions, such as "Never use the network." */
  readonly instructions: readonly string[];
  /** The request that is being worked on, if the window no longer has it. */
  readonly request?: string;
}

/** The summary with the names that it lost and the user's words, and what became of all of them. */
export interface LeavingSummary {
  readonly text: string;
  readonly report: SummaryReport;
}

export interface SummaryReport {
  readonly summarizedBy: "model" | "fallback" | "none";
  /** The score of the summary, from 0 to 1. */
  readonly score?: number;
  /** The new places of the paths, names and numbers of the messages that left. */
  readonly anchors?: AnchorReport;
  readonly quoted: Quoted;
}

/**
 * Writes what stands for messages that leave. It undoes nothing that the host decided:
 *
 *     left:  summary  U A T A T │ stays:  A T A      the turn is cut: the summary quotes its request
 *
 * Returns nothing when no summary could be written. The host then compacts as it always did.
 *
 * @throws SessionError `INVALID_PARAMS`
 * @throws the reason of `signal` when it aborts
 */
export async function summarizeLeaving(options: Leaving): Promise<LeavingSummary | undefined> {
  const { leaving, staying, typed, ...compaction } = options;
  const quoted = quotesOf(options);
  // The request stands where it stood, so that all that leaves is summarised.
  const request: readonly Message[] =
    quoted.request === undefined ? [] : [{ role: "user", content: quoted.request }];
  const left = leaving.flatMap((message) => withEarlierRequest(message, quoted.request));
  const said =
    request.length > 0 ? left.findLastIndex((message) => isRequestOf(message, typed)) : -1;
  const messages = [...(said < 0 ? left : left.toSpliced(said, 1)), ...request, ...staying];
  const begins = messages.length - request.length - staying.length;
  const result = await compactHistory({
    ...compaction,
    messages,
    pins: messages.flatMap((_, index) => (index < begins ? [] : [index])),
    recentTurnBudget: 0,
    targetTokens: compaction.contextWindow,
    outgrown: false,
    force: true,
  });
  if (result.outcome !== "compacted" || !result.summary) return undefined;
  const { summary, summarizedBy, score, anchors } = result;
  return {
    text: summary + quotesSection(quoted),
    report: {
      summarizedBy,
      ...(score === undefined ? {} : { score }),
      ...(anchors ? { anchors } : {}),
      quoted,
    },
  };
}

/** Whether a message is the last that the user typed. The summary quotes it, so it is not said there once more. */
function isRequestOf(message: Message, typed: readonly string[]): boolean {
  return (
    message.role === "user" && !isSummary(message) && contentText(message.content) === typed.at(-1)
  );
}

/** Adds the lost facts to a summary that the host's own model wrote, within a limit of bytes. */
export function completeSummary(
  summary: string,
  { leaving, staying, typed }: Pick<Leaving, "leaving" | "staying" | "typed">,
  bytesMax: number,
): LeavingSummary {
  const discarded = leaving.map((message) => redactMessage(withoutQuotes(message)));
  const { text, report } = keepAnchors(summary, { discarded, retained: staying }, bytesMax);
  const quoted = quotesOf({ typed, staying, contextWindow: bytesMax });
  return {
    text: text + quotesSection(quoted),
    report: { summarizedBy: "model", anchors: report, quoted },
  };
}

/** The part of a window that the quoted words may take, of each kind. */
const QUOTES_PART = 1 / 10;
const QUOTES_BYTES_MAX = 8_000;

function quotesOf({
  typed,
  staying,
  contextWindow,
}: Pick<Leaving, "typed" | "staying" | "contextWindow">): Quoted {
  const bytesMax = quotesMax(contextWindow);
  const held = heldAfter(typed.map((text) => ({ text })));
  const instructions: string[] = [];
  let room = bytesMax;
  for (const instruction of held.map(({ text }) => redactSecrets(text)).reverse()) {
    room -= textSize(instruction);
    if (room < 0) break;
    instructions.unshift(instruction);
  }
  const isMidTurn = staying[0]?.role !== "user";
  const request = isMidTurn ? typed.at(-1) : undefined;
  return {
    instructions,
    ...(request === undefined ? {} : { request: cutMiddle(redactSecrets(request), bytesMax) }),
  };
}

function quotesMax(contextWindow: number): number {
  return Math.min(QUOTES_BYTES_MAX, Math.floor(4 * contextWindow * QUOTES_PART));
}

/** Whether a summary quotes a request to its last letter. */
export function isQuotedWhole(request: string, contextWindow: number): boolean {
  return textSize(request) <= quotesMax(contextWindow) && redactSecrets(request) === request;
}

const INSTRUCTIONS = "Standing instructions of the user, word for word:";
const REQUEST = "The user's request that is being worked on, word for word:";

function quotesSection({ instructions, request }: Quoted): string {
  const lines = instructions.map((instruction) => `\n- ${instruction}`);
  return [
    instructions.length > 0 ? `\n\n${INSTRUCTIONS}${lines.join("")}` : "",
    request === undefined ? "" : `\n\n${REQUEST}\n${request}`,
  ].join("");
}

/** An earlier summary without its quotes, which get below the next one again. */
export function withoutQuotes(message: Message): Message {
  if (!isSummary(message) || message.role !== "user" || typeof message.content !== "string") {
    return message;
  }
  const [summary = ""] = message.content.split(QUOTES);
  return { ...message, content: summary };
}

/** An earlier summary without its quotes, and the request that it quoted where another is being worked on now. */
function withEarlierRequest(message: Message, now: string | undefined): readonly Message[] {
  const text = message.role === "user" && isSummary(message) ? contentText(message.content) : "";
  const [, request = now] = text.split(`\n\n${REQUEST}\n`);
  const own = withoutQuotes(message);
  return request === undefined || request === now
    ? [own]
    : [own, { role: "user", content: request }];
}

const QUOTES = new RegExp(`\\n\\n(?:${INSTRUCTIONS}|${REQUEST})\\n`);
