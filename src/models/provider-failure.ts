import { errorText, SessionError } from "../core/errors.ts";
import { isContextTooLong } from "./context-too-long.ts";

/** What the message of a failure may say, and must not. */
export interface FailureContext {
  /** `provider/model`. */
  readonly id: string;
  /** The environment variable of the key, for the hint when it is refused. */
  readonly keyVariable?: string;
  /** Texts that appear in no message. */
  readonly secrets?: readonly string[];
}

/**
 * The error of ours that an error of the AI SDK, of the network or within a
 * stream stands for.
 *
 * It is recognised by its fields, not by its class: the AI SDK's packages are
 * optional, and there may be several copies of them.
 */
export function providerFailure(error: unknown, context: FailureContext): SessionError {
  if (SessionError.is(error)) return error;
  const facts = factsOf(error);
  const detail = `${context.id}: ${statusText(facts.status)}${bounded(redacted(facts.message, context))}`;
  if (isContextTooLong(facts.status, `${facts.code} ${facts.message}`)) {
    return new SessionError("CONTEXT_WINDOW_EXCEEDED", { detail });
  }
  const hint = hintOf(facts.status, context);
  return new SessionError("PROVIDER_ERROR", {
    detail,
    ...(hint === undefined ? {} : { hint }),
    ...(mayRetry(facts) ? { retry: retryOf(facts) } : {}),
  });
}

interface Facts {
  readonly name: string;
  readonly message: string;
  readonly status: number | undefined;
  /** The provider's own code and type. */
  readonly code: string;
  readonly headers: Fields;
  readonly body: string;
}

type Fields = Readonly<Record<string, unknown>>;

function factsOf(error: unknown): Facts {
  const fields = fieldsOf(error);
  const body = typeof fields.responseBody === "string" ? fields.responseBody : "";
  // What came within a stream may be the provider's object itself.
  const data = fieldsOf(fields.data ?? parsed(body) ?? (error instanceof Error ? {} : error));
  const response = fieldsOf(data.response);
  const told = fieldsOf(response.error ?? data.error ?? data);
  const code = [told.code, told.type, told.status, fields.code, fields.type]
    .filter(isWord)
    .join(" ");
  return {
    name: String(fields.name ?? ""),
    message: messageOf(error, fields, told, data, body),
    status: statusOf(fields.statusCode) ?? statusOf(told.code) ?? statusOf(data.code),
    code,
    headers: fieldsOf(fields.responseHeaders),
    body,
  };
}

/** The provider's own words where it has any; the HTTP status says little. */
function messageOf(
  error: unknown,
  fields: Fields,
  told: Fields,
  data: Fields,
  body: string,
): string {
  const words = [told.message, data.message, data.error, data.detail].find(isWord);
  if (words) return errorText(words);
  const isPage = /^\s*</.test(body);
  if (body !== "" && !isPage) return errorText(body);
  if (error instanceof Error) return errorText(withCause(error));
  return isWord(fields.message) ? errorText(fields.message) : errorText(JSON.stringify(error));
}

/** `fetch failed` and `terminated` say nothing without what caused them. */
function withCause(error: Error): string {
  const { cause } = error;
  if (!(cause instanceof Error) || error.message.includes(cause.message)) return error.message;
  return `${error.message} (${cause.message || cause.name})`;
}

/** Errors of the request itself, found before it was sent. */
const NEVER = /AI_(Unsupported|InvalidPrompt|InvalidArgument|LoadAPIKey|LoadSetting|NoSuchModel)/;
const TEMPORARY = new Set([408, 409, 425, 429]);
const FINAL_CODE = /insufficient_quota|billing|invalid|authentication|permission|not_found/i;

function mayRetry({ status, code, name }: Facts): boolean {
  if (/insufficient_quota|billing/i.test(code)) return false;
  if (status !== undefined) return TEMPORARY.has(status) || status >= 500;
  // Without a status: the network, or an error within a stream that had begun well.
  return !NEVER.test(name) && !FINAL_CODE.test(code);
}

function retryOf({ headers, body }: Facts): { readonly afterMs?: number } {
  const afterMs = retryAfterMs(headers) ?? googleRetryMs(body);
  return afterMs === undefined ? {} : { afterMs };
}

function retryAfterMs(headers: Fields): number | undefined {
  const milliseconds = Number.parseFloat(String(headers["retry-after-ms"]));
  if (milliseconds >= 0) return Math.ceil(milliseconds);
  const after = headers["retry-after"];
  if (typeof after !== "string" || after.trim() === "") return undefined;
  const seconds = Number(after);
  if (seconds >= 0) return Math.ceil(seconds * 1000);
  const at = Date.parse(after);
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now());
}

/** Google says in the body how long to wait. */
function googleRetryMs(body: string): number | undefined {
  const delay = /"retryDelay":\s*"([\d.]+)s"/.exec(body)?.[1];
  return delay === undefined ? undefined : Math.ceil(Number(delay) * 1000);
}

function hintOf(
  status: number | undefined,
  { id, keyVariable }: FailureContext,
): string | undefined {
  if (status === 401 || status === 403) {
    return keyVariable
      ? `Check the key in ${keyVariable}: it was refused, or may not use this model.`
      : "Check the provider's key: it was refused, or may not use this model.";
  }
  if (status === 404) return `Check the name of the model and the base URL: ${id} was not found.`;
  return undefined;
}

const KEY_LIKE = [
  /\b(?:sk|pk|rk|gsk|xai|nvapi|AIza|key|or)[-_][\w-]{8,}|\bAIza[\w-]{20,}/g,
  /\b(?:bearer|basic)\s+[\w.~+/=-]{8,}/gi,
];

function redacted(text: string, { secrets = [] }: FailureContext): string {
  const withoutSecrets = secrets
    .filter((secret) => secret !== "")
    .reduce((rest, secret) => rest.replaceAll(secret, "[redacted]"), text);
  return (
    KEY_LIKE.reduce((rest, pattern) => rest.replace(pattern, "[redacted]"), withoutSecrets)
      // A base URL with a password in it.
      .replace(/\/\/[^/\s@]+@/g, "//[redacted]@")
  );
}

const MESSAGE_LENGTH_MAX = 500;

function bounded(text: string): string {
  return text.length <= MESSAGE_LENGTH_MAX ? text : `${text.slice(0, MESSAGE_LENGTH_MAX)}…`;
}

function statusText(status: number | undefined): string {
  return status === undefined ? "" : `HTTP ${status}: `;
}

function statusOf(value: unknown): number | undefined {
  const status = typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : value;
  return typeof status === "number" && status >= 400 && status <= 599 ? status : undefined;
}

function isWord(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "";
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}
