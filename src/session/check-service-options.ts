import { ANSWERERS } from "../core/approval.ts";
import {
  amount,
  type Check,
  type Checks,
  COMPACTION,
  callback,
  duration,
  flag,
  group,
  having,
  listOf,
  memoryStore,
  model,
  oneOf,
  policy,
  positive,
  recordOf,
  requireOptions,
  someText,
  stores,
  text,
  tools,
  unless,
  whole,
} from "../core/options.ts";
import { nearestName } from "../text/nearest-name.ts";
import type { ServiceOptions } from "./service-options.ts";

const knowledgeStore = having("position", "record", "forget");

const approvals: Checks = {
  policies: recordOf(policy),
  atLeast: recordOf(policy),
  allowed: having("list", "add"),
  approve: callback,
  answerers: listOf(oneOf(...ANSWERERS)),
  timeoutMs: duration,
};

const knowledge: Checks = {
  store: knowledgeStore,
  model,
  maxFacts: whole(1),
  maxCorrections: whole(1),
  maxRules: whole(0),
  minEntries: whole(0),
  eviction: oneOf("fifo", "spare_used"),
};

const price = group({ input: amount, output: amount, cacheRead: amount, cacheWrite: amount }, [
  "input",
  "output",
]);

/** A model, or the way without one. A slip in its name would be the name of a model. */
const summarizer: Check = (value) => {
  const isSlip = typeof value === "string" && nearestName(value, ["fallback"]) !== undefined;
  return isSlip ? oneOf("fallback")(value) : model(value);
};

/** The options of a session service. Numbers and methods of a compaction have a check of their own. */
const SERVICE: Readonly<Record<keyof ServiceOptions, Check>> = {
  model,
  models: callback,
  stores,
  memory: unless(false, memoryStore),
  memoryScope: oneOf("all", "discarded"),
  searchableMemory: flag,
  memoryResults: whole(1),
  recallTokens: whole(0),
  recallFrom: oneOf("session", "project"),
  compaction: group({ ...COMPACTION, summarizer, pinBudget: amount }),
  knowledge: unless(false, group(knowledge)),
  approvals: group(approvals),
  tools,
  moreTools: callback,
  builtinTools: flag,
  systemPrompt: someText,
  surroundings: callback,
  maxTokens: whole(1),
  project: text,
  heldIn: callback,
  sessionFiles: text,
  redact: oneOf("memory", "log"),
  keepDeletedDays: amount,
  keepDays: group({ archived: amount, compacted: amount }),
  prices: recordOf(price),
  retry: group({
    maxRetries: whole(0),
    initialDelayMs: duration,
    maxDelayMs: duration,
    multiplier: positive,
  }),
  toolTimeoutMs: duration,
  onBackgroundError: callback,
  traces: unless(false, group({ contents: flag })),
  meters: having("over"),
};

/** @throws SessionError `INVALID_PARAMS`, which names each wrong or unknown option and what is allowed */
export function checkServiceOptions(
  of: string,
  options: unknown,
  required: readonly (keyof ServiceOptions)[] = [],
): void {
  requireOptions(of, group(SERVICE, ["model", ...required]), options);
}
