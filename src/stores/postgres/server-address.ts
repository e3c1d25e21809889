import { SessionError } from "../../core/errors.ts";
import { given } from "../../core/fields.ts";
import { nearestName } from "../../text/nearest-name.ts";
import { requirePartitions } from "./partitions.ts";

/**
 * The host and the database of a connection string, as messages show them: without user, password and
 * options.
 *
 * @throws SessionError `INVALID_PARAMS` when it is no address of PostgreSQL. It never repeats the text.
 */
export function serverAddress(connectionString: string): string {
  const [, authority] = /^postgres(?:ql)?:\/\/([^/?#]*)/i.exec(connectionString) ?? [];
  if (authority?.slice(authority.lastIndexOf("@") + 1).includes(",")) {
    throw new SessionError("INVALID_PARAMS", {
      message: "The connection string names several hosts, and rkat connects to one.",
      hint: "Name the primary server, or a proxy that finds it.",
    });
  }
  const url = parsed(connectionString);
  // Behind a slash or # in a password, the rest of it would be read as a path, and shown.
  if (!url || authority === undefined || `${url.pathname}${url.hash}`.includes("@")) {
    throw new SessionError("INVALID_PARAMS", {
      message: "The connection string is not an address of PostgreSQL.",
      hint: "Write it as postgres://user:password@host:5432/database, with special characters in the password percent-encoded.",
    });
  }
  const { hostname, pathname, searchParams } = url;
  const named = hostname === NO_HOST ? "" : hostname;
  const port = url.port || searchParams.get("port");
  // A socket is a path, which an address has percent-encoded.
  const host = named || encodeURIComponent(searchParams.get("host") ?? "") || "localhost";
  return `postgres://${host}${port ? `:${port}` : ""}${pathname}`;
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

/** The place of a store, from an address that may name a schema and a namespace beside the database. */
export interface PostgresAddress {
  readonly connectionString: string;
  readonly schema?: string;
  readonly namespace?: string;
  readonly notify?: boolean;
  readonly partitions?: number;
}

/**
 * Reads `postgres://host/database?schema=rkat&namespace=shop&notify=true&partitions=16`. The rest is for the package `pg`.
 *
 * @throws SessionError `INVALID_PARAMS` when it is no address of PostgreSQL, or one of the four is misspelt, is
 * there twice, or has a value that cannot be
 */
export function postgresAddress(address: string): PostgresAddress {
  serverAddress(address);
  const [path = "", query, another] = address.split("?");
  if (query === undefined) return { connectionString: address };
  if (another !== undefined) {
    throw wrongParameter(
      "it has a second question mark",
      "Separate the parameters by &, and write a question mark within one as %3F.",
    );
  }
  const parts = new URLSearchParams(query);
  for (const name of parts.keys()) requireRightName(name, parts.getAll(name).length);
  const schema = parts.get("schema") ?? undefined;
  const namespace = parts.get("namespace") ?? undefined;
  const notify = parts.get("notify") ?? undefined;
  if (notify !== undefined && notify !== "true" && notify !== "false") {
    throw wrongParameter("notify has to be true or false", "Leave it out: the default is false.");
  }
  const partitions = parts.has("partitions") ? Number(parts.get("partitions")) : undefined;
  requirePartitions(partitions);
  for (const name of OWN) parts.delete(name);
  const rest = parts.size > 0 ? `?${parts}` : "";
  return {
    connectionString: path + rest,
    ...given({
      schema,
      namespace,
      notify: notify === undefined ? undefined : notify === "true",
      partitions,
    }),
  };
}

const OWN = ["schema", "namespace", "notify", "partitions"];

/** Other parameters are for `pg` or the service, such as `application_name`. A slip would store things elsewhere. */
function requireRightName(name: string, times: number): void {
  const near = nearestName(name, OWN);
  if (OWN.includes(name)) {
    if (times > 1) throw wrongParameter(`${name} is there twice`, "Write it once.");
  } else if (near !== undefined) {
    throw wrongParameter(`one parameter looks like ${near}, and is not`, `Write ${near}=.`);
  }
}

function wrongParameter(problem: string, hint: string): SessionError {
  return new SessionError("INVALID_PARAMS", {
    message: `In the address of the store, ${problem}.`,
    hint,
  });
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
