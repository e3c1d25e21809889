import { isIP } from "node:net";
import type { MiddlewareHandler } from "hono";
import { SessionError } from "../../core/errors.ts";

export interface NameOptions {
  /** Names by which the server may be asked for, besides those of the loopback interface. */
  readonly hosts?: readonly string[];
  /** Whether any IP address may stand for the server's name: no page can be rebound to one. */
  readonly anyAddress?: boolean;
  /** Origins whose pages may call the server, such as `https://app.example`; none by default. */
  readonly cors?: readonly string[];
}

/**
 * Answers only to the server's own names, and only to pages that may call it.
 *
 * A page can make a name of its own point to this machine (DNS rebinding), and
 * then read what it likes; but its requests carry that name.
 */
export function guardNames(options: NameOptions): MiddlewareHandler {
  const { hosts = [], anyAddress = false, cors = [] } = options;
  const names = new Set(hosts.map((host) => hostName(host)));
  const isOurs = (host: string) => {
    const name = hostName(host);
    if (name === undefined) return false;
    return isLoopback(name) || names.has(name) || (anyAddress && isAddress(name));
  };
  return async (context, next) => {
    // A request that names its whole address, as for a proxy, has two of them.
    const host = URL.parse(context.req.url)?.host ?? "";
    const asked = context.req.header("host") ?? host;
    if (!isOurs(asked) || !isOurs(host)) {
      throw new SessionError("FORBIDDEN", {
        message: `The server does not accept requests for the host "${asked}".`,
      });
    }
    const origin = context.req.header("origin");
    if (origin !== undefined && !isOwnOrigin(origin, asked) && !cors.includes(origin)) {
      throw new SessionError("FORBIDDEN", {
        message: `The server does not accept requests from the page ${origin}.`,
      });
    }
    await next();
  };
}

/** The name in a `Host` header, as URLs write it. */
function hostName(host: string): string | undefined {
  if (/[\s/?#\\@]/.test(host)) return undefined;
  const address = isIP(host) === 6 ? `[${host}]` : host;
  const url = URL.parse(`http://${address}`);
  return url?.hostname.replace(/\.$/, "");
}

function isOwnOrigin(origin: string, host: string): boolean {
  return origin === `http://${host}` || origin === `https://${host}`;
}

/** Whether only this machine is meant by a name or address. */
export function isLoopback(host: string): boolean {
  const name = hostName(host) ?? "";
  return name === "localhost" || name === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(name);
}

function isAddress(name: string): boolean {
  return isIP(name.replace(/^\[|\]$/g, "")) !== 0;
}
