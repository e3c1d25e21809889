import { readFileSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import type { SessionService } from "./core/session-service.ts";
import { JsonRpcConnection } from "./surfaces/json-rpc/json-rpc-connection.ts";
import { JsonRpcServer, type JsonRpcServerOptions } from "./surfaces/json-rpc/json-rpc-server.ts";
import { type ServerProgram, spawnServer } from "./surfaces/json-rpc/spawn-server.ts";
import { serviceOver } from "./surfaces/service-client.ts";

export type { ServerProgram } from "./surfaces/json-rpc/spawn-server.ts";

export interface ServeJsonRpcOptions extends Omit<JsonRpcServerOptions, "version"> {
  /** What `initialize` says. Default: this package's own. */
  readonly version?: string;
}

/** Two streams with a server at their other end. */
export interface ServerStreams {
  /** What the server says. */
  readonly input: Readable;
  /** What it is told. */
  readonly output: Writable;
}

/**
 * Serves a session service over two streams in JSON-RPC 2.0, one message a
 * line; `docs/surfaces.md` has the methods. Resolves when the connection has
 * ended. The service stays open, because it is the caller's.
 */
export function serveJsonRpc(options: ServeJsonRpcOptions): Promise<void> {
  return new JsonRpcServer({ version: packageVersion(), ...options }).serve();
}

/**
 * The session service of another process: of a program that this starts
 * (`rkat rpc` when none is named), or at the other end of two streams.
 * Closing it ends the connection, and the program.
 */
export function connectJsonRpc(server: ServerProgram | ServerStreams = {}): SessionService {
  return serviceOver(new JsonRpcConnection("input" in server ? server : spawnServer(server)));
}

function packageVersion(): string {
  const file = new URL("../package.json", import.meta.url);
  const { version } = JSON.parse(readFileSync(file, "utf8")) as { version: string };
  return version;
}
