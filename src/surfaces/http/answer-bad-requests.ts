import { type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { SessionError } from "../../core/errors.ts";
import { wireError } from "../call-operation.ts";

const STATUS_OF: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/** Answers requests that are not valid HTTP, or that arrive too slowly, with a failure like any other. */
export function answerBadRequests(server: Server): void {
  const answers = new WeakMap<Duplex, ServerResponse>();
  server.prependListener("request", (request, response) => {
    answers.set(request.socket, response);
    response.once("close", () => answers.delete(request.socket));
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    // An answer that has begun cannot be replaced.
    if (!socket.writable || answers.get(socket)?.headersSent) return socket.destroy();
    const status = STATUS_OF[error.code ?? ""] ?? 400;
    const message = `The request is not valid HTTP: ${error.message}`;
    const body = JSON.stringify(wireError(new SessionError("INVALID_PARAMS", { message })));
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      "content-type: application/json",
      `content-length: ${Buffer.byteLength(body)}`,
      "connection: close",
    ];
    socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
  });
}
