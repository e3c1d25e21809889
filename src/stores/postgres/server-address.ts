import { SessionError } from "../../core/errors.ts";
import { given } from "../../core/fields.ts";

/**
 * The host and the database of a connection string, as messages show them: without user, password and
 * options.
 *
 * @throws SessionError `INVALID_PARAMS` when it is no address of PostgreSQL. It never repeats the text.
 */
export function serverAddress(connectionString: string): string {
  const url = parsed(connectionString);
  if (!url || !/^postgres(?:ql)?:$/.test(url.protocol)) {
    throw new SessionError("INVALID_PARAMS", {
      message: "The connection string is not an address of PostgreSQL.",
      hint: "Write it as postgres://user:password@host:5432/database, with special characters in the password percent-encoded.",
    });
  }
  const host = url.hostname || url.searchParams.get("host") || "localhost";
  const port = url.port === "" ? "" : `:${url.port}`;
  return `postgres://${host === NO_HOST ? "localhost" : host}${port}${url.pathname}`;
}

/** The password that `pg` uses: that of the connection string, or of the environment. Empty where there is none. */
export function passwordOf(connectionString: string): string {
  const url = parsed(connectionString);
  const written = url?.searchParams.get("password") || url?.password;
  if (!written) return process.env.PGPASSWORD ?? "";
  try {
    return decodeURIComponent(written);
  } catch {
    return written;
  }
}

/** Where a store is, of an address that may name a schema and a namespace beside the database. */
export interface PostgresAddress {
  readonly connectionString: string;
  readonly schema?: string;
  readonly namespace?: string;
  readonly notify?: boolean;
}

/**
 * Reads `postgres://host/database?schema=rkat&namespace=shop&notify=true`. The rest is for the package `pg`.
 *
 * @throws SessionError `INVALID_PARAMS` when it is no address of PostgreSQL, or `notify` is neither true nor false
 */
export function postgresAddress(address: string): PostgresAddress {
  serverAddress(address);
  const [path = "", query] = address.split("?", 2);
  if (query === undefined) return { connectionString: address };
  const parts = new URLSearchParams(query);
  const schema = parts.get("schema") ?? undefined;
  const namespace = parts.get("namespace") ?? undefined;
  const notify = parts.get("notify") ?? undefined;
  if (notify !== undefined && notify !== "true" && notify !== "false") {
    throw new SessionError("INVALID_PARAMS", {
      message: "In the address of the store, notify has to be true or false.",
      hint: "Leave it out: the default is false.",
    });
  }
  for (const name of ["schema", "namespace", "notify"]) parts.delete(name);
  const rest = parts.size > 0 ? `?${parts}` : "";
  return {
    connectionString: path + rest,
    ...given({ schema, namespace, notify: notify === undefined ? undefined : notify === "true" }),
  };
}

const NO_HOST = "no-host";

function parsed(connectionString: string): URL | undefined {
  try {
    // A user without a host is fine for PostgreSQL, not for a URL.
    return new URL(connectionString.replace("@/", `@${NO_HOST}/`));
  } catch {
    return undefined;
  }
}
