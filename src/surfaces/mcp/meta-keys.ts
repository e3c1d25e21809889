/** A program's call gives this a name, and the events of the call come with it, whatever the log level. */
export const EVENTS_META = "rkat/events";

/** A program that sets this gets search results whole, not cut to what a model has room for. */
export const WHOLE_META = "rkat/whole";

/** How a request says what log notifications it wants, from MCP's revision 2026-07-28 on. */
export const LOG_LEVEL_META = "io.modelcontextprotocol/logLevel";

/** How a request says what its client can do, from MCP's revision 2026-07-28 on. */
export const CLIENT_CAPABILITIES_META = "io.modelcontextprotocol/clientCapabilities";
