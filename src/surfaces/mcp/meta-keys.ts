import type { EventEnvelope } from "../../core/event.ts";

/**
 * Keys that rkat's own client and server use beyond MCP, in the `_meta`
 * of requests and notifications.
 */

/** The client's name for a call. The call's events come with it, at any log level. */
export const EVENTS_META = "rkat/events";

/** Set to get whole search results, not cut to what a model has room for. */
export const WHOLE_META = "rkat/whole";

/** The user that a call is for. A model cannot write it, because it is not an argument. */
export const USER_META = "rkat/user";

/** The log level of a request, in MCP from 2026-07-28 on. */
export const LOG_LEVEL_META = "io.modelcontextprotocol/logLevel";

/** The client's capabilities in a request, in MCP from 2026-07-28 on. */
export const CLIENT_CAPABILITIES_META = "io.modelcontextprotocol/clientCapabilities";

/** The data of a log notification about a session. */
export interface SessionNotice {
  readonly event?: EventEnvelope;
  /** A subscription is open. Every event after this `seq` will come. */
  readonly subscribed?: number;
}
