import { SessionError } from "../core/errors.ts";
import { shown } from "../core/options.ts";

export function requireView(view: unknown): void {
  const given = (typeof view === "object" && view !== null ? view : {}) as Record<string, unknown>;
  const missing = ["read", "summary", "shorten"].filter(
    (name) => typeof given[name] !== "function",
  );
  if (missing.length === 0) return;
  throw new SessionError("INVALID_PARAMS", {
    message: `view lacks ${missing.map((name) => `${name}()`).join(", ")}.`,
    hint: "A MessageView is an object with read(), summary() and shorten().",
  });
}

export function requireSummarize(summarize: unknown): void {
  if (summarize === undefined || summarize === "fallback" || typeof summarize === "function")
    return;
  throw new SessionError("INVALID_PARAMS", {
    message: `summarize is ${shown(summarize)}; it has to be a function or "fallback".`,
  });
}

export function missingSummarize(): SessionError {
  return new SessionError("INVALID_PARAMS", {
    message: "summarize is missing: the window needs a function that asks a model for a summary.",
    hint: 'Pass `summarize`, or `summarize: "fallback"` for summaries without a model.',
  });
}

export function requirePositive(name: string, value: number | undefined): void {
  if (value === undefined || (typeof value === "number" && value > 0)) return;
  throw new SessionError("INVALID_PARAMS", {
    message: `${name} is ${shown(value)}; it has to be above 0.`,
  });
}

export function requireMessages(history: unknown): void {
  if (!Array.isArray(history)) {
    const found = history === null ? "null" : typeof history;
    throw new SessionError("INVALID_PARAMS", {
      message: `The history is ${found}, not an array of messages.`,
      hint: "Pass the messages of your loop, oldest first.",
    });
  }
}

export function requireRoom(systemTokens: number, otherTokens: number, threshold: number): void {
  if (systemTokens + otherTokens < threshold) return;
  throw new SessionError("PROMPT_EXCEEDS_THRESHOLD", {
    detail: `System messages take about ${systemTokens} tokens, instructions and tools about ${otherTokens}; the threshold is ${threshold}.`,
  });
}
