import {
  type GivenInstructions,
  isUsersWord,
  type Origin,
  type StandingInstruction,
} from "../core/event.ts";
import { contentText, type UserMessage } from "../core/message.ts";
import type { SessionState } from "../core/session-state.ts";
import { utf8Bytes } from "../core/tokens.ts";
import { contradicts, statementOf } from "./contradicts.ts";
import { instructionsIn, preferencesIn } from "./lasting-wishes.ts";

/**
 * The standing instructions in a user's message. A later one replaces an earlier one that it contradicts or
 * repeats. The newest are kept, within `bytesMax`.
 */
export function givenInstructions(
  { working, settings }: Pick<SessionState, "working" | "settings">,
  said: { readonly content: UserMessage["content"]; readonly origin: Origin | undefined },
  bytesMax: number,
): GivenInstructions {
  const text = contentText(said.content);
  const lasting = new Set(settings.knowledge ? preferencesIn(text) : []);
  const held = working.instructions.map(({ id, text }) => ({ id, text }));
  const instructions: StandingInstruction[] = [];
  for (const words of isUsersWord(said.origin) ? instructionsIn(text) : []) {
    const earlier = [...held, ...instructions];
    const replaces = earlier.filter((one) => cannotStay(one.text, words)).map(({ id }) => id);
    instructions.push({
      id: earlier.reduce((most, { id }) => Math.max(most, id), 0) + 1,
      text: words,
      ...(replaces.length > 0 ? { replaces } : {}),
      ...(lasting.has(words) ? { lasting: true } : {}),
    });
  }
  if (instructions.length === 0) return {};
  const leftOut = withoutRoom([...held, ...instructions], bytesMax);
  return { instructions, ...(leftOut.length > 0 ? { instructions_left_out: leftOut } : {}) };
}

/** Whether a later statement repeats or contradicts an instruction. */
function cannotStay(earlier: string, later: string): boolean {
  return (
    earlier.toLowerCase() === later.toLowerCase() ||
    contradicts(statementOf(later), statementOf(earlier))
  );
}

/** Ids of the oldest instructions that hold but do not fit. */
function withoutRoom(
  all: readonly Pick<StandingInstruction, "id" | "text" | "replaces">[],
  bytesMax: number,
): readonly number[] {
  const replaced = new Set(all.flatMap(({ replaces = [] }) => replaces));
  const holding = all.filter(({ id }) => !replaced.has(id));
  let bytes = 0;
  const last = holding.findLastIndex(({ text }) => {
    bytes += utf8Bytes(text) + 3;
    return bytes > bytesMax;
  });
  return holding.slice(0, last + 1).map(({ id }) => id);
}
