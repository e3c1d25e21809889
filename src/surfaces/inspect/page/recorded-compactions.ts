import { anchorsIn } from "../../../compaction/anchors.ts";
import type { SessionEvent } from "../../../core/event.ts";
import { indexableText, type Message, SUMMARY_PREFIX, wordsOf } from "../../../core/message.ts";
import type { CompactedMessage } from "../../../core/operations/history.ts";
import { estimateTokens } from "../../../core/tokens.ts";
import type { Wire } from "./wire.ts";

/** A compaction that another agent had made, as its imported session has it. */
export interface RecordedCompaction {
  readonly seq: number;
  readonly time: number;
  readonly summary: string;
  /** The messages since its window was compacted or cleared before. */
  readonly said: readonly SaidBefore[];
}

interface SaidBefore {
  readonly id: number;
  readonly message: Message;
  readonly isRemembered: boolean;
}

type Imported = Extract<SessionEvent, { type: "message_added" }>;

/** Collects the compactions of an imported session, event by event. */
export class RecordedCompactions {
  readonly all: RecordedCompaction[] = [];
  #said: SaidBefore[] = [];

  note(seq: number, time: number, { message, imported, memory }: Imported): void {
    if (!imported) return;
    const { boundary } = imported;
    if (boundary === "compaction")
      this.all.push({ seq, time, summary: summaryIn(message), said: this.#said });
    if (boundary !== undefined) this.#said = [];
    if (boundary !== "compaction")
      this.#said.push({ id: seq, message, isRemembered: memory !== false });
  }
}

/** A summary without the words that rkat puts before it. */
export function summaryIn(message: Message): string {
  const text = wordsOf(message);
  return text.startsWith(SUMMARY_PREFIX) ? text.slice(SUMMARY_PREFIX.length) : text;
}

/** Names that are shown of a message. */
const NAMES_MAX = 5;
/** Characters of a message in the list. */
const SHOWN = 200;

export type LeftMessage = Omit<Wire<CompactedMessage>, "turn">;

/** The fate of each message: the part that the summary has, and where rkat finds the rest. */
export function leftBy({ summary, said }: RecordedCompaction): readonly LeftMessage[] {
  const told = oneLine(summary);
  const known = new Set(anchorsIn(summary).map(({ text }) => text));
  return said.map(({ id, message, isRemembered }) => {
    const words = oneLine(indexableText(message));
    const text = wordsOf(message);
    const names = [...new Set(anchorsIn(text).map((anchor) => anchor.text))].filter((name) =>
      known.has(name),
    );
    const isQuoted = words !== "" && told.includes(words);
    const otherwise = isRemembered && words !== "" ? "in_memory" : "in_log";
    return {
      id,
      role: roleOf(message),
      text: oneLine(text).slice(0, SHOWN),
      tokens: estimateTokens([message]),
      fate: isQuoted ? "quoted" : names.length > 0 ? "named" : otherwise,
      names: names.slice(0, NAMES_MAX),
    };
  });
}

function roleOf({ role }: Message): LeftMessage["role"] {
  if (role === "tool_results") return "tool";
  return role === "block_assistant" ? "assistant" : role;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}
