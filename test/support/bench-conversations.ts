import { existsSync, readFileSync } from "node:fs";

/** Conversations of real people and models, which lie beside this repository on some machines only. */
const DATA = new URL("../../../shared/bench/data/", import.meta.url);

const SETS = ["locomo", "realtalk", "beam128k"] as const;

/** Why there are no conversations to test with; nothing when there are. */
export const NO_CONVERSATIONS = existsSync(DATA) ? undefined : "needs ../shared/bench/data";

export interface BenchConversation {
  readonly name: string;
  /** As chat JSON Lines. */
  readonly chat: Uint8Array;
  /** What was said, line by line. */
  readonly texts: readonly string[];
}

interface Said {
  readonly conv: string;
  readonly speaker: string;
  readonly text: string;
  readonly session: string;
  readonly time: string;
}

/** The conversations of each set. */
export function benchConversations(): readonly BenchConversation[] {
  if (NO_CONVERSATIONS) return [];
  return SETS.flatMap((set) => {
    const lines = readFileSync(new URL(`${set}/docs.jsonl`, DATA), "utf8")
      .trimEnd()
      .split("\n");
    const said = lines.map((line): Said => JSON.parse(line));
    return [...Map.groupBy(said, ({ conv }) => conv)].map(([name, messages]) => ({
      name,
      chat: asChat(messages),
      texts: messages.map(({ text }) => text),
    }));
  });
}

/** Of two people, the first to speak is the user, and the other the assistant. */
function asChat(messages: readonly Said[]): Uint8Array {
  const userNames = ["user", messages[0]?.speaker === "assistant" ? "user" : messages[0]?.speaker];
  const lines = messages.map(({ speaker, text, session, time }) => {
    const role = userNames.includes(speaker) ? "user" : "assistant";
    return JSON.stringify({ role, content: text, speaker, session, time });
  });
  return new TextEncoder().encode(lines.join("\n"));
}
