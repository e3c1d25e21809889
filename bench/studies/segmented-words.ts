import { readFileSync } from "node:fs";
import { below, randomFrom } from "../data/random.ts";

/**
 * Whether words of `Intl.Segmenter` find more than pairs of characters, in languages without spaces.
 *
 *     node bench/studies/segmented-words.ts
 *
 * Made-up notes with a question each (`unspaced-notes.txt`), those of a language in one store: alone, and among 600 texts of their parts. Each way of
 * reading is ranked by BM25 with the same numbers. "chance" is a sign test: how likely so many more questions would go one way.
 */

type Read = (text: string) => readonly string[];

const CUT_CHARACTERS = 100;

/** Its time grows with the square of the length, so it is given short pieces. */
function segmented(locale: string): Read {
  const segmenter = new Intl.Segmenter(locale, { granularity: "word" });
  return (text) =>
    (text.match(new RegExp(`.{1,${CUT_CHARACTERS}}`, "gsu")) ?? []).flatMap((piece) =>
      Array.from(segmenter.segment(piece))
        .filter(({ isWordLike }) => isWordLike)
        .map(({ segment }) => segment.toLowerCase()),
    );
}

const LETTERS = /[\p{L}\p{M}\p{N}]+/gu;

const pairs: Read = (text) =>
  (text.match(LETTERS) ?? []).flatMap((run) => {
    const characters = [...run];
    return characters.length < 2
      ? [run]
      : characters.slice(1).map((character, at) => `${characters[at]}${character}`);
  });

const LOCALES: Readonly<Record<string, string>> = {
  Chinese: "zh",
  Japanese: "ja",
  Korean: "ko",
  Thai: "th",
};

interface Note {
  readonly language: string;
  readonly text: string;
  readonly question: string;
}

function notesIn(file: string): readonly Note[] {
  const notes: Note[] = [];
  let language = "";
  let text = "";
  for (const line of file.trim().split("\n")) {
    if (line.startsWith("## ")) language = line.slice(3);
    else if (line.startsWith("# ")) text = line.slice(2);
    else notes.push({ language, text, question: line });
  }
  return notes;
}

/** The rank of each question's note, from 1; Infinity when nothing of it is found. */
function ranks(notes: readonly Note[], asked: readonly Note[], read: Read): readonly number[] {
  const texts = notes.map(({ text }) => Map.groupBy(read(text), (word) => word));
  const lengths = texts.map((words) => [...words.values()].reduce((sum, of) => sum + of.length, 0));
  const mean = lengths.reduce((sum, length) => sum + length, 0) / notes.length;
  const having = (word: string) => texts.filter((words) => words.has(word)).length;
  return asked.map((note) => {
    const scores = texts.map((words, at) =>
      [...new Set(read(note.question))].reduce((sum, word) => {
        const count = words.get(word)?.length ?? 0;
        const rarity = Math.log(1 + (notes.length - having(word) + 0.5) / (having(word) + 0.5));
        const length = 0.25 + 0.75 * ((lengths[at] ?? 0) / mean);
        return sum + (rarity * count * 2.2) / (count + 1.2 * length);
      }, 0),
    );
    const own = scores[notes.indexOf(note)] ?? 0;
    // Of equal ones, the answer is taken for the last.
    return own === 0 ? Number.POSITIVE_INFINITY : scores.filter((score) => score >= own).length;
  });
}

/** The chance that of all questions that differ at least so many go the same way. */
function chance(one: readonly number[], other: readonly number[]): number {
  const better = one.filter((rank, at) => rank < (other[at] ?? 0)).length;
  const worse = one.filter((rank, at) => rank > (other[at] ?? 0)).length;
  const [all, most] = [better + worse, Math.max(better, worse)];
  let [ways, sum] = [1, 0];
  for (let count = 0; count <= all; count += 1) {
    if (count >= most) sum += ways;
    ways = (ways * (all - count)) / (count + 1);
  }
  return Math.min(1, (2 * sum) / 2 ** all);
}

function speedOf(read: Read, notes: readonly Note[]): number {
  const text = notes
    .map((note) => note.text)
    .join("")
    .repeat(60);
  read(text);
  const before = process.cpuUsage();
  read(text);
  const { user, system } = process.cpuUsage(before);
  return Buffer.byteLength(text) / (user + system);
}

const OTHERS = 600;
const PARTS = 4;

/** Texts of parts of other notes, cut anywhere, so that they share words and pieces of words with the questions. */
function mixed(notes: readonly Note[], language: string): readonly Note[] {
  const random = randomFrom(language.length);
  const part = () => {
    const characters = [...(notes[below(notes.length, random)]?.text ?? "")];
    const start = below(Math.max(1, characters.length - 4), random);
    return characters.slice(start, start + 2 + below(5, random)).join("");
  };
  return Array.from({ length: OTHERS }, () => ({
    language,
    text: Array.from({ length: PARTS }, part).join(""),
    question: "",
  }));
}

const all = notesIn(readFileSync(new URL("./unspaced-notes.txt", import.meta.url), "utf8"));
for (const [language, locale] of Object.entries(LOCALES)) {
  const own = all.filter((note) => note.language === language);
  const words = segmented(locale);
  const ways: Readonly<Record<string, Read>> = {
    pairs,
    words,
    "words and pairs": (text) => [...words(text), ...pairs(text).map((pair) => `2 ${pair}`)],
  };
  const among = [...own, ...mixed(own, language)];
  const base = ranks(among, own, pairs);
  for (const [name, read] of Object.entries(ways)) {
    const found = ranks(among, own, read);
    const alone = ranks(own, own, read).filter((rank) => rank === 1).length;
    const first = found.filter((rank) => rank === 1).length;
    const reciprocal = found.reduce((sum, rank) => sum + 1 / rank, 0) / found.length;
    const missed = found.filter((rank) => !Number.isFinite(rank)).length;
    const terms = own.reduce((sum, { text }) => sum + read(text).length, 0);
    console.log(
      [
        language.padEnd(9),
        name.padEnd(16),
        `first ${alone} of ${own.length} alone`,
        `${first} among ${OTHERS}`,
        `MRR ${reciprocal.toFixed(3)}`,
        `missed ${missed}`,
        `terms ${terms}`,
        `${speedOf(read, own).toFixed(1)} MB/s`,
        name === "pairs" ? "" : `chance ${chance(found, base).toFixed(2)}`,
      ].join("  "),
    );
  }
}
console.log(`ICU ${process.versions.icu}, ${all.length} questions`);
