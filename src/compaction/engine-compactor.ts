import type {
  CompactionResult,
  Compactor,
  EngineCompactor,
  RebuildConstraints,
} from "../core/compactor.ts";
import { SessionError } from "../core/errors.ts";
import { jsonText } from "../core/json-values.ts";
import { contentText, type Message, SUMMARY_PREFIX } from "../core/message.ts";
import { applyPlan } from "./apply-plan.ts";
import { measureHistory } from "./measure-history.ts";
import {
  fixedGroups,
  type RebuildPlan,
  summaryPrice,
  USEFUL_SUMMARY_BYTES,
} from "./plan-rebuild.ts";

const METHODS = [
  "shouldCompact",
  "compactionPrompt",
  "maxSummaryTokens",
  "rebuildHistory",
] as const;

/** @throws SessionError `INVALID_PARAMS` that names the missing method. */
function requireCompactor(given: unknown): void {
  const compactor = (typeof given === "object" && given !== null ? given : {}) as Record<
    string,
    unknown
  >;
  const missing = METHODS.filter((name) => typeof compactor[name] !== "function");
  if (missing.length === 0) return;
  throw new SessionError("INVALID_PARAMS", {
    message: `compactor lacks ${missing.map((name) => `${name}()`).join(", ")}.`,
    hint: `A compactor is an object with the methods ${METHODS.join(", ")}.`,
  });
}

/**
 * A caller's compactor with everything that the engine asks for. `own` has the settings, and
 * rebuilds where a provider refused anything larger.
 *
 * @throws SessionError `INVALID_PARAMS`
 */
export function engineCompactor(
  given: Compactor | EngineCompactor,
  own: EngineCompactor,
): EngineCompactor {
  requireCompactor(given);
  if ("config" in given) return given;
  return {
    config: own.config,
    ignoresTarget: true,
    shouldCompact: (context) => given.shouldCompact(context),
    compactionPrompt: () => given.compactionPrompt(),
    maxSummaryTokens: () => given.maxSummaryTokens(),
    rebuildHistory(messages, summary, constraints = {}) {
      if (constraints.bare) return own.rebuildHistory(messages, summary, constraints);
      const { plan, text } = planOf(messages, given.rebuildHistory(messages, summary), constraints);
      const bytesMax = Math.min(plan.summaryBytesMax, 4 * given.maxSummaryTokens());
      return applyPlan(messages, { ...plan, summaryBytesMax: bytesMax }, text ?? summary);
    },
  };
}

/** The plan that makes a rebuilt history of the specification, and the text of its summary. */
function planOf(
  source: readonly Message[],
  { messages, discarded }: CompactionResult,
  constraints: RebuildConstraints,
): { readonly plan: RebuildPlan; readonly text: string | undefined } {
  if (!Array.isArray(messages)) throw new Error("rebuildHistory() returned no `messages`.");
  if (!Array.isArray(discarded)) throw new Error("rebuildHistory() returned no `discarded`.");
  const left = positionsOf(discarded, source);
  const inserted = insertedInto(
    messages,
    source.filter((_, index) => !left.has(index)),
  );
  const measured = measureHistory(source, constraints);
  const fixed = fixedGroups(measured, constraints.pinned);
  const discardedAt = [...left].filter((index) => {
    const group = measured.groupOf[index] ?? -1;
    const isSystem = source[index]?.role === "system";
    return !fixed.has(group) && (!isSystem || group >= 0);
  });
  const price = Math.floor(summaryPrice(measured, discardedAt, [], constraints.wordsTokens));
  // Without room for a summary, a turn would be lost without a trace.
  const plan =
    price < USEFUL_SUMMARY_BYTES
      ? { discardedAt: [], shortened: [], summaryBytesMax: 0 }
      : { discardedAt, shortened: [], summaryBytesMax: price };
  return { plan, text: inserted && textOf(inserted) };
}

/**
 * The positions of the discarded messages, ascending. A copy of a message counts as the message; of several that say the
 * same, the one that was discarded itself is meant.
 */
function positionsOf(
  discarded: readonly Message[],
  source: readonly Message[],
): ReadonlySet<number> {
  const positions = new Set<number>();
  const known = new Set(source);
  let from = 0;
  for (const message of discarded) {
    const own = known.has(message) ? source.indexOf(message, from) : -1;
    const at =
      own >= 0 ? own : source.findIndex((each, index) => index >= from && isSame(each, message));
    if (at < 0) {
      throw new Error("`discarded` has a message that is not in the history, or not in its order.");
    }
    positions.add(at);
    from = at + 1;
  }
  return positions;
}

/** The one message that was put in, if there is one. */
function insertedInto(
  messages: readonly Message[],
  retained: readonly Message[],
): Message | undefined {
  let next = 0;
  const inserted = messages.filter((message) => {
    const expected = retained[next];
    if (expected === undefined || !isSame(expected, message)) return true;
    next += 1;
    return false;
  });
  if (next < retained.length) {
    throw new Error(
      "A message of the history is neither in `messages` nor in `discarded`, or is out of order.",
    );
  }
  if (inserted.length > 1) throw new Error("`messages` has more than one new message.");
  return inserted[0];
}

function isSame(a: Message, b: Message): boolean {
  return a === b || jsonText(a) === jsonText(b);
}

/** The summary without its prefix, which the engine puts there. */
function textOf(inserted: Message): string {
  if (inserted.role !== "user") throw new Error("The summary is not a user message.");
  const text = contentText(inserted.content);
  return text.startsWith(SUMMARY_PREFIX) ? text.slice(SUMMARY_PREFIX.length) : text;
}
