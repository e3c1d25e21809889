import type { FailureFacts } from "./failure-facts.ts";

/** How long a provider says to wait: in its headers, or in the body as Google does. */
export function retryAfterMs({
  headers,
  body,
}: Pick<FailureFacts, "headers" | "body">): number | undefined {
  const milliseconds = Number.parseFloat(String(headers["retry-after-ms"]));
  if (milliseconds >= 0) return Math.ceil(milliseconds);
  return headerMs(headers["retry-after"]) ?? bodyMs(body);
}

/** Seconds, or the date to wait for. */
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
