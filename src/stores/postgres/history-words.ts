import type { DurableEvent } from "../../core/event.ts";
import { STOP_WORDS } from "../../search/stop-words.ts";
import { askedWords, isBeginning, stem, stemsOf } from "../../search/words.ts";
import { eventText } from "../history/event-text.ts";

/** A `tsvector` has room for a megabyte. What a longer text says last is not found. */
const VECTOR_BYTES_MAX = 900_000;

/**
 * The words by which a search finds an event, as the text of a `tsvector`; `null` when it has none.
 *
 * The words are rkat's own, as in memory, because PostgreSQL has no words for scripts without spaces.
 */
export function eventWords(event: DurableEvent): string | null {
  const said = eventText(event);
  if (!said) return null;
  const words = stemsOf(said.text);
  const text = quotedAll(words);
  // A character has at most three bytes for each unit of its length.
  const isShort = 3 * text.length + ENTRY_BYTES * words.length <= VECTOR_BYTES_MAX;
  return (isShort ? text : quotedAll(fitting(words))) || null;
}

/** What a `tsvector` has of each word beside it. */
const ENTRY_BYTES = 8;

/** The first of the words, as many as a `tsvector` has room for. */
function fitting(words: readonly string[]): readonly string[] {
  let bytes = 0;
  return words.filter((word) => {
    bytes += Buffer.byteLength(word) + ENTRY_BYTES;
    return bytes <= VECTOR_BYTES_MAX;
  });
}

/** More words make a search slower, but not better. */
const WORDS_MAX = 64;

/** The words of a question, each as a `tsquery`; empty when it has none. */
export function askedForWords(query: string): readonly string[] {
  const all = askedWords(query);
  const telling = all.filter((word) => !STOP_WORDS.has(word));
  const asked = (telling.length > 0 ? telling : all).map((word) =>
    isBeginning(word) ? `${quoted(word)}:*` : quoted(stem(word)),
  );
  return [...new Set(asked)].slice(0, WORDS_MAX);
}

function quotedAll(words: readonly string[]): string {
  return words.map(quoted).join(" ");
}

function quoted(word: string): string {
  if (!/['\\]/.test(word)) return `'${word}'`;
  return `'${word.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
}
