import type { MemoryRecalled } from "../core/event.ts";

/** Tokens that recalled records take before a prompt when nothing else is said. Measured with `npm run bench -- coherence`. */
export const RECALL_TOKENS_DEFAULT = 1_500;

/**
 * Recalled records take at most this part of the threshold, those of all prompts since the last compaction together. With a third
 * for all of them, requests in which those of two prompts stood were longer, and had no more of the answers.
 */
const RECALLED_PART = 1 / 4;

/** Records make a request longer by at most this part of what is free. The rest is for the answer and the next prompts. */
const FREE_PART = 2 / 3;

/**
 * A summary and the room for records take at most this part of the threshold together. With seven tenths, requests of long talks
 * in which people's words fill the summary were up to a tenth longer, and had fewer of the answers.
 */
const SUMMARY_AND_RECORDS_PART = 4 / 5;

/** Tokens that records of memory may take before a prompt. */
export interface RecallRoom {
  /** The tokens left beside the records of earlier prompts. */
  readonly beside: number;
  /** In their place. */
  readonly instead: number;
  /** Those of earlier prompts have to leave: with them the request is above the threshold. */
  readonly isOver?: true;
}

/** The records of earlier prompts leave, and none come in their place. */
export const NO_RECORDS = {
  type: "memory_recalled",
  records: [],
  tokens: 0,
  replaces: true,
} as const satisfies MemoryRecalled;

/** The room for records before a prompt, in which no compaction is due because of them. */
export function recallRoom({
  threshold,
  expected,
  recalled,
  freed = Infinity,
}: {
  readonly threshold: number;
  /** Tokens of the request, with those of earlier records. */
  readonly expected: number;
  /** Tokens of earlier records. */
  readonly recalled: number;
  /** Tokens that a compaction has just freed. Records take at most half of them, so that the request is smaller than before. */
  readonly freed?: number;
}): RecallRoom {
  const free = threshold - expected;
  const isOver = recalled > 0 && free < 0;
  const most = RECALLED_PART * threshold;
  const least = (...limits: readonly number[]) => Math.floor(Math.min(freed / 2, ...limits));
  return {
    beside: least(most - recalled, FREE_PART * free),
    instead: least(most, isOver ? FREE_PART * (free + recalled) : FREE_PART * free + recalled),
    ...(isOver ? { isOver } : {}),
  };
}

/**
 * The records for a prompt: beside those of earlier prompts, or in their place where they have no room. Those that leave
 * may be chosen again: the new prompt is often about the same thing.
 *
 *     shown  A1 A2       for "A and B": B1 B2 B3 have room        shown  A1 A2 B1 B2 B3
 *                                       they have none            shown  A1 A2 B1
 */
export async function recallWithin(
  { beside, instead, isOver }: RecallRoom,
  recallTokens: number,
  choose: (tokensMax: number, leaving?: "shown leave") => Promise<MemoryRecalled | undefined>,
): Promise<MemoryRecalled | undefined> {
  const tokensMax = Math.min(recallTokens, Math.max(beside, instead));
  if (tokensMax <= 0) return undefined;
  const found = isOver ? undefined : await choose(tokensMax);
  if (!isOver && (!found || found.tokens <= beside)) return found;
  const all = await choose(Math.min(recallTokens, instead), "shown leave");
  return all && { ...all, replaces: true };
}

/**
 * Tokens that a compaction leaves free, so that records have room before the next prompt. A summary with
 * many words of people is worth more than they are: it takes from this room.
 */
export function reservedForRecords({
  threshold,
  recallTokens,
  summaryTokens,
}: {
  readonly threshold: number;
  readonly recallTokens: number;
  readonly summaryTokens: number;
}): number {
  const free = SUMMARY_AND_RECORDS_PART * threshold - summaryTokens;
  return Math.max(0, Math.floor(Math.min(recallTokens, RECALLED_PART * threshold, free)));
}
