import type { Readable, Writable } from "node:stream";
import type { SessionService } from "../../core/session-service.ts";
import { checkSurfaceOptions } from "../check-options.ts";
import { serviceOver } from "../service-client.ts";
import { JsonRpcConnection } from "./json-rpc-connection.ts";
import { type ServerProgram, spawnServer } from "./spawn-server.ts";

/** Two streams to and from a server. */
export interface ServerStreams {
  /** From the server. */
  readonly input: Readable;
  /** To the server. */
  readonly output: Writable;
}

/**
 * The session service of another process. The server is a program that this starts
 * (default: `rkat rpc`) or the other end of two streams. Closing the service ends
 * the connection and the program.
 */
export function connectJsonRpc(server: ServerProgram | ServerStreams = {}): SessionService {
  checkSurfaceOptions("connectJsonRpc", server);
  return serviceOver(new JsonRpcConnection("input" in server ? server : spawnServer(server)));
}
