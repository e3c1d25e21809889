import { readFileSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import type { SessionService } from "./core/session-service.ts";
import { JsonRpcConnection } from "./surfaces/json-rpc/json-rpc-connection.ts";
import { JsonRpcServer, type JsonRpcServerOptions } from "./surfaces/json-rpc/json-rpc-server.ts";
import { type ServerProgram, spawnServer } from "./surfaces/json-rpc/spawn-server.ts";
import { serviceOver } from "./surfaces/service-client.ts";

export type { ServerProgram } from "./surfaces/json-rpc/spawn-server.ts";

export interface ServeJsonRpcOptions extends Omit<JsonRpcServerOptions, "version"> {
  /** The version that `initialize` reports. Default: this package's. */
  readonly version?: string;
}

/** Two streams to and from a server. */
export interface ServerStreams {
  /** From the server. */
  readonly input: Readable;
  /** To the server. */
  readonly output: Writable;
}

/**
 * Serves a session service over two streams in JSON-RPC 2.0, one message a line.
 * The methods are in `docs/surfaces.md`. Resolves when the connection has ended.
 * The service stays open.
 */
export function serveJsonRpc(options: ServeJsonRpcOptions): Promise<void> {
  return new JsonRpcServer({ version: packageVersion(), ...options }).serve();
}

/**
 * The session service of another process. The server is a program that this starts
 * (default: `rkat rpc`) or the other end of two streams. Closing the service ends
 * the connection and the program.
 */
export function connectJsonRpc(server: ServerProgram | ServerStreams = {}): SessionService {
  return serviceOver(new JsonRpcConnection("input" in server ? server : spawnServer(server)));
}

function packageVersion(): string {
  const file = new URL("../package.json", import.meta.url);
  const { version } = JSON.parse(readFileSync(file, "utf8")) as { version: string };
  return version;
}
