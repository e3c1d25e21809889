import type { IncomingMessage, Server, ServerResponse } from "node:http";

interface UploadLimits {
  /** How long a request may take, however slowly it arrives. */
  readonly graceMs: number;
  /** After that, this many bytes have to arrive in each second. */
  readonly bytesPerSecondMin: number;
  /** How often that is checked. */
  readonly everyMs: number;
}

/**
 * Refuses requests that arrive too slowly, with `ERR_HTTP_REQUEST_TIMEOUT` as Node does. Node's own limit is for the
 * whole request, so it cuts large files on slow lines. This one only asks that the bytes go on coming.
 */
export function refuseSlowUploads(server: Server, limits: UploadLimits): void {
  server.prependListener("request", (request: IncomingMessage, response: ServerResponse) => {
    if (hasBody(request)) watch(server, request, response, limits);
  });
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

function watch(
  server: Server,
  request: IncomingMessage,
  response: ServerResponse,
  { graceMs, bytesPerSecondMin, everyMs }: UploadLimits,
): void {
  const { socket } = request;
  let before = 0;
  let wasOurs = false;
  const check = () => {
    if (request.complete || socket.destroyed) return;
    const arrived = socket.bytesRead - before;
    before = socket.bytesRead;
    // While the app has not read what is there, nothing more can arrive. It may have read it just now.
    const isOurs = request.readableLength > 0 && !response.writableEnded;
    const mayWait = isOurs || wasOurs;
    wasOurs = isOurs;
    if (mayWait || arrived >= (bytesPerSecondMin * everyMs) / 1000) {
      next(everyMs);
      return;
    }
    const error = new Error("The request arrives too slowly");
    server.emit("clientError", Object.assign(error, { code: "ERR_HTTP_REQUEST_TIMEOUT" }), socket);
  };
  const next = (ms: number) => void setTimeout(check, ms).unref();
  setTimeout(() => {
    before = socket.bytesRead;
    next(everyMs);
  }, graceMs).unref();
}
