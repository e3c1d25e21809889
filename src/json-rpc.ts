import { readFileSync } from "node:fs";
import { checkSurfaceOptions } from "./surfaces/check-options.ts";
import { JsonRpcServer, type JsonRpcServerOptions } from "./surfaces/json-rpc/json-rpc-server.ts";

export type { ServerProgram } from "./surfaces/json-rpc/json-rpc-connection.ts";
export { connectJsonRpc, type ServerStreams } from "./surfaces/json-rpc/json-rpc-connection.ts";

export interface ServeJsonRpcOptions extends Omit<JsonRpcServerOptions, "version"> {
  /** The version that `initialize` reports. Default: this package's. */
  readonly version?: string;
}

/**
 * Serves a session service over two streams in JSON-RPC 2.0, one message a line.
 * The methods are in `docs/surfaces.md`. Resolves when the connection has ended.
 * The service stays open.
 */
export async function serveJsonRpc(options: ServeJsonRpcOptions): Promise<void> {
  checkSurfaceOptions("serveJsonRpc", options);
  await new JsonRpcServer({ version: packageVersion(), ...options }).serve();
}

function packageVersion(): string {
  const file = new URL("../package.json", import.meta.url);
  const { version } = JSON.parse(readFileSync(file, "utf8")) as { version: string };
  return version;
}
