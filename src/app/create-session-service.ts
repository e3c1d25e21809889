import { ANSWERERS } from "../core/approval.ts";
import { given } from "../core/fields.ts";
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
  prices,
  recordOf,
  requireOptions,
  someText,
  stores,
  text,
  tools,
  unless,
  whole,
} from "../core/options.ts";
import type { SessionService } from "../core/session-service.ts";
import { NO_TRACES, whenWatched } from "../core/traces.ts";
import { openService } from "../session/open-service.ts";
import type {
  ServiceOptions,
  ServiceStores,
  SessionOptions,
  SessionStores,
} from "../session/service-options.ts";
import { EphemeralApprovalStore, ephemeralStores } from "../stores/ephemeral/ephemeral-stores.ts";
import { nearestName } from "../text/nearest-name.ts";

/**
 * A session service with the capabilities whose parts you pass:
 *
 *     stores       session-store        sessions outlive the process
 *     memory       memory-store         what was said can be searched; comes with `stores`
 *     compaction   session-compaction   histories are compacted in time
 *
 * `stores` that have a memory and a knowledge store bring both: the project remembers and learns.
 * `memory: false` and `knowledge: false` switch that off. `approvals` asks before a tool runs.
 *
 * Close it when done. The stores stay open, because they are yours.
 *
 * @throws SessionError `INVALID_PARAMS`
 */
export function createSessionService(asked: ServiceOptions): SessionService {
  checkServiceOptions("createSessionService", asked);
  const { stores, ...options } = asked;
  return stores
    ? new PersistentSessionService({ ...options, stores })
    : new EphemeralSessionService(options);
}

/** A service as a class. Its methods are those of the parts, so nothing is passed on. */
const ServiceClass = class {
  constructor(options: SessionOptions) {
    Object.assign(this, openService(options).service);
  }
} as new (
  options: SessionOptions,
) => SessionService;

/** Sessions that outlive the process, in stores that several processes may share. */
export class PersistentSessionService extends ServiceClass {
  constructor(options: ServiceOptions & { readonly stores: ServiceStores }) {
    checkServiceOptions("PersistentSessionService", options, ["stores"]);
    super({
      ...options,
      stores: withApprovals(options.stores),
      persistent: true,
      ...tracerOf(options),
      // The readers of all formats are a tenth of the package, and most processes import nothing.
      importer: async (asked) => (await import("./import-transcripts.ts")).importTranscripts(asked),
    });
  }
}

function tracerOf({
  traces,
  meters,
}: Pick<ServiceOptions, "traces" | "meters">): Pick<SessionOptions, "tracer"> {
  const tracer =
    traces === false
      ? undefined
      : whenWatched(async () =>
          (await import("../traces/open-telemetry.ts")).openTelemetry(traces),
        );
  if (meters) return { tracer: meters.over(tracer ?? NO_TRACES) };
  return given({ tracer });
}

/** The same stores. Without an approval store, only this process sees the calls that wait. */
function withApprovals(stores: ServiceStores): SessionStores {
  const {
    approvals = new EphemeralApprovalStore(),
    forUser: _,
    users: __,
    usersWithOld: ___,
    ...others
  } = stores;
  const forUser = stores.forUser?.bind(stores);
  const users = stores.users?.bind(stores);
  const usersWithOld = stores.usersWithOld?.bind(stores);
  if (!forUser) return { ...others, approvals };
  return {
    ...others,
    approvals,
    forUser: (user) => withApprovals(forUser(user)),
    ...given({ users, usersWithOld }),
  };
}

/** Sessions that end with the process. What looks up old ones is `SESSION_PERSISTENCE_DISABLED`. */
export class EphemeralSessionService extends ServiceClass {
  constructor(options: Omit<ServiceOptions, "stores">) {
    checkServiceOptions("EphemeralSessionService", options);
    const { events, sessions, approvals, forUser } = ephemeralStores();
    const stores = { events, sessions, approvals, forUser };
    super({ ...options, stores, persistent: false, ...tracerOf(options) });
  }
}

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
  prices,
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
function checkServiceOptions(
  of: string,
  options: unknown,
  required: readonly (keyof ServiceOptions)[] = [],
): void {
  requireOptions(of, group(SERVICE, ["model", ...required]), options);
}
