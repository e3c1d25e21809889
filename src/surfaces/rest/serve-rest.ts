import { checkSurfaceOptions } from "../check-options.ts";
import { listen } from "../http/listen.ts";
import { createRestApp } from "./rest-app.ts";
import type { RestOptions } from "./rest-options.ts";

export interface ServeRestOptions extends Omit<RestOptions, "anyAddress"> {
  /** 0 picks any free port. Default 8080. */
  readonly port?: number;
  /** The address to listen on. Any but the loopback interface needs a `token`. Default `127.0.0.1`. */
  readonly host?: string;
}

export interface RestServer {
  readonly url: string;
  readonly port: number;
  /**
   * Accepts no more requests, waits `graceMs` (default 10 000) for running turns
   * before it interrupts them, and ends the event streams. The service stays open.
   */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/**
 * Serves a session service over HTTP.
 *
 * @throws SessionError `INVALID_PARAMS` for options that are not these, and `INVALID_CONFIG` for an address that is in use, or that others can reach
 *   without a token.
 */
export async function serveRest(given: ServeRestOptions): Promise<RestServer> {
  checkSurfaceOptions("serveRest", given);
  const { port = 8080, host, ...options } = given;
  const place = { port, ...(host === undefined ? {} : { host }) };
  const { app, close, ...server } = await listen({ ...place, ...options }, (names) =>
    createRestApp({ ...options, ...names }),
  );
  return { ...server, close: ({ graceMs = 10_000 } = {}) => close(() => app.drain(graceMs)) };
}
