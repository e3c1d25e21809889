import { isIP } from "node:net";
import type { MiddlewareHandler } from "hono";
import { LOOPBACK_NAME } from "../../core/bypass-proxy.ts";
import { SessionError } from "../../core/errors.ts";

export interface NameOptions {
  /** Host names that the server accepts, besides those of the loopback interface. */
  readonly hosts?: readonly string[];
  /** Accepts any IP address as the host. DNS rebinding needs a name, so this is safe. */
  readonly anyAddress?: boolean;
  /** Origins whose pages may call the server, such as `https://app.example`. */
  readonly cors?: readonly string[];
}

/**
 * Accepts requests for the server's own names only, and from allowed pages only.
 *
 * A page can point its own name to this machine (DNS rebinding) to read the
 * server's answers. But its requests carry that name, so they are refused.
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
    // A request with an absolute URL, as for a proxy, names the host twice.
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

/** Whether a name or address means this machine. */
export function isLoopback(host: string): boolean {
  return LOOPBACK_NAME.test(hostName(host) ?? "");
}

function isAddress(name: string): boolean {
  return isIP(name.replace(/^\[|\]$/g, "")) !== 0;
}
