import type { UndoOutcome } from "../../core/operations/history.ts";
import { plural, thousands } from "./amounts.ts";

/** The outcome of an undo, in a sentence or two. */
export function renderUndo(outcome: UndoOutcome): string {
  if (!outcome.undone) {
    return `Nothing was undone. ${outcome.reason}`;
  }
  const { returned, leftOut, messages, usedTokens, tokensMax, event } = outcome;
  const room = tokensMax === null ? "" : ` of ${thousands(tokensMax)}`;
  const out = leftOut.length === 0 ? "" : ` ${plural(leftOut.length, "message")} stayed out.`;
  return `Undone (event ${event}): ${plural(returned.length, "message")} came back, the history has ${messages}. The next request has about ${thousands(usedTokens)}${room} tokens.${out}`;
}
