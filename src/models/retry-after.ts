import type { FailureFacts } from "./failure-facts.ts";

/** How long a provider asks to wait: from the headers, or from the body (Google). */
export function retryAfterMs({
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
