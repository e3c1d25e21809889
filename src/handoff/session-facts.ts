import { indexableText, toolUses } from "../core/message.ts";
import { filesOfCall } from "../core/working-memory.ts";
import { instructionsIn } from "../knowledge/instructions-in.ts";
import { type HandoffMessage, type HandoffSource, isTyped, type Quote } from "./handoff-source.ts";
import { quotable } from "./quote-form.ts";

/** What the work is for: the goal of the task record, or what the person asked first. */
export function goalOf({ messages, task }: HandoffSource): Quote | undefined {
  if (task && task.goal !== "") return { at: task.at, by: "user", text: task.goal };
  const first = messages.find((each) => isTyped(each) && indexableText(each.message).trim() !== "");
  return first && { at: first.at, by: "user", text: indexableText(first.message) };
}

/** What holds for the rest of the work, and what was refused and why. The newest comes first. */
export function standingInstructions(messages: readonly HandoffMessage[]): readonly Quote[] {
  const found = messages.flatMap((each): readonly Quote[] => {
    const { at, message, denied = [] } = each;
    const own = isTyped(each) ? instructionsIn(quotable(indexableText(message))) : [];
    const refused = denied.flatMap(({ reason = "" }) => (reason.trim() === "" ? [] : [reason]));
    return [...own, ...refused].map((text) => ({ at, by: "user", text }));
  });
  return newestOfEach(found);
}

/** A sentence that says what was chosen, or what was ruled out. */
const DECISION =
  /\b(?:decided|decision|we(?:'ll|’ll| will)? (?:chose|choose|go with|use|keep|settle)|agreed|settled on|let(?:'|’)?s (?:use|go with|keep)|chose|ruled out|rejected|instead of|rather than|trade-?off)\b/iu;

const SENTENCE = { min: 15, max: 300 } as const;

/** What was decided, in the words of either side. The newest comes first. */
export function decisions(messages: readonly HandoffMessage[]): readonly Quote[] {
  const found = messages.flatMap((each): readonly Quote[] => {
    const { at, message } = each;
    const by = message.role === "user" ? "user" : "assistant";
    if (by === "user" && !isTyped(each)) return [];
    return sentencesIn(indexableText(message))
      .filter(({ length }) => length >= SENTENCE.min && length <= SENTENCE.max)
      .filter((sentence) => DECISION.test(sentence) && !sentence.endsWith("?"))
      .map((text) => ({ at, by, text }));
  });
  return newestOfEach(found);
}

function sentencesIn(text: string): readonly string[] {
  return text
    .split("\n")
    .filter((line) => !/^\s*[>|]/.test(line))
    .flatMap((line) => line.split(/(?<=[.!?])\s+/))
    .map((sentence) => sentence.trim());
}

/** What the person asked, without the first and the last time. The newest comes first. */
export function requestsBetween(messages: readonly HandoffMessage[]): readonly Quote[] {
  const asked = messages.filter(isTyped).map(
    ({ at, message }): Quote => ({
      at,
      by: "user",
      text: indexableText(message),
    }),
  );
  return newestOfEach(asked.slice(1, -1).filter(({ text }) => text.trim() !== ""));
}

const CHANGES = /write|edit|patch|replace|create|insert|delete|move|rename/i;

/** The files that tools changed, then those that they only read. The newest of each comes first. */
export function filesOf(messages: readonly HandoffMessage[]): readonly Quote[] {
  const used = messages.flatMap(({ at, message }) =>
    toolUses(message).flatMap(({ name, args }) =>
      [...filesOfCall({ args }), ...patchedFiles(args)].map((text) => ({
        quote: { at, by: "assistant" as const, text },
        isChange: CHANGES.test(name) || patchedFiles(args).length > 0,
      })),
    ),
  );
  const quotes = (wanted: boolean) =>
    used.filter(({ isChange }) => isChange === wanted).map(({ quote }) => quote);
  const changed = newestOfEach(quotes(true));
  const names = new Set(changed.map(({ text }) => text));
  return [...changed, ...newestOfEach(quotes(false)).filter(({ text }) => !names.has(text))];
}

/** The files of a patch as Codex writes it: `*** Update File: src/server.ts`. */
function patchedFiles(args: unknown): readonly string[] {
  const text = typeof args === "string" ? args : JSON.stringify(args ?? "");
  if (!text.includes("*** ")) return [];
  const found = text.matchAll(/\*\*\* (?:Update|Add|Delete) File: ([^"\\\n]{1,300})/g);
  return Array.from(found, ([, path = ""]) => path.trim());
}

/** Each text once, where it was said last. */
function newestOfEach(quotes: readonly Quote[]): readonly Quote[] {
  const found = new Map<string, Quote>();
  for (const quote of quotes.toReversed()) if (!found.has(quote.text)) found.set(quote.text, quote);
  return [...found.values()];
}
