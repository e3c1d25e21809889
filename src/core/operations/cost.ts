import { z } from "zod";
import type { TokenUsage } from "../usage.ts";
import type { Operation } from "./operation.ts";
import { count, sessionId, shape, usage } from "./request-fields.ts";

export const costRequest = z.strictObject({
  sessionId,
  /** How many turns are listed, the newest. Default 20. The sums are of all. */
  limit: z.int().min(1).max(1000).optional(),
});

export type CostRequest = z.infer<typeof costRequest>;

/** Tokens as the providers counted them, and what they cost. */
export interface Cost {
  readonly usage: TokenUsage;
  /** US dollars, by the price table; null when no model has a price in it. */
  readonly costUsd: number | null;
}

/** The cost of a session. Each sum is the sum of its parts: calls of turns, turns of the session. */
export interface SessionCost extends Cost {
  readonly sessionId: string;
  /** Calls of models, those for summaries included. */
  readonly calls: number;
  /** Models without a price. `costUsd` is without their tokens. */
  readonly unpricedModels: readonly string[];
  /** The newest turns, oldest first. */
  readonly turns: readonly TurnCost[];
  /** All turns before them. */
  readonly earlier: EarlierCost;
  readonly compacting: CompactingCost;
  readonly recalled: RecalledCost;
}

/** A turn, with the compactions in it and those after it. */
export interface TurnCost extends Cost {
  /** Counted from 0, as in `read`. */
  readonly turn: number;
  readonly calls: readonly CallCost[];
  readonly compactions: readonly CompactionCost[];
}

export interface CallCost extends Cost {
  /** `seq` of the event that has it. */
  readonly seq: number;
  /** Tokens that the model wrote. */
  readonly wrote: "answer" | "summary";
  readonly model: string;
}

export interface EarlierCost extends Cost {
  readonly turns: number;
  readonly calls: number;
}

/** What became cheaper and what dearer. Estimates: `null` where a price or a count of tokens is missing. */
export interface CompactionEffect {
  /** Tokens after the first change. The call after it reads them for the price of fresh ones. */
  readonly rewrittenTokens: number | null;
  /** The price above that of the cache. 0 when the provider had nothing in its cache. */
  readonly rewrittenUsd: number | null;
  /** Tokens that each call has less. */
  readonly savedTokensPerCall: number;
  /** Calls that had less, up to the next compaction. */
  readonly callsSince: number;
  /** The tokens that they had less, all of them together. */
  readonly savedTokens: number;
  /** Their price: that of the cache, where the provider has one. */
  readonly savedUsd: number | null;
}

export interface CompactionCost extends CompactionEffect {
  /** `seq` of its event. */
  readonly seq: number;
  /** A compaction with or without a model's summary, shortened tool output, or an attempt that came to nothing. */
  readonly kind: "compacted" | "pruned" | "failed";
  /** The calls for its summary, which are in `calls` too. */
  readonly summary: Cost;
}

/** All compactions of the session. */
export interface CompactingCost {
  readonly compacted: number;
  readonly pruned: number;
  readonly failed: number;
  /** All calls for summaries. */
  readonly summaries: Cost;
  readonly rewrittenTokens: number;
  readonly rewrittenUsd: number;
  readonly savedTokens: number;
  readonly savedUsd: number;
}

/** The records that came back from memory by themselves. */
export interface RecalledCost {
  readonly times: number;
  /** Estimated tokens of the records, once for each call that had them. They are in the input tokens. */
  readonly tokens: number;
}

const dollars = z.number().min(0);

const costFields = { usage, costUsd: dollars.nullable() };

const cost = shape<Cost>()(costFields);

const effect = {
  rewrittenTokens: count.nullable(),
  rewrittenUsd: dollars.nullable(),
  savedTokensPerCall: count,
  callsSince: count,
  savedTokens: count,
  savedUsd: dollars.nullable(),
};

const turnCost = shape<TurnCost>()({
  turn: count,
  ...costFields,
  calls: z.array(
    shape<CallCost>()({
      seq: count,
      wrote: z.enum(["answer", "summary"]),
      model: z.string(),
      ...costFields,
    }),
  ),
  compactions: z.array(
    shape<CompactionCost>()({
      seq: count,
      kind: z.enum(["compacted", "pruned", "failed"]),
      summary: cost,
      ...effect,
    }),
  ),
});

export const sessionCost = shape<SessionCost>()({
  sessionId: z.string(),
  ...costFields,
  calls: count,
  unpricedModels: z.array(z.string()),
  turns: z.array(turnCost),
  earlier: shape<EarlierCost>()({ turns: count, calls: count, ...costFields }),
  compacting: shape<CompactingCost>()({
    compacted: count,
    pruned: count,
    failed: count,
    summaries: cost,
    rewrittenTokens: count,
    rewrittenUsd: dollars,
    savedTokens: count,
    savedUsd: dollars,
  }),
  recalled: shape<RecalledCost>()({ times: count, tokens: count }),
});

/** The costs of sessions. */
export interface CostOperations {
  /** The cost of a session: tokens and money of each call, turn and compaction, from its log. */
  sessionCost(request: CostRequest): Promise<SessionCost>;
}

export const COST_OPERATIONS = {
  sessionCost: {
    description:
      "Show what a session cost: tokens and money of each call, turn and compaction, and what compactions saved.",
    request: costRequest,
    result: sessionCost,
    rpc: "session/cost",
    http: { method: "GET", path: "/sessions/{session_id}/cost" },
    tool: "session_cost",
    toolText:
      "Show what a session cost: tokens and US dollars of its model calls, by turn, and what its compactions cost and saved. Models without a known price are named.",
    command: "sessions cost",
    effect: "reads",
  },
} as const satisfies Record<keyof CostOperations, Operation>;
