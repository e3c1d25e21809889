import { proxyNote } from "../core/bypass-proxy.ts";
import { chainOf, ERRORS, errorText, SessionError, shownAddress } from "../core/errors.ts";
import { parsedJson } from "../core/json-values.ts";
import { isDigit } from "../text/character-kinds.ts";
import { isContextTooLong } from "./context-too-long.ts";

/** The names in the message of a failure, and the secrets that it must not contain. */
export interface FailureContext {
  /** `provider/model`. */
  readonly id: string;
  /** The environment variable of the key, for the hint when the key is refused. */
  readonly keyVariable?: string;
  /** The base URL, which the message names when it cannot be reached. */
  readonly address?: string;
  /** The variable or the setting that names the address. */
  readonly addressFrom?: string;
  /** Texts that are removed from messages. */
  readonly secrets?: readonly string[];
}

/** A provider's failure as a `SessionError`, with the provider's own message. */
export function providerFailure(error: unknown, context: FailureContext): SessionError {
  // The AI SDK wraps what `fetch` throws.
  const own = chainOf(error).find(SessionError.is);
  if (own) return own;
  if (error instanceof Error && error.name === "TimeoutError") return noAnswer(context);
  const broken = connectionFailure(error, context);
  if (broken) return broken;
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
    hint: `${hintOf(facts, context)}${placeOf(context)}`,
    ...(mayRetry(facts) ? { retry: afterMs === undefined ? {} : { afterMs } } : {}),
  });
}

/** A provider's answer to a request that it refuses: the status of HTTP, and its code and message. */
export interface Refusal {
  readonly status: number | undefined;
  readonly text: string;
}

/** The refusal in an error of the AI SDK. Other errors have no status. */
export function refusalOf(error: unknown): Refusal {
  const { status, code, message } = failureFacts(error);
  return { status, text: `${code} ${endsOf(message)}` };
}

/** The system's codes when there is no connection, and what to check then. */
const CONNECTION: readonly (readonly [RegExp, string])[] = [
  [/ECONNREFUSED/, "Check that the server runs and listens on this port"],
  [/ENOTFOUND|EAI_AGAIN/, "Check the name in the address, and your network"],
  [/does not match the HTTP/, "No web server listens there: check the port"],
  [/bad port/, "Browsers and `fetch` refuse this port: check it, or let the server use another"],
  [
    /CERT|SELF_SIGNED|UNABLE_TO_|ERR_TLS|ERR_SSL|EPROTO/,
    "Check the server's certificate, and whether it is http or https",
  ],
  [
    /ECONNRESET|EPIPE|UND_ERR_SOCKET|other side closed/,
    "The server closed the connection: check its log",
  ],
  [/E[A-Z]+|UND_ERR_\w+|fetch failed/, "Check your network, and that the server can be reached"],
];

/** A failure before there was an answer, with the address that was asked. */
function connectionFailure(error: unknown, context: FailureContext): SessionError | undefined {
  const { address, addressFrom } = context;
  const { status, body } = failureFacts(error);
  if (address === undefined || status !== undefined || body !== "") return undefined;
  const chain = chainOf(error).map(({ message, code }) => ({
    message,
    code: typeof code === "string" ? code : "",
  }));
  const isNetwork = chain.some(
    ({ message, code }) =>
      /^fetch failed$|^bad port$|^Cannot connect to API/.test(message) ||
      /^(?:E[A-Z]{3,}|UND_ERR_\w+)$/.test(code),
  );
  if (!isNetwork) return undefined;
  const reason =
    chain
      .map(({ message, code }) =>
        // OpenSSL's messages have several lines of its own sources.
        /:error:|SSL routines/.test(message)
          ? `the server does not speak TLS as it should (${code})`
          : message.includes(code)
            ? message
            : `${message} (${code})`,
      )
      .findLast((text) => text !== "") ?? "";
  const said = chain.map(({ message, code }) => `${code} ${message}`).join(" ");
  const check = CONNECTION.find(([pattern]) => pattern.test(said))?.[1] ?? "Check your network";
  const place = addressFrom === undefined ? "" : ` The address is from ${addressFrom}.`;
  const proxy = proxyNote(address);
  return new SessionError("PROVIDER_ERROR", {
    detail: `${context.id}: no connection to ${shownAddress(address)}: ${bounded(redacted(reason, context))}.`,
    hint: `${check}.${place}${proxy}`,
    ...(/bad port/.test(said) ? {} : { retry: {} }),
    ...causeOf(error, context),
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

function hintOf({ status }: FailureFacts, { id, keyVariable }: FailureContext): string {
  if (status === 404) {
    return `Check the name of the model and the base URL: ${id} was not found.`;
  }
  if (status !== 401 && status !== 403) return ERRORS.PROVIDER_ERROR.hint;
  const key = keyVariable ? `the key in ${keyVariable}` : "the provider's key";
  return `Check ${key}: it was refused, or it has no access to this model.`;
}

/** The address that was asked, where it is not the provider's own. */
function placeOf({ address, addressFrom }: FailureContext): string {
  if (address === undefined || addressFrom === undefined) return "";
  return ` The address ${shownAddress(address)} is from ${addressFrom}.`;
}

/** A request that was given up, because no answer came in time. */
function noAnswer(context: FailureContext): SessionError {
  const { id, address } = context;
  const server = address === undefined ? "the server" : shownAddress(address);
  const proxy = address === undefined ? "" : proxyNote(address);
  return new SessionError("PROVIDER_ERROR", {
    detail: `${id}: ${server} did not answer in time.`,
    hint: `Check that a server of models listens there, and your network.${placeOf(context)}${proxy}`,
    retry: {},
  });
}

/** An answer that no server of models gives. */
export function notOfModels(address: string, what: string): SessionError {
  return new SessionError("PROVIDER_ERROR", {
    detail: `${shownAddress(address)} answers with ${what}, so it is no server of models.`,
    hint: "Check the base URL: its host, its port, and its path, which is often /v1.",
  });
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

/** The position of the next digit, or the end of the text. */
function nextDigit(text: string, from: number): number {
  let at = from;
  while (at < text.length && !isDigit(text.charCodeAt(at))) at += 1;
  return at;
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

/** The time that a provider asks to wait: from the headers, or from the body (Google). */
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

/** The facts of an error of the AI SDK, of the network, or within a stream. */
interface FailureFacts {
  readonly name: string;
  /** The provider's own message, if it has one. */
  readonly message: string;
  readonly status: number | undefined;
  /** The provider's own code and type. */
  readonly code: string;
  readonly headers: Fields;
  readonly body: string;
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads an error by its fields, not by its class: the AI SDK's packages are
 * optional, and there may be several copies of them.
 */
function failureFacts(error: unknown): FailureFacts {
  const fields = fieldsOf(error);
  const body = typeof fields.responseBody === "string" ? fields.responseBody : "";
  // An error within a stream may be the provider's own object.
  const data = fieldsOf(fields.data ?? parsedJson(body) ?? (error instanceof Error ? {} : error));
  const details = fieldsOf(fieldsOf(data.response).error ?? data.error ?? data);
  const words = [details.message, data.message, data.error, data.detail].find(isWord);
  const codes = [details.code, details.type, details.status, fields.code, fields.type];
  return {
    name: String(fields.name ?? ""),
    message: words ? errorText(words) : fallbackMessage(error, body),
    status:
      statusOf(fields.statusCode) ??
      statusOf(fields.status) ??
      statusOf(details.code) ??
      statusOf(data.code),
    code: codes.filter(isWord).join(" "),
    headers: fieldsOf(fields.responseHeaders),
    body,
  };
}

function fallbackMessage(error: unknown, body: string): string {
  const isPage = /^\s*</.test(body);
  if (body !== "" && !isPage) return errorText(body);
  if (!(error instanceof Error)) return errorText(JSON.stringify(error));
  // `fetch failed` and `terminated` mean nothing without their cause.
  const cause = error.cause instanceof Error ? error.cause.message : "";
  return errorText(error.message.includes(cause) ? error.message : `${error.message} (${cause})`);
}

function statusOf(value: unknown): number | undefined {
  const status = typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : value;
  return typeof status === "number" && status >= 400 && status <= 599 ? status : undefined;
}

function isWord(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "";
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}
