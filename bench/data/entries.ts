import type { MemoryEntry } from "rkat";
import { CONVERSATION_ENTRIES, conversation, type Question } from "./conversation.ts";

const SEED = 1;

/** The made-up entries from `from` up to `to`, in batches; always the same ones. */
export function* madeUpBatches(
  from: number,
  to: number,
  batchSize: number,
): Generator<readonly MemoryEntry[]> {
  let batch: MemoryEntry[] = [];
  for (let number = Math.floor(from / CONVERSATION_ENTRIES); ; number += 1) {
    const start = number * CONVERSATION_ENTRIES;
    if (start >= to) break;
    const { entries } = conversation(number, SEED);
    for (const entry of entries.slice(Math.max(0, from - start), to - start)) {
      batch.push(entry);
      if (batch.length < batchSize) continue;
      yield batch;
      batch = [];
    }
  }
  if (batch.length > 0) yield batch;
}

/** Questions with answers, spread over the first `size` made-up entries. */
export function madeUpQuestions(size: number, count: number): Question[] {
  const conversations = Math.max(1, Math.floor(size / CONVERSATION_ENTRIES));
  const perConversation = Math.ceil(count / conversations);
  const step = Math.max(1, Math.floor(conversations / count));
  const questions: Question[] = [];
  for (let number = 0; number < conversations && questions.length < count; number += step) {
    const answerable = conversation(number, SEED).questions.filter(
      ({ relevant }) => relevant.length > 0,
    );
    // The kinds alternate, because the questions are in the order in which they were made.
    for (let index = 0; index < perConversation; index += 1) {
      const question = answerable[(number * 7 + index * 13) % answerable.length];
      if (question) questions.push(question);
    }
  }
  return questions.slice(0, count);
}
