/** The requests of MCP with which a client begins, written by hand. */
export const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  },
};
export const LIST = { jsonrpc: "2.0", id: 2, method: "tools/list" };
