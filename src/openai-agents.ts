/** Sessions and compaction for the OpenAI Agents SDK. */

import { openHostService } from "./app/host-service.ts";
import { windowMemory } from "./app/host-windows.ts";
import { SessionError } from "./core/errors.ts";
import type { HostMessage } from "./core/host-record.ts";
import { newId } from "./core/ids.ts";
import {
  anything,
  group,
  HOST,
  oneOf,
  PRICED_WINDOW,
  prices,
  requireOptions,
  text,
  whole,
} from "./core/options.ts";
import type { Stores } from "./core/stores.ts";
import {
  ItemWindow,
  inputFilter,
  type OpenAICompaction,
  type RkatFilter,
  recordOfRecalled,
  SentRecords,
  writerOf,
} from "./hosts/openai-filter.ts";
import { type OpenAIItem, saidInItem } from "./hosts/openai-items.ts";
import { notedModel, type OpenAIModel } from "./hosts/openai-model.ts";
import { RkatSession } from "./hosts/openai-session.ts";

export type { OpenAICompaction, RkatFilter } from "./hosts/openai-filter.ts";
export type { OpenAIItem } from "./hosts/openai-items.ts";
export type { OpenAIModel } from "./hosts/openai-model.ts";
export type { RkatSession } from "./hosts/openai-session.ts";

/**
 * Keeps what each model call of a run is sent within the window: `run(agent, input, { callModelInputFilter })`.
 * Make one filter for each conversation. With an `rkatSession`, take the session's own `filter`.
 */
export function rkatFilter(options: OpenAICompaction = {}): RkatFilter {
  requireOptions("rkatFilter", group({ ...PRICED_WINDOW, model: anything }), options);
  return inputFilter(new ItemWindow(options));
}

/**
 * The same `Model` for your agents, with its requests noted. Filters and sessions then count what the provider counts, ask
 * for a summary at the end of the last request, which the provider has in its cache, and send less once where it calls a
 * request too long.
 *
 *     const model = rkatModel(new OpenAIResponsesModel(client, "gpt-5"));
 *     const agent = new Agent({ name: "Builds", model });
 *
 * @throws SessionError `INVALID_PARAMS` for what is no `Model`, such as a name
 */
export function rkatModel<Model extends OpenAIModel>(model: Model): Model {
  return notedModel(model);
}

/** With `model` or `summarize`, the session compacts its list when it has grown too long. */
export interface RkatSessionOptions extends OpenAICompaction {
  /** Such as `sqliteStores({ path })`; for one user of many, `stores.forUser(name)`. */
  readonly stores: Stores;
  /** Your id of the conversation. Default: a new one. */
  readonly sessionId?: string;
  /** `"user"`: a person typed the user messages. Without it they count as a program's, and teach nothing. */
  readonly author?: "user";
  /** `"log"`: no credential is stored. Items then come back with a note in its place. Default `"memory"`. */
  readonly redact?: "memory" | "log";
  /**
   * Tokens that records of memory may take before a prompt that they are about. The session's `filter` adds them.
   * Default 1500; 0 for none.
   */
  readonly recallTokens?: number;
}

/** A `Session` for `run(agent, input, { session })`. */
export function rkatSession<Item extends OpenAIItem = OpenAIItem>(
  given: RkatSessionOptions,
): RkatSession<Item> {
  const more = { sessionId: text, redact: oneOf("memory", "log"), recallTokens: whole(0) };
  requireOptions("rkatSession", group({ ...HOST, prices, ...more }, ["stores"]), given);
  const { stores, sessionId = newId(), author, redact = "memory", ...rest } = given;
  const { recallTokens, ...compaction } = rest;
  const compacts = Object.keys(compaction).length > 0;
  if (compacts && !writerOf(compaction)) throw missingModel();
  const { service, recordOf, close } = openHostService(stores, { redact });
  const labels = { host: "openai-agents", host_session: sessionId };
  const id = `openai-agents:${sessionId}`;
  const record = recordOf(id, { labels }, (item) => said(item as OpenAIItem, author));
  const memory = windowMemory(id, { service, stores, recallTokens });
  const window = new ItemWindow(compaction, { memory, record: recordOfRecalled(record) });
  const records = new SentRecords(record);
  return new RkatSession<Item>(sessionId, record, {
    compact: async (items, options) => (compacts ? await window.kept(items, options) : items),
    filter: inputFilter(window, records),
    withoutRecords: (items) => records.without(items),
    close,
  });
}

function missingModel(): SessionError {
  return new SessionError("INVALID_PARAMS", {
    message: "rkatSession is to compact its items, but it has no model for summaries.",
    hint: 'Pass `model`, such as `new OpenAIResponsesModel(client, "gpt-5")`, or `summarize: "fallback"` for summaries without a model.',
  });
}

function said(item: OpenAIItem, author: "user" | undefined): HostMessage | undefined {
  const message = saidInItem(item);
  if (!message) return undefined;
  const isUsers = message.role === "user";
  return { message, ...(isUsers ? { origin: { author: author ?? ("program" as const) } } : {}) };
}
