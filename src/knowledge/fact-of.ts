import type { NewKnowledge } from "../core/knowledge.ts";
import { FORGOTTEN, isRecall } from "../core/message.ts";
import { redactSecrets } from "../secrets/redact-secrets.ts";
import { hashOf } from "./hash-of.ts";
import { isTrivial } from "./is-trivial.ts";
import { likenessOf } from "./near-text.ts";
import { oneLine } from "./one-line.ts";
import { withoutVolatile } from "./without-volatile.ts";

/** Characters of a result that becomes a fact. */
const RESULT = { min: 10, max: 5000 } as const;
const ARGS_MAX = 200;

/** Tools of rkat whose results are stored elsewhere, or are soon out of date. */
const NOT_RECORDED: ReadonlySet<string> = new Set(["datetime", "update_task"]);

export interface ToolSuccess {
  readonly name: string;
  /** `undefined` when the call was not found. */
  readonly args: unknown;
  readonly result: string;
  readonly sessionId: string;
  /** `seq` of the result. */
  readonly seq: number;
  /** Place of the result in a message with several. Missing when it has an event of its own. */
  readonly index?: number;
  /** ISO 8601. */
  readonly time: string;
}

/** The fact, or why there is none. */
export type FactOf =
  | { readonly fact: NewKnowledge }
  | { readonly dropped: "not recorded" | "too short" | "too long" | "trivial" | "forgotten" };

/**
 * The fact for a successful tool result of 10 to 5 000 characters.
 *
 * Results with the same text are the same fact, whatever the call. Results of the same call are the
 * same fact when they differ only in numbers, times and ids, or very little.
 */
export function factOf({ name, args, result, sessionId, seq, index, time }: ToolSuccess): FactOf {
  if (isRecall(name) || NOT_RECORDED.has(name)) return { dropped: "not recorded" };
  if (result.includes(FORGOTTEN)) return { dropped: "forgotten" };
  const text = result.trim();
  // A character takes at most two units, so more of them say nothing more.
  const { length } = [...text.slice(0, 2 * RESULT.max + 1)];
  if (length < RESULT.min) return { dropped: "too short" };
  if (length > RESULT.max) return { dropped: "too long" };
  if (isTrivial(text)) return { dropped: "trivial" };
  const content = redactSecrets(text);
  const call = hashOf("call", name, args ?? null);
  const likeness = likenessOf(content, call);
  return {
    fact: {
      id: `fact:${sessionId}:${seq}${index === undefined ? "" : `:${index}`}`,
      kind: "fact",
      content: `Tool '${name}' result: ${content}`,
      tags: ["tool_result", name],
      origin: "tool",
      sessionId,
      source: { from: seq, to: seq },
      time,
      tool: name,
      ...(args === undefined ? {} : { args: oneLine(JSON.stringify(args) ?? "", ARGS_MAX) }),
      keys: [hashOf("fact", name, content), hashOf("fact", call, withoutVolatile(content))],
      ...(likeness ? { likeness } : {}),
    },
  };
}
