/** A session for the OpenAI Agents SDK, in rkat's stores. */
import type { HostMessage } from "./core/host-record.ts";
import { newId } from "./core/ids.ts";
import type { Stores } from "./core/stores.ts";
import { type OpenAIItem, saidInItem } from "./hosts/openai-items.ts";
import { RkatSession } from "./hosts/openai-session.ts";
import { PersistentSessionService } from "./index.ts";

export type { OpenAIItem } from "./hosts/openai-items.ts";
export type { HistoryTransaction, RkatSession } from "./hosts/openai-session.ts";

export interface RkatSessionOptions {
  /** Such as `sqliteStores({ path })`; for one user of many, `stores.forUser(name)`. */
  readonly stores: Stores;
  /** Your id of the conversation. Default: a new one. */
  readonly sessionId?: string;
  /** `"user"`: a person typed the user messages. Without it they count as a program's, and teach nothing. */
  readonly author?: "user";
  /** `"log"`: no credential is stored. Items then come back with a note in its place. Default `"memory"`. */
  readonly redact?: "memory" | "log";
}

/** A `Session` for `run(agent, input, { session })`. */
export function rkatSession<Item extends OpenAIItem = OpenAIItem>({
  stores,
  sessionId = newId(),
  author = undefined,
  redact = "memory",
}: RkatSessionOptions): RkatSession<Item> {
  const service = new PersistentSessionService({
    model: "none",
    stores,
    redact,
    builtinTools: false,
  });
  const labels = { host: "openai-agents", host_session: sessionId };
  const record = service.hostRecord(`openai-agents:${sessionId}`, { labels }, (item) =>
    said(item as OpenAIItem, author),
  );
  return new RkatSession(sessionId, record, {
    compact: async (items) => items,
    close: () => service.close(),
  });
}

function said(item: OpenAIItem, author: "user" | undefined): HostMessage | undefined {
  const message = saidInItem(item);
  if (!message) return undefined;
  const isUsers = message.role === "user";
  return { message, ...(isUsers ? { origin: { author: author ?? ("program" as const) } } : {}) };
}
