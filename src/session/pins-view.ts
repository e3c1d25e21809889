import { joinedWith } from "../compaction/measure-history.ts";
import { SessionError } from "../core/errors.ts";
import type { HistoryEntry } from "../core/history-entry.ts";
import {
  contentText,
  indexableText,
  isSummary,
  type Message,
  toolResults,
  toolUses,
} from "../core/message.ts";
import type { PinnedMessage, Pins } from "../core/session-service.ts";
import type { SessionState } from "../core/session-state.ts";
import { headWithin } from "../core/tokens.ts";

/** UTF-8 bytes of each message in the list of pins. */
const SHOWN_BYTES = 200;

/** The pinned messages in the history of a session. */
export function pinsView(state: SessionState, tokensMax: number): Pins {
  const pins = state.pinnedPositions.map((position): PinnedMessage => {
    const { id, message } = state.history[position] as HistoryEntry;
    return { message: id, position, role: roleOf(message), text: startOf(message) };
  });
  return { pins, tokens: pinTokens(state), tokensMax };
}

/** Estimated tokens of everything that pins keep, if `more` messages were pinned too. */
export function pinTokens(state: SessionState, more: readonly number[] = []): number {
  const pinned = state.history.flatMap(({ id }, index) =>
    state.working.isPinned(id) || more.includes(id) ? [index] : [],
  );
  const weight = [...joinedWith(state.messages, pinned)].reduce(
    (sum, index) => sum + (state.history[index]?.weight ?? 0) + 1,
    0,
  );
  return Math.ceil(weight / 4);
}

/**
 * Returns the entry if it can be pinned.
 *
 * @throws SessionError `NOT_POSSIBLE`
 */
export function pinnable(entry: HistoryEntry): HistoryEntry {
  if (entry.message.role === "system") {
    refuse("A system message needs no pin: every compaction keeps it as it is.");
  }
  if (isSummary(entry.message)) {
    refuse(
      "A summary cannot be pinned: the next compaction replaces it. Pin a message, or put what matters into the task record.",
    );
  }
  return entry;
}

function refuse(message: string): never {
  throw new SessionError("NOT_POSSIBLE", { message });
}

function roleOf({ role }: Message): PinnedMessage["role"] {
  if (role === "tool_results") return "tool";
  return role === "user" ? "user" : "assistant";
}

/** The start of a message, on one line. */
function startOf(message: Message): string {
  const calls = toolUses(message).map(({ name }) => `[calls ${name}]`);
  const results = toolResults(message).map(({ content }) => content);
  const said = message.role === "user" ? contentText(message.content) : indexableText(message);
  const line = [said, ...calls, ...results].join(" ").replace(/\s+/g, " ").trim();
  return headWithin(line, SHOWN_BYTES);
}
