import type { DurableEvent } from "../../core/event.ts";
import { STOP_WORDS } from "../../search/stop-words.ts";
import { askedWords, isBeginning, stem, stemmedWords } from "../../search/words.ts";
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
  const words = [...new Set(stemmedWords(said.text))];
  let bytes = 0;
  const kept = words.filter((word) => {
    bytes += Buffer.byteLength(word) + ENTRY_BYTES;
    return bytes <= VECTOR_BYTES_MAX;
  });
  return kept.length === 0 ? null : kept.map(quoted).join(" ");
}

/** What a `tsvector` has of each word beside it. */
const ENTRY_BYTES = 8;

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

function quoted(word: string): string {
  return `'${word.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
}
