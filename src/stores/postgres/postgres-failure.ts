import { errorText, SessionError } from "../../core/errors.ts";
import { given } from "../../core/fields.ts";
import { isWrongRow } from "../stored-json.ts";

/** The problem by PostgreSQL's error code or its class, and what to do about it. */
const FAILURES: Readonly<Record<string, { readonly what: string; readonly hint: string }>> = {
  "08": {
    what: "lost the connection",
    hint: "Check the server and the network, then try again.",
  },
  "22P05": {
    what: "has an encoding other than UTF8",
    hint: "Create a database with encoding UTF8.",
  },
  "25006": {
    what: "is read-only",
    hint: "Connect to the primary server. A replica, one that is failing over, or one with default_transaction_read_only cannot be written.",
  },
  "28": {
    what: "refused the user or the password",
    hint: "Check the user and the password in the connection string, and pg_hba.conf on the server.",
  },
  "3D": {
    what: "does not exist",
    hint: "Create the database (createdb), or correct its name in the connection string.",
  },
  "42501": {
    what: "does not allow this user to do that",
    hint: "Grant it rkat's schema and tables, once their owner has run `rkat doctor`. Or let it connect to the database, and create a schema in it.",
  },
  "53100": { what: "has no disk space left", hint: "Free some space on the server and try again." },
  "53300": {
    what: "has no connection left",
    hint: "Use a smaller pool or a pooler, or raise max_connections on the server.",
  },
  "55P03": {
    what: "waits for a lock of another transaction",
    hint: "End that transaction (pg_locks and pg_stat_activity show it), then try again.",
  },
  "57014": {
    what: "cancelled the statement",
    hint: "It ran into statement_timeout, or it was cancelled. Try again, or raise the limit for rkat's user.",
  },
  "57P": { what: "is shutting down or starting up", hint: "Try again when it is up." },
  XX001: { what: "has damaged data", hint: "Restore it from a backup." },
};

/** Failures of the network, by Node's code. */
const UNREACHABLE: Readonly<Record<string, string>> = {
  ECONNREFUSED: "no server listens there",
  ENOTFOUND: "the host name is unknown",
  EAI_AGAIN: "the host name could not be looked up",
  ENOENT: "there is no such socket",
  EACCES: "the socket may not be used",
  ETIMEDOUT: "it did not answer",
  EHOSTUNREACH: "there is no way to the host",
  ENETUNREACH: "there is no way to the network",
  ECONNRESET: "the connection was cut",
  EPIPE: "the connection was cut",
};

/** The texts of `pg` for errors without a code. */
const LOST = /connection terminated|client has encountered a connection error|connection error/i;
const NO_CONNECTION = /timeout exceeded when trying to connect|due to connection timeout/i;
const NO_ANSWER = /query read timeout/i;

/** The text of `pg` about a server without TLS. It has sent no password then. */
const NO_TLS = /SSL connection/i;
/** Node's codes of a certificate that does not hold. */
const BAD_CERTIFICATE =
  /^(?:CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_|ERR_SSL_|ERR_OSSL_|EPROTO|HOSTNAME_MISMATCH)/;
/** The text of `pg` about an answer that it cannot read. */
const NO_POSTGRES = /invalid response|unexpected \w+ message|^SASL|authenticationOk message/i;

/**
 * Whether the same work may be done again after an error.
 *
 * - `now`: the server undid it because of others, and says that it would work the second time.
 * - `reconnect`: the connection is gone. What was sent last may have been done.
 */
export function whetherAgain(error: unknown): "now" | "reconnect" | undefined {
  const code = codeOf(error);
  if (isNotPrepared(error)) return "now";
  if (code === "40001" || code === "40P01" || code === "55P03") return "now";
  if (code !== undefined && /^(?:08|57P0[1-35]|53300)/.test(code)) return "reconnect";
  if (code !== undefined && code in UNREACHABLE) return "reconnect";
  if (!(error instanceof Error)) return undefined;
  return LOST.test(error.message) || NO_ANSWER.test(error.message) ? "reconnect" : undefined;
}

/** Whether another connection may do better: after a failover, some lead to a server that is read-only now. */
export function isOfConnection(error: unknown): boolean {
  return whetherAgain(error) === "reconnect" || codeOf(error) === "25006";
}

/** Whether the server may still work on what was asked: nobody waited longer for its answer. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof Error && NO_ANSWER.test(error.message);
}

/** Whether a server sent the error: then there is one, and it may soon take connections. */
export function isFromServer(error: unknown): boolean {
  const code = codeOf(error) ?? "";
  return /^[0-9A-Z]{5}$/.test(code) && !(code in UNREACHABLE);
}

/** A pooler gives each transaction another connection, and does not take prepared statements along. */
export function isNotPrepared(error: unknown): boolean {
  const code = codeOf(error);
  return code === "26000" || code === "42P05";
}

/** For an error of a statement that the server ended, by `statement_timeout` for example. Throws any other. */
export function isCancelled(error: unknown): true {
  if (codeOf(error) === "57014") return true;
  throw error;
}

/** The schema, the table or the column is not there. */
export function isMissing(error: unknown): boolean {
  return ["3F000", "42P01", "42703"].includes(codeOf(error) ?? "");
}

/** Whether a row with the same key was there. */
export function isDuplicate(error: unknown): boolean {
  return codeOf(error) === "23505";
}

/** The code of an error of PostgreSQL (`42P01`) or of Node (`ECONNREFUSED`). */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  // One host name may have several addresses, each with an error of its own.
  const [first] = error instanceof AggregateError ? error.errors : [];
  const code = "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : first && codeOf(first);
}

/**
 * The error for the caller, of anything thrown while working with the server at `address`, which has no
 * password. Errors of the network may have one in them: they are not passed on as the cause. Nor are errors of
 * a server that repeats the password.
 */
export function postgresFailure(error: unknown, address: string, password = ""): unknown {
  if (SessionError.is(error)) return error;
  const code = codeOf(error);
  const said = errorText(error);
  const reason = withoutPassword(said, password);
  if (error instanceof Error && "syscall" in error && error.syscall === "open") {
    return new SessionError("SESSION_STORE_ERROR", {
      detail: `A file that the address of ${address} names cannot be read (${code}).`,
      hint: "Check sslrootcert, sslcert and sslkey in the connection string.",
    });
  }
  if (code !== undefined && code in UNREACHABLE) {
    return new SessionError("SESSION_STORE_ERROR", {
      detail: `${address} cannot be reached: ${UNREACHABLE[code]} (${code}).`,
      hint: "Check the host and the port, and that PostgreSQL is running.",
      retry: {},
    });
  }
  if (NO_CONNECTION.test(reason)) {
    return new SessionError("SESSION_STORE_ERROR", {
      detail: `${address} gave no connection in time: it does not answer, or all connections of the pool are in use.`,
      hint: "Check the server, or use a larger pool (max).",
      retry: {},
    });
  }
  if (NO_ANSWER.test(reason)) {
    return new SessionError("SESSION_STORE_ERROR", {
      detail: `${address} gave no answer in time.`,
      hint: "Check the server and the network. What was sent last may have been stored.",
      retry: {},
    });
  }
  if (NO_TLS.test(reason)) {
    return new SessionError("SESSION_STORE_ERROR", {
      detail: `${address} has no TLS, which its address asks for. No password was sent.`,
      hint: "Turn TLS on at the server. For a server that you reach over a network of your own, leave sslmode out.",
    });
  }
  if (code !== undefined && BAD_CERTIFICATE.test(code)) {
    return new SessionError("SESSION_STORE_ERROR", {
      detail: `${address} has a certificate that cannot be checked (${code}: ${reason}). No password was sent.`,
      hint: "Name the file of its certificate authority in the address: sslmode=verify-full&sslrootcert=/path/ca.pem.",
    });
  }
  if (LOST.test(reason)) return ofTable("08", address, reason, undefined);
  if (!isFromServer(error) && NO_POSTGRES.test(reason)) {
    return new SessionError("SESSION_STORE_ERROR", {
      detail: `${address} does not speak PostgreSQL's protocol (${reason}).`,
      hint: "Check that the address is that of your PostgreSQL server.",
    });
  }
  const key = [code, code?.slice(0, 3), code?.slice(0, 2)].find((key) => key && key in FAILURES);
  const cause = said === reason ? error : undefined;
  if (key !== undefined) return ofTable(key, address, reason, cause);
  if (isWrongRow(error)) {
    return new SessionError("SESSION_STORE_ERROR", {
      detail: `${address} gave a row that rkat did not write (${reason}).`,
      hint: "`rkat doctor` checks the server and rkat's tables. Restore them from a backup.",
      cause: error,
    });
  }
  if (!isFromServer(error)) return error;
  return new SessionError("SESSION_STORE_ERROR", {
    detail: `${address} failed (${code}: ${reason}).`,
    hint: "`rkat doctor` checks the server and rkat's tables.",
    ...given({ cause }),
  });
}

function ofTable(key: string, address: string, reason: string, cause: unknown): SessionError {
  const { what = "failed", hint = "" } = FAILURES[key] ?? {};
  const mayWorkLater = key === "08" || key.startsWith("5");
  return new SessionError("SESSION_STORE_ERROR", {
    detail: `${address} ${what} (${reason.replace(/\.$/, "")}).`,
    hint,
    ...(mayWorkLater ? { retry: {} } : {}),
    ...(key === "08" || key === "28" ? {} : given({ cause })),
  });
}

/** Replaces the password, and what stands where an address has its user and password. */
function withoutPassword(text: string, password: string): string {
  return (password === "" ? text : text.replaceAll(password, "***"))
    .replace(/(\bpostgres(?:ql)?:\/\/)\S*@/gi, "$1***@")
    .replace(/\b(password|sslpassword)=[^\s&]*/gi, "$1=***");
}
