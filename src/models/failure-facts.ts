import { errorText } from "../core/errors.ts";

/** What is known about an error of the AI SDK, of the network, or within a stream. */
export interface FailureFacts {
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
export function failureFacts(error: unknown): FailureFacts {
  const fields = fieldsOf(error);
  const body = typeof fields.responseBody === "string" ? fields.responseBody : "";
  // An error within a stream may be the provider's own object.
  const data = fieldsOf(fields.data ?? parsed(body) ?? (error instanceof Error ? {} : error));
  const details = fieldsOf(fieldsOf(data.response).error ?? data.error ?? data);
  const words = [details.message, data.message, data.error, data.detail].find(isWord);
  const codes = [details.code, details.type, details.status, fields.code, fields.type];
  return {
    name: String(fields.name ?? ""),
    message: words ? errorText(words) : fallbackMessage(error, body),
    status: statusOf(fields.statusCode) ?? statusOf(details.code) ?? statusOf(data.code),
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
