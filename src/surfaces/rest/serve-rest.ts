import { listen } from "../http/listen.ts";
import { createRestApp } from "./rest-app.ts";
import type { RestOptions } from "./rest-options.ts";

export interface ServeRestOptions extends Omit<RestOptions, "anyAddress"> {
  /** 0 takes any free port. Default 8080. */
  readonly port?: number;
  /** Where to listen. Anything but the loopback interface needs a `token`. Default `127.0.0.1`. */
  readonly host?: string;
}

export interface RestServer {
  readonly url: string;
  readonly port: number;
  /**
   * Stops accepting, lets running turns end for `graceMs` (default 10 000) and
   * interrupts them then, and ends the event streams. The service stays open.
   */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/**
 * Serves a session service over HTTP.
 *
 * @throws SessionError `INVALID_CONFIG` for an address that is taken, or that others can reach
 *   without a token.
 */
export async function serveRest({
  port = 8080,
  ...options
}: ServeRestOptions): Promise<RestServer> {
  const { app, close, ...server } = await listen({ port, ...options }, (names) =>
    createRestApp({ ...options, ...names }),
  );
  return { ...server, close: ({ graceMs = 10_000 } = {}) => close(() => app.drain(graceMs)) };
}
