import { MEMORY_KINDS, type MemoryEntry } from "../../src/core/memory-store.ts";
import {
  HITS,
  type IndexedPassage,
  indexedPassages,
} from "../../src/indexing/passages/indexed-passages.ts";
import type {
  DetailColumns,
  PassageColumns,
  PassageIndex,
  Postings,
} from "../../src/indexing/passages/passage-index.ts";
import { blockOf } from "../../src/indexing/score/word-amounts.ts";
import { instant } from "../../src/text/time/calendar.ts";

/** Empty slots before and after each run. */
const PADS = 2;

/** A `PassageIndex` in memory, which knows the entry of each slot. */
export interface InMemoryIndex extends PassageIndex {
  entryAt(slot: number): MemoryEntry | undefined;
}

export interface IndexedEntry {
  readonly entry: MemoryEntry;
  readonly passages: readonly IndexedPassage[];
}

export function indexedEntry(entry: MemoryEntry): IndexedEntry {
  return { entry, passages: indexedPassages(entry) };
}

/** The words of a passage with their hits. */
export function hitsOf({ vocabulary, words }: IndexedPassage): ReadonlyMap<string, number> {
  const hits = [...words].map((packed): [string, number] => [
    vocabulary.textOf(Math.floor(packed / HITS)),
    packed % HITS,
  ]);
  return new Map(hits);
}

/** Indexes entries in the order in which they were stored. Consecutive entries of a session are one run. */
export function inMemoryIndex(entries: readonly IndexedEntry[]): InMemoryIndex {
  const places = placesOf(entries);
  const slots = (places.at(-1)?.end ?? 0) + PADS;
  const sessions = numbers();
  const labels = numbers();
  const label = (text: string | undefined) => (text === undefined ? 0 : labels.numberOf(text));
  const columns: PassageColumns = {
    entry: new Uint32Array(slots),
    length: new Uint8Array(slots),
    session: new Uint32Array(slots),
    flags: new Uint8Array(slots),
  };
  const details: DetailColumns = {
    role: new Uint32Array(slots),
    speaker: new Uint32Array(slots),
    kind: new Uint8Array(slots),
    time: new Float64Array(slots).fill(Number.NaN),
  };
  const words = new Map<string, { slots: number[]; hits: number[] }>();
  const slotsOfSession = new Map<string, number[]>();
  for (const { entry, passages, start, end } of places) {
    columns.entry.fill(start, start, end);
    columns.session.fill(sessions.numberOf(entry.sessionId), start, end);
    details.role.fill(label(entry.role), start, end);
    details.speaker.fill(label(entry.speaker), start, end);
    details.kind.fill(MEMORY_KINDS.indexOf(entry.kind), start, end);
    details.time.fill(instant(entry.time), start, end);
    passages.forEach((passage, index) => {
      const slot = start + index;
      columns.length[slot] = passage.length;
      columns.flags[slot] = passage.flags;
      getOrAdd(slotsOfSession, entry.sessionId, () => []).push(slot);
      for (const [word, hits] of hitsOf(passage)) {
        const list = getOrAdd(words, word, () => ({ slots: [], hits: [] }));
        list.slots.push(slot);
        list.hits.push(hits);
      }
    });
  }
  for (const slots of slotsOfSession.values()) linkRuns(slots, columns.entry);
  const postings = new Map([...words].map(([word, list]) => [word, packed(list)]));
  const entryBySlot = new Map(places.map(({ entry, start }) => [start, entry]));
  return {
    slots,
    passages: places.reduce((sum, { start, end }) => sum + end - start, 0),
    columns,
    details: () => details,
    sessions: slotsOfSession.size,
    lastSession: slotsOfSession.size,
    links: { version: 0, changedSince: () => [] },
    postings: (word) =>
      word.endsWith("*")
        ? united(
            [...postings].flatMap(([one, list]) =>
              one.startsWith(word.slice(0, -1)) ? [list] : [],
            ),
          )
        : (postings.get(word) ?? NOWHERE),
    blocksOfSession: (number) => {
      const slots = [...columns.session.keys()].filter((slot) => columns.session[slot] === number);
      return Uint32Array.from(new Set(slots.map(blockOf)));
    },
    sessionNumber: sessions.find,
    labelNumber: labels.find,
    label: labels.at,
    entryAt: (slot) => entryBySlot.get(columns.entry[slot] ?? -1),
  };
}

const NOWHERE: Postings = { slots: new Uint32Array(), hits: new Uint8Array() };

function placesOf(entries: readonly IndexedEntry[]) {
  let end = PADS;
  let before: string | undefined;
  return entries.map(({ entry, passages }) => {
    if (before !== undefined && before !== entry.sessionId) end += 2 * PADS;
    before = entry.sessionId;
    const start = end;
    end += passages.length;
    return { entry, passages, start, end };
  });
}

/** Links the empty slots around each run to the passages of the session before and after it. */
function linkRuns(slots: readonly number[], links: Uint32Array): void {
  for (const [index, slot] of slots.entries()) {
    const next = slots[index + 1];
    if (next === undefined || next === slot + 1) continue;
    for (let away = 0; away < PADS; away += 1) {
      links[slot + 1 + away] = slots[index + 1 + away] ?? 0;
      links[next - 1 - away] = slots[index - away] ?? 0;
    }
  }
}

function packed(list: { readonly slots: number[]; readonly hits: number[] }): Postings {
  return { slots: Uint32Array.from(list.slots), hits: Uint8Array.from(list.hits) };
}

function united(lists: readonly Postings[]): Postings {
  const hits = new Map<number, number>();
  for (const list of lists) {
    list.slots.forEach((slot, index) => {
      hits.set(slot, Math.max(hits.get(slot) ?? 0, list.hits[index] ?? 0));
    });
  }
  const slots = Uint32Array.from(hits.keys()).sort();
  return { slots, hits: Uint8Array.from(slots, (slot) => hits.get(slot) ?? 0) };
}

/** Numbers texts from 1, in the order of their first use. 0 stands for none. */
function numbers() {
  const found = new Map<string, number>();
  const texts: string[] = [];
  return {
    numberOf: (text: string) => getOrAdd(found, text, () => texts.push(text)),
    find: (text: string) => found.get(text),
    at: (number: number) => texts[number - 1],
  };
}

function getOrAdd<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
