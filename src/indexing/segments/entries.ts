import { SessionError } from "../../core/errors.ts";
import { fields, isNumber, isText, listOf, maybe, orNull } from "../../core/fields.ts";
import { parsedJson } from "../../core/json-values.ts";
import { type EntryMarks, MEMORY_KINDS, type MemoryEntry } from "../../core/memory-store.ts";
import { instant, isTime } from "../../text/time/calendar.ts";
import {
  fittedPassages,
  HITS,
  type IndexedPassage,
  textsOf,
} from "../passages/indexed-passages.ts";
import { SAID_MASK } from "../passages/passage-index.ts";
import type { Draft } from "../port/asking.ts";
import type { EntryRow, LabelRow, NewEntry } from "../port/index-store.ts";
import { foldText } from "../words/fold-text.ts";
import { hashOfKey, ROW, STAMP } from "../words/vocabulary.ts";
import { wordReader } from "../words/word-reader.ts";
import { stemmedWords } from "../words/words.ts";
import type { EntryColumns } from "./columns.ts";
import { type SortedWords, WordPlaces } from "./sorted-words.ts";

const isCount = orNull(isNumber);
const isLabel = orNull(isText);
const isRow = fields({
  id: isText,
  sessionId: isText,
  content: isText,
  turn: isCount,
  kind: isNumber,
  roleText: isLabel,
  speakerText: isLabel,
  sourceFrom: isCount,
  sourceTo: isCount,
  time: orNull((time) => isText(time) || isTime(time)),
  marks: (marks) => marks === null || marksIn(marks) !== undefined,
});
const areMarks = fields({
  pinned: maybe((value) => value === true),
  earlier: maybe(listOf(fields({ id: isText, content: isText, until: isText }))),
  keeps: maybe(listOf(fields({ id: isText, since: isText }))),
});

/** @throws SessionError `SESSION_STORE_ERROR` when the row is none that rkat wrote */
export function entryOf(row: EntryRow): MemoryEntry {
  if (!isRow(row)) {
    throw new SessionError("SESSION_STORE_ERROR", {
      detail: "An entry of memory has changed since it was stored.",
      hint: "Restore the store from a backup. `rkat memory verify` checks memory.",
    });
  }
  const time = timeOf(row.time);
  return {
    id: row.id,
    content: row.content,
    sessionId: row.sessionId,
    turn: row.turn,
    kind: MEMORY_KINDS[row.kind] ?? "message",
    ...(time === undefined ? {} : { time }),
    ...(row.roleText === null ? {} : { role: row.roleText }),
    ...(row.speakerText === null ? {} : { speaker: row.speakerText }),
    ...(row.sourceFrom === null || row.sourceTo === null
      ? {}
      : { source: { from: row.sourceFrom, to: row.sourceTo } }),
    ...(row.marks === null ? {} : marksIn(row.marks)),
  };
}

/** The marks of an entry as its row has them. */
export function storedMarks({ pinned, earlier = [], keeps = [] }: EntryMarks): string | null {
  const marks = {
    ...(pinned && { pinned }),
    ...(earlier.length > 0 && { earlier }),
    ...(keeps.length > 0 && { keeps }),
  };
  return Object.keys(marks).length > 0 ? JSON.stringify(marks) : null;
}

function marksIn(stored: unknown): EntryMarks | undefined {
  const marks = parsedJson(String(stored));
  return areMarks(marks) ? (marks as EntryMarks) : undefined;
}

/** A time that JavaScript writes as the same text is stored as its milliseconds. */
export function storedTime(time: string | undefined): NewEntry["time"] {
  if (time === undefined) return null;
  const ms = Date.parse(time);
  return !Number.isNaN(ms) && new Date(ms).toISOString() === time ? ms : time;
}

function timeOf(stored: NewEntry["time"]): string | undefined {
  if (stored === null) return undefined;
  return typeof stored === "number" ? new Date(stored).toISOString() : stored;
}

/** An entry as the index has it. */
export function placedEntry(row: EntryRow): PlacedEntry {
  return {
    slot: row.slot,
    content: row.content,
    passages: fittedPassages(entryOf(row), row.passages),
  };
}

export function columnsOf(row: NewEntry): EntryColumns {
  const { session, role, speaker, kind, time } = row;
  return { session, role, speaker, kind, time: instant(timeOf(time)) };
}

/** An entry, cut into passages, and the slot of the first. */
export interface PlacedEntry {
  readonly slot: number;
  readonly passages: readonly IndexedPassage[];
  readonly content: string;
}

/** The words of entries. The mark of each entry is one of them. */
export function wordsOf(entries: readonly PlacedEntry[]): SortedWords {
  const [first] = entries;
  const vocabulary = first?.passages[0]?.vocabulary ?? wordReader.begin();
  // And a mark for each entry.
  const count = entries.reduce((sum, { passages }) => sum + wordCount(passages), entries.length);
  const places = new WordPlaces(vocabulary, count);
  for (const { slot, passages, content } of entries.toSorted((a, b) => a.slot - b.slot)) {
    const stamp = vocabulary.newStamp();
    let hash = 0;
    let isWordless = true;
    for (let index = 0; index < passages.length; index += 1) {
      const passage = passages[index] as IndexedPassage;
      for (let at = 0; at < passage.words.length; at += 1) {
        const packed = passage.words[at] as number;
        const hits = packed % HITS;
        const own = Math.floor(packed / HITS);
        // While entries were cut, their words may have become too many for one vocabulary.
        const word =
          passage.vocabulary === vocabulary
            ? own
            : vocabulary.numberOf(passage.vocabulary.textOf(own));
        places.add(word, slot + index, hits);
        if ((hits & SAID_MASK) === 0 || vocabulary.rows[ROW * word + STAMP] === stamp) continue;
        vocabulary.rows[ROW * word + STAMP] = stamp;
        hash = (hash + vocabulary.keyOf(word)) >>> 0;
        isWordless = false;
      }
    }
    const mark = markOfHash(isWordless ? wordlessHash(content) : hash);
    places.add(vocabulary.numberOf(mark.word), slot, mark.hits);
  }
  return places.sorted();
}

function wordCount(passages: readonly IndexedPassage[]): number {
  return passages.reduce((sum, { words }) => sum + words.length, 0);
}

/**
 * Finds an entry by its whole text: a word that no text has, and its hits. Texts with the same words have
 * the same mark; so do a few others, by chance.
 */
export interface TextMark {
  readonly word: string;
  readonly hits: number;
}

export function textMark(text: string): TextMark {
  const said = new Set<string>();
  for (const passage of textsOf(text)) for (const word of stemmedWords(passage)) said.add(word);
  let hash = said.size > 0 ? 0 : wordlessHash(text);
  for (const word of said) hash = (hash + hashOfKey(word)) >>> 0;
  return markOfHash(hash);
}

/** `hash` is the sum of the hashes of all words of a text, each once, so that it does not matter where the text was cut. */
function markOfHash(hash: number): TextMark {
  return { word: `=${((hash >>> 8) & 0xfff).toString(16)}`, hits: hash & 0xff };
}

/** Replaces that sum for a text without words. */
function wordlessHash(text: string): number {
  return hashOfKey(foldText(text).replace(/\s+/g, " ").trim());
}

/** Gives roles and speakers their numbers, and counts the entries that have them. */
export class LabelUses {
  readonly #rows: Map<string, LabelRow>;
  #last: number;

  constructor(rows: readonly LabelRow[], last = 0) {
    this.#rows = new Map(rows.map((row) => [row.text, row]));
    this.#last = last;
  }

  /** Counts an entry that has the label, and returns its number; 0 for no label. */
  use(text: string | undefined): number {
    if (text === undefined) return 0;
    const row = this.#rows.get(text) ?? { number: ++this.#last, text, uses: 0 };
    this.#rows.set(text, { ...row, uses: row.uses + 1 });
    return row.number;
  }

  /** One entry less has it. */
  leave(text: string | null): void {
    const row = text === null ? undefined : this.#rows.get(text);
    if (row) this.#rows.set(row.text, { ...row, uses: row.uses - 1 });
  }

  save(draft: Draft): void {
    for (const row of this.#rows.values()) {
      if (row.uses > 0) draft.put("labels", row);
      else draft.remove("labels", row);
    }
  }
}
