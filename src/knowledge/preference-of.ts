import type { NewKnowledge } from "../core/knowledge.ts";
import { hashOf } from "./hash-of.ts";

/** A key that ignores case and punctuation. */
export function statementKey(kind: "preference" | "rule" | "fact", text: string): string {
  const words = text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
  return hashOf(kind, words === "" ? text : words);
}

/** The preference for a sentence of a user. */
export function preferenceOf(
  text: string,
  at: {
    readonly sessionId: string;
    readonly seq: number;
    readonly index: number;
    readonly time: string;
  },
): NewKnowledge {
  const { sessionId, seq, index, time } = at;
  return {
    id: `preference:${sessionId}:${seq}:${index}`,
    kind: "preference",
    content: text,
    tags: ["preference"],
    origin: "user",
    sessionId,
    source: { from: seq, to: seq },
    time,
    keys: [statementKey("preference", text)],
  };
}
