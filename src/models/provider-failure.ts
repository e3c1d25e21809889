import { errorText, SessionError } from "../core/errors.ts";
import { isContextTooLong } from "./context-too-long.ts";
import { type FailureFacts, failureFacts } from "./failure-facts.ts";

/** What the message of a failure names, and what it must not contain. */
export interface FailureContext {
  /** `provider/model`. */
  readonly id: string;
  /** The environment variable of the key, for the hint when the key is refused. */
  readonly keyVariable?: string;
  /** Texts that are removed from messages. */
  readonly secrets?: readonly string[];
}

/** A provider's failure as a `SessionError`, with the provider's own message. */
export function providerFailure(error: unknown, context: FailureContext): SessionError {
  if (SessionError.is(error)) return error;
  const facts = failureFacts(error);
  const status = facts.status === undefined ? "" : `HTTP ${facts.status}: `;
  const message = endsOf(facts.message);
  const detail = `${context.id}: ${status}${bounded(redacted(message, context))}`;
  const options = { detail, ...causeOf(error, context) };
  if (isContextTooLong(facts.status, `${facts.code} ${message}`)) {
    return new SessionError("CONTEXT_WINDOW_EXCEEDED", options);
  }
  const afterMs = retryAfterMs(facts);
  return new SessionError("PROVIDER_ERROR", {
    ...options,
    ...hintOf(facts, context),
    ...(mayRetry(facts) ? { retry: afterMs === undefined ? {} : { afterMs } } : {}),
  });
}

const TEMPORARY = new Set([408, 409, 425, 429]);
const UNPAID = /insufficient_quota|billing/i;
/** Errors of the request itself, by the provider's code or the AI SDK's name. */
const FINAL =
  /invalid|authentication|permission|not_found|AI_(Unsupported|InvalidPrompt|InvalidArgument|LoadAPIKey|LoadSetting|NoSuchModel)/i;

function mayRetry({ status, code, name }: FailureFacts): boolean {
  if (UNPAID.test(code)) return false;
  if (status !== undefined) return TEMPORARY.has(status) || status >= 500;
  // Without a status it is a network error, or an error within a stream.
  const isBadAnswer = name === "AI_InvalidResponseDataError";
  return isBadAnswer || !FINAL.test(`${code} ${name}`);
}

function hintOf(
  { status }: FailureFacts,
  { id, keyVariable }: FailureContext,
): { readonly hint?: string } {
  if (status === 404) {
    return { hint: `Check the name of the model and the base URL: ${id} was not found.` };
  }
  if (status !== 401 && status !== 403) return {};
  const key = keyVariable ? `the key in ${keyVariable}` : "the provider's key";
  return { hint: `Check ${key}: it was refused, or it has no access to this model.` };
}

/** Errors of the AI SDK contain the whole request, so only their cause is kept. */
function causeOf(error: unknown, context: FailureContext): { readonly cause?: Error } {
  if (!(error instanceof Error)) return {};
  const cause = "requestBodyValues" in error ? error.cause : error;
  if (!(cause instanceof Error)) return {};
  const text = errorText(cause);
  return endsOf(text) === text && redacted(text, context) === text ? { cause } : {};
}

/** A longer message is a page or the request itself. What went wrong stands at one of its ends. */
const END_LENGTH = 8000;

/** The two ends of a long message, cut at spaces, because half of a key is not known to be one. */
function endsOf(text: string): string {
  if (text.length <= 2 * END_LENGTH) return text;
  const start = text.slice(0, END_LENGTH);
  const end = text.slice(-END_LENGTH);
  const space = end.indexOf(" ");
  const whole = space < 0 ? "" : end.slice(space + 1);
  return `${start.slice(0, start.lastIndexOf(" ") + 1)}… ${whole}`;
}

const KEY_START = /\b(?:(?:sk|pk|rk|gsk|xai|nvapi|key)[-_]|AIza)/g;
const KEY_BODY = /[\w-]{8,400}/y;
const GOOGLE_KEY_BODY = /[\w-]{20,400}/y;
/** A name such as `key-of-the-model` has no digit so near its start. */
const DIGIT_NEAR = 24;

/** Keys in the forms of the well-known providers. */
function withoutKeys(text: string): string {
  let kept = "";
  let from = 0;
  // The first digit from here on, and the end of the letters, signs and digits around it.
  let digit = -1;
  KEY_START.lastIndex = 0;
  for (let start = KEY_START.exec(text); start; start = KEY_START.exec(text)) {
    const bodyStart = KEY_START.lastIndex;
    const isGoogle = start[0] === "AIza";
    if (!isGoogle) {
      if (digit < bodyStart) digit = nextDigit(text, bodyStart);
      if (digit - bodyStart > DIGIT_NEAR) continue;
    }
    const body = isGoogle ? GOOGLE_KEY_BODY : KEY_BODY;
    body.lastIndex = bodyStart;
    if (!body.test(text) || (!isGoogle && body.lastIndex <= digit)) continue;
    kept += `${text.slice(from, start.index)}[redacted]`;
    from = body.lastIndex;
    KEY_START.lastIndex = from;
  }
  return kept + text.slice(from);
}

/** Where the next digit is, or the end of the text. */
function nextDigit(text: string, from: number): number {
  let at = from;
  while (at < text.length && !isDigit(text.charCodeAt(at))) at += 1;
  return at;
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

const SECRETS = [
  /\b(?:bearer|basic)\s{1,9}[\w.~+/=-]{8,4000}/gi,
  // The password in a URL, and a key in its query.
  /(?<=:\/\/)[^/\s@]+(?=@)/g,
  /(?<=[?&][\w-]{0,30}(?:key|token|secret|password|signature|sig)=)[^&\s"'<>]+/gi,
];

function redacted(text: string, { secrets = [] }: FailureContext): string {
  const rest = secrets.reduce((rest, secret) => rest.replaceAll(secret, "[redacted]"), text);
  return SECRETS.reduce((rest, secret) => rest.replace(secret, "[redacted]"), withoutKeys(rest));
}

const MESSAGE_LENGTH_MAX = 500;

function bounded(text: string): string {
  return text.length <= MESSAGE_LENGTH_MAX ? text : `${text.slice(0, MESSAGE_LENGTH_MAX)}…`;
}

/** How long a provider asks to wait: from the headers, or from the body (Google). */
function retryAfterMs({
  headers,
  body,
}: Pick<FailureFacts, "headers" | "body">): number | undefined {
  const milliseconds = Number.parseFloat(String(headers["retry-after-ms"]));
  if (milliseconds >= 0) return Math.ceil(milliseconds);
  return headerMs(headers["retry-after"]) ?? bodyMs(body);
}

/** The header has seconds, or a date. */
function headerMs(value: unknown): number | undefined {
  if (typeof value !== "string" || value.trim() === "") return undefined;
  const seconds = Number(value);
  if (seconds >= 0) return Math.ceil(seconds * 1000);
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

function bodyMs(body: string): number | undefined {
  const seconds = /"retryDelay":\s*"([\d.]+)s"/.exec(body)?.[1];
  return seconds === undefined ? undefined : Math.ceil(Number(seconds) * 1000);
}
