import { visibleCode, visibleText } from "../text/visible-text.ts";
import { type Issue, issuesText } from "./issues.ts";

/**
 * Every failure that a caller can act on, in one table.
 *
 * Surfaces look a code up here. They never invent a status, a number or a
 * sentence. A new row is public API: codes are forever.
 */
export const ERRORS = {
  INVALID_PARAMS: {
    message: "The request is not valid.",
    hint: "Correct the request. The message says what is wrong.",
    httpStatus: 400,
    jsonRpcCode: -32602,
    exitCode: 2,
  },
  NOT_POSSIBLE: {
    message: "The request is valid, but it is not possible now.",
    hint: "",
    httpStatus: 422,
    jsonRpcCode: -32040,
    exitCode: 17,
  },
  INVALID_CONFIG: {
    message: "The configuration is not valid.",
    hint: "The message names the file, the key and what is allowed. `rkat config` shows the settings in force.",
    httpStatus: 500,
    jsonRpcCode: -32016,
    exitCode: 3,
  },
  SESSION_NOT_FOUND: {
    message: "No session has this id.",
    hint: "List the sessions (`rkat sessions list`), or create one.",
    httpStatus: 404,
    jsonRpcCode: -32001,
    exitCode: 10,
  },
  SESSION_BUSY: {
    message: "A turn is running in this session.",
    hint: "Wait for the turn to end, or interrupt it.",
    httpStatus: 409,
    jsonRpcCode: -32002,
    exitCode: 11,
  },
  SESSION_PERSISTENCE_DISABLED: {
    message: "Session persistence is disabled (build without 'session-store').",
    hint: "Pass `stores` to createSessionService(), for example sqliteStores({ path }); for a command, set session_store = true under [capabilities].",
    httpStatus: 501,
    jsonRpcCode: -32003,
    exitCode: 40,
  },
  SESSION_COMPACTION_DISABLED: {
    message: "Session compaction is disabled (build without 'session-compaction').",
    hint: "Pass `compaction` to createSessionService(); for a command, set session_compaction = true under [capabilities].",
    httpStatus: 501,
    jsonRpcCode: -32004,
    exitCode: 40,
  },
  SESSION_NOT_RUNNING: {
    message: "No turn is running in this session.",
    hint: "There is nothing to interrupt.",
    httpStatus: 409,
    jsonRpcCode: -32005,
    exitCode: 12,
  },
  MESSAGE_NOT_IN_HISTORY: {
    message: "This message is not in the session's history.",
    hint: "`rkat sessions show SESSION` lists each message with its position and its id (@17).",
    httpStatus: 404,
    jsonRpcCode: -32028,
    exitCode: 16,
  },
  PIN_BUDGET_EXCEEDED: {
    message: "The pinned messages would exceed the pin budget.",
    hint: "Unpin a message (`rkat sessions pins SESSION` lists them), raise pin_budget under [memory], or note what matters in the task record.",
    httpStatus: 422,
    jsonRpcCode: -32029,
    exitCode: 26,
  },
  SESSION_STORE_ERROR: {
    message: "The store failed.",
    hint: "Check the disk's free space and the folder's permissions. `rkat doctor` checks the store.",
    httpStatus: 500,
    jsonRpcCode: -32006,
    exitCode: 1,
  },
  SESSION_MEMORY_DISABLED: {
    message: "Session memory is disabled (build without 'memory-store').",
    hint: "Pass `stores` that have a memory to createSessionService(), or pass `memory`; for a command, set memory_store = true under [capabilities].",
    httpStatus: 501,
    jsonRpcCode: -32007,
    exitCode: 40,
  },
  SESSION_CONFLICT: {
    message: "The session has changed since it was read.",
    hint: "Read it again and retry.",
    httpStatus: 409,
    jsonRpcCode: -32009,
    exitCode: 13,
  },
  SESSION_KNOWLEDGE_DISABLED: {
    message: "Knowledge is disabled: this service has no knowledge store.",
    hint: "Pass `stores` that have a knowledge store to createSessionService(); for a command, set enabled = true under [knowledge].",
    httpStatus: 501,
    jsonRpcCode: -32024,
    exitCode: 40,
  },
  SESSION_USERS_DISABLED: {
    message: "This service cannot keep users apart.",
    hint: "Pass `stores` that have `forUser` to createSessionService(), such as sqliteStores({ path }), and no other memory or knowledge store; for a command, set session_store = true under [capabilities].",
    httpStatus: 501,
    jsonRpcCode: -32033,
    exitCode: 40,
  },
  KNOWLEDGE_NOT_FOUND: {
    message: "No knowledge entry has this id.",
    hint: "List the entries (`rkat knowledge list`).",
    httpStatus: 404,
    jsonRpcCode: -32025,
    exitCode: 15,
  },
  APPROVAL_NOT_FOUND: {
    message: "No pending approval has this id.",
    hint: "It was answered, or its turn has continued. List the pending approvals (`rkat approvals list`).",
    httpStatus: 404,
    jsonRpcCode: -32026,
    exitCode: 14,
  },
  APPROVAL_REQUIRED: {
    message: "A tool call is waiting for approval.",
    hint: "Answer it (`rkat approvals list`), then continue with `rkat resume SESSION`. A new prompt denies it.",
    httpStatus: 409,
    jsonRpcCode: -32027,
    exitCode: 25,
  },
  AGENT_ERROR: {
    message: "The agent failed.",
    hint: "The session is intact. The message says what failed.",
    httpStatus: 500,
    jsonRpcCode: -32000,
    exitCode: 30,
  },
  PROVIDER_ERROR: {
    message: "The model provider failed.",
    hint: "The message comes from the provider. The session is intact: try again, or use another model.",
    httpStatus: 502,
    jsonRpcCode: -32010,
    exitCode: 20,
  },
  BUDGET_EXHAUSTED: {
    message: "The turn's budget is used up.",
    hint: "Raise the limit that the message names, or continue in a new turn.",
    httpStatus: 429,
    jsonRpcCode: -32011,
    exitCode: 21,
  },
  MODEL_UNAVAILABLE: {
    message: "The model is not available.",
    hint: "Name a model as provider/model, install the provider's package and set its API key.",
    httpStatus: 503,
    jsonRpcCode: -32013,
    exitCode: 22,
  },
  CONTEXT_WINDOW_EXCEEDED: {
    message: "The history does not fit the model's context window.",
    hint: "Compact the session, shorten the prompt, or use a model with a larger window.",
    httpStatus: 422,
    jsonRpcCode: -32014,
    exitCode: 23,
  },
  PROMPT_EXCEEDS_THRESHOLD: {
    message: "The system prompt and the tools alone exceed the compaction threshold.",
    hint: "Shorten them, or raise auto_compact_threshold. Compaction cannot remove them.",
    httpStatus: 422,
    jsonRpcCode: -32017,
    exitCode: 24,
  },
  TURN_INTERRUPTED: {
    message: "The turn was interrupted.",
    hint: "The session is intact. Start another turn to continue.",
    httpStatus: 499,
    jsonRpcCode: -32015,
    exitCode: 130,
  },
  UNAUTHORIZED: {
    message: "The server requires a token.",
    hint: "Send `Authorization: Bearer <token>`, with the token of the server (`RKAT_TOKEN`) or, if it has `--user-tokens`, the token of a user.",
    httpStatus: 401,
    jsonRpcCode: -32018,
    exitCode: 50,
  },
  USER_NOT_ALLOWED: {
    message: "You act for one user here, and asked for another.",
    hint: "Leave the user out, or use a token or a command that is not bound to a user.",
    httpStatus: 403,
    jsonRpcCode: -32032,
    exitCode: 53,
  },
  FORBIDDEN: {
    message: "The server does not accept requests for this host name or from this page.",
    hint: "`--allow-host` of a server allows another host name, `--cors` of `rkat serve` a web page of yours.",
    httpStatus: 403,
    jsonRpcCode: -32019,
    exitCode: 51,
  },
  UNSAFE_FILE: {
    message: "A file is not safe to use.",
    hint: "Below a project rkat follows no links and uses only regular files and folders of yours. Remove it, or move it away.",
    httpStatus: 500,
    jsonRpcCode: -32030,
    exitCode: 41,
  },
  STORE_NOT_TRUSTED: {
    message: "The store of this project was not made here by you.",
    hint: "It may come from a stranger. Run `rkat trust` to use it, or move it away to start with an empty one.",
    httpStatus: 403,
    jsonRpcCode: -32031,
    exitCode: 42,
  },
  SERVICE_UNAVAILABLE: {
    message: "The service is not available now.",
    hint: "Try again later.",
    httpStatus: 503,
    jsonRpcCode: -32023,
    exitCode: 52,
  },
  INTERNAL_ERROR: {
    message: "An internal error occurred.",
    hint: "This is a bug in rkat. Please report it with the message.",
    httpStatus: 500,
    jsonRpcCode: -32603,
    exitCode: 1,
  },
} as const satisfies Record<string, ErrorRow>;

interface ErrorRow {
  readonly message: string;
  readonly hint: string;
  readonly httpStatus: number;
  readonly jsonRpcCode: number;
  readonly exitCode: number;
}

export type ErrorCode = keyof typeof ERRORS;

const BRAND = Symbol.for("rkat.SessionError");

/** The one error class. Branch on `code`; the message is for people. */
export class SessionError extends Error {
  override readonly name = "SessionError";
  readonly code: ErrorCode;
  /** The way out: the row's hint, or a more exact one. Empty where the message has it. */
  readonly hint: string;
  /** Set when the same request may succeed later. `afterMs` is set when the other side said when. */
  readonly retry: { readonly afterMs?: number } | undefined;
  /** The wrong fields of an `INVALID_PARAMS`. Undefined when no field is wrong. */
  readonly issues: readonly Issue[] | undefined;
  /** Set for a `SESSION_NOT_FOUND` when the session is there, and archived: `unarchive` brings it back. */
  readonly archived: true | undefined;
  readonly [BRAND] = true;

  constructor(
    code: ErrorCode,
    options: {
      /** Replaces the row's message: `No session has the id "nope".` */
      readonly message?: string;
      /** Follows the row's message, as a sentence of its own. */
      readonly detail?: string;
      /** The detail is made of these. */
      readonly issues?: readonly Issue[] | undefined;
      readonly hint?: string;
      readonly retry?: { readonly afterMs?: number };
      readonly archived?: true | undefined;
      readonly cause?: unknown;
    } = {},
  ) {
    requireArguments(code, options);
    const row = ERRORS[code];
    const message = options.message ?? row.message;
    const detail = options.issues ? issuesText(options.issues) : options.detail;
    super(
      shown(detail ? `${message} ${detail}` : message),
      "cause" in options ? { cause: options.cause } : {},
    );
    this.code = code;
    this.hint = options.hint ?? row.hint;
    this.retry = options.retry;
    this.issues = options.issues;
    // The message has a sentence for each. Where an error is printed whole, they would stand there twice.
    Object.defineProperty(this, "issues", { enumerable: false });
    this.archived = options.archived;
  }

  /** Like `instanceof`, but also true across two installed copies of this package. */
  static is(value: unknown): value is SessionError {
    return typeof value === "object" && value !== null && BRAND in value;
  }

  /**
   * Returns our own errors as they are and wraps any other in `fallback`. Without a fallback, a
   * failure of the machine, such as a full disk, is a `SESSION_STORE_ERROR`.
   */
  static from(error: unknown, fallback: ErrorCode = "INTERNAL_ERROR"): SessionError {
    if (SessionError.is(error)) return error;
    const reason = fallback === "INTERNAL_ERROR" ? systemFailure(error) : undefined;
    if (reason) return new SessionError("SESSION_STORE_ERROR", { detail: reason, cause: error });
    return new SessionError(fallback, { detail: errorText(error), cause: error });
  }
}

/** Longer messages are cut. An id that someone sent may be in it. */
const MESSAGE_MAX = 8_000;

/** A message that a terminal can print: it may quote what someone sent. */
function shown(message: string): string {
  const cut = message.length > MESSAGE_MAX ? `${message.slice(0, MESSAGE_MAX)}…` : message;
  return visibleText(cut.replace(/(?![\n\t])\p{Cc}/gu, visibleCode));
}

/** The meaning of the system's error codes. None of them is a bug. */
const SYSTEM_FAILURES: Readonly<Record<string, string>> = {
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EFBIG: "the file would be larger than the system allows",
  EROFS: "the file system is read-only",
  EACCES: "permission denied",
  EPERM: "permission denied",
  EMFILE: "too many files are open",
  ENFILE: "too many files are open",
  EIO: "the disk failed",
  ENOTDIR: "a part of its path is not a folder",
  ELOOP: "its path has too many links",
  ENAMETOOLONG: "its path is too long",
};

/** Their other meanings where a file is read. */
const READ_FAILURES: Readonly<Record<string, string>> = {
  ...SYSTEM_FAILURES,
  ENOENT: "no such file",
  EISDIR: "it is a folder",
};

/** Why a file that someone named cannot be read. */
export function fileProblem(error: unknown): string {
  const { code } = Object(error ?? "");
  return READ_FAILURES[String(code)] ?? errorText(error);
}

/** Their other meanings where a folder is made. */
const MKDIR_FAILURES: Readonly<Record<string, string>> = {
  ENOENT: "the system makes no folder there",
  EEXIST: "something else has its name",
};

function systemFailure(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("syscall" in error) || !("code" in error)) return undefined;
  const code = String(error.code);
  const reason =
    SYSTEM_FAILURES[code] ??
    (/^mkd/.test(String(error.syscall)) ? MKDIR_FAILURES[code] : undefined);
  const file = "path" in error ? String(error.path) : "A file";
  return reason && `${file} could not be used: ${reason}.`;
}

/** What happened and the way out, as one text. */
export function messageAndHint({ message, hint }: Pick<SessionError, "message" | "hint">): string {
  return `${message} ${hint}`.trimEnd();
}

/** A thrown value's message, on one line. */
export function errorText(error: unknown): string {
  let text: string;
  try {
    text = String(error instanceof Error ? error.message : error);
  } catch {
    // An object without a prototype, for example, has no text.
    text = "";
  }
  return text.replace(/\s+/g, " ").trim() || "It gave no message.";
}

/** An error and its causes. A failed connection may have tried several addresses. */
export function chainOf(error: unknown, depth = 0): readonly NodeJS.ErrnoException[] {
  if (!(error instanceof Error) || depth > 5) return [];
  const first = error instanceof AggregateError ? error.errors[0] : undefined;
  return [error, ...chainOf(first ?? error.cause, depth + 1)];
}

/** The text of a failure, the same for each part that meets it. Two failures with the same text have one cause. */
export function causeText(thrown: unknown): string {
  return SessionError.from(thrown).message;
}

/** The text of a failure, and of those that led to it. */
export function causeTexts(error: SessionError): readonly string[] {
  const { cause } = error;
  return [causeText(error), ...(SessionError.is(cause) ? causeTexts(cause) : [])];
}

/**
 * An address as messages may show it: without a user, a password and a query, which may hold a key. Of
 * `host=db password=…`, which is no address, it shows the first name.
 */
export function shownAddress(address: string): string {
  return address
    .replace(/^(\w+:\/\/)?.*@/s, "$1***@")
    .replace(/[?#].*/s, "?***")
    .replace(/=.*/s, "=***");
}

/** An address to type again: `***` stands for a password. Any other text stays as it is. */
export function withoutPassword(address: string): string {
  return address
    .replace(/^(\w+:\/\/[^:@]*):.*@/s, "$1:***@")
    .replace(/([?&](?:ssl)?(?:password|key)=)[^&#]*/gi, "$1***");
}

/** Refuses what no failure can be made of. */
function requireArguments(code: unknown, options: unknown): void {
  const { message, detail, hint, issues = [] } = Object(options ?? "");
  const isText = (value: unknown) => value === undefined || typeof value === "string";
  const isRight =
    typeof code === "string" &&
    Object.hasOwn(ERRORS, code) &&
    typeof options === "object" &&
    options !== null &&
    [message, detail, hint].every(isText) &&
    Array.isArray(issues) &&
    issues.every((issue) => Array.isArray(issue?.path) && typeof issue.message === "string");
  if (isRight) return;
  throw new SessionError("INVALID_PARAMS", {
    message: "A SessionError has a code of ERRORS, and texts in its options.",
  });
}

/** The failure of what is asked of a store after `close`. */
export function storeClosed(name: string): SessionError {
  return new SessionError("SESSION_STORE_ERROR", {
    message: `${name} is closed.`,
    hint: "Close the services, windows and tools that use a store before the store.",
  });
}

/** The failure of what is asked of a service after `close`. */
export function serviceClosed(): SessionError {
  return new SessionError("AGENT_ERROR", {
    message: "The service is closed.",
    hint: "Open another one. The stores have all that was said.",
  });
}
