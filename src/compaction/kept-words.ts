import type { WordsReport } from "../core/event.ts";
import { given } from "../core/fields.ts";
import { isSummary, type Message } from "../core/message.ts";
import { isNamedIn, speakerName } from "../core/speaker-name.ts";
import { redactSecrets } from "../secrets/redact-secrets.ts";
import { cutMiddle, cutToSize, textSize } from "./cut-text.ts";
import { GENERAL_CUE, LASTING_CUES, lastingCues, SURE_CUES, WEAK_CUES } from "./lasting-cues.ts";
import { summaryText } from "./render-transcript.ts";
import { ANSWERED, QUESTION, requestsIn, SENTENCE_ENDS, type Word } from "./request-outcomes.ts";

/** The names of those who wrote messages. No name is read from a text. */
export type Speakers = ReadonlyMap<Message, string>;

/** The words of a history that is being compacted, from the oldest on. */
export interface Words {
  readonly words: readonly Word[];
  /** How many older ones are in no summary any more. */
  readonly left: number;
}

const HEADING = "[What the user said earlier, word for word, oldest first";
const HEADING_END = "; answered where nothing else is said]";
const SECTION =
  /^(?:; (\d+) older ones? (?:is|are) found by a search)?(?:; by ([^\];\n]+))?(?:; answered where nothing else is said)?\]\n/;
/** A longer text was pasted for the most part: its beginning and its end stay. */
const PASTED_BYTES = 1_200;

/** The longest text that is kept before any longer one. It has what people ask for in passing. */
const SHORT_CHARACTERS = 120;

/** The part of the room that sentences of longer texts may take before short texts. */
const SURE_PART = 1 / 10;

/** The first text of a session says what it is about, so it stays in this part of the room: whole, if it has at most so many bytes. */
const FIRST_PART = 1 / 5;
const FIRST_BYTES = 600;

/** Longer texts stay whole while all of them together take at most this part of the room. */
const WHOLE_PART = 1 / 10;

/** Parts of the room that sentences of other longer texts may take, with all that stands before them in the order. */
interface Parts {
  /** Those that may hold for longer. */
  readonly lasting: number;
  /** Those with one weak cue that they may, and then general ones: "Prices go in euros, without cents." */
  readonly hinted: number;
  /** Any other short ones. */
  readonly passing: number;
}

/** In a talk, people's words would take the room of records of memory, and bring compactions sooner. */
const TALK_PARTS: Parts = { lasting: 2 / 5, hinted: 3 / 10, passing: 1 / 4 };

/** Where an agent works, they are few beside answers and the output of tools. */
export const WORK_PARTS: Parts = { lasting: 3 / 5, hinted: 1 / 2, passing: 2 / 5 };

/** The parts for a history of which people typed this share. */
export function partsFor(typedShare: number): Parts {
  return typedShare < TALK_SHARE ? WORK_PARTS : TALK_PARTS;
}

const TALK_SHARE = 1 / 5;

/** The longest sentence of a longer text that is kept without the rest. */
const SENTENCE_CHARACTERS = 160;

/** Bytes of the sentences of one text: two or three, and more of those that may hold for longer. */
const EXCERPT_BYTES = 260;
const LASTING_EXCERPT_BYTES = 390;

/**
 * A summary without the words that an earlier compaction put below it, and those words.
 */
export function splitWords(summary: string): { readonly summary: string } & Words {
  const at = summary.lastIndexOf(`\n\n${HEADING}`);
  if (at < 0) return { summary, words: [], left: 0 };
  const section = summary.slice(at + 2 + HEADING.length);
  const [heading = "", left = "0", ofAll] = SECTION.exec(section) ?? [];
  const lines = section.slice(heading.length);
  const words = lines.split(/\n(?=• )/).map((entry): Word => {
    const [, mark = "", text = ""] = ENTRY.exec(entry) ?? [];
    const [, by = ofAll, outcome = ""] = MARK.exec(mark) ?? [];
    return {
      ...given({ by }),
      outcome: outcome === "" ? ANSWERED : outcome,
      text: text.replaceAll("\n  ", "\n"),
    };
  });
  return { summary: summary.slice(0, at), words, left: Number(left) };
}

const ENTRY = /^• (?:\[([^\]\n]*)\] )?([\s\S]*)$/;

/** The note in brackets: who said it, and what became of it. */
const MARK = /^(?:by ([^;]+)(?:; |$))?(.*)$/;

/** A message as it is summarised: an earlier summary without the words below it, so that none is summarised. */
export function withoutWords(message: Message): Message {
  if (!isSummary(message) || message.role !== "user" || typeof message.content !== "string") {
    return message;
  }
  const at = message.content.lastIndexOf(`\n\n${HEADING}`);
  return at < 0 ? message : { ...message, content: message.content.slice(0, at) };
}

/**
 * The words in messages that leave: those of earlier summaries, and the user messages but those in `injected`. Of a history
 * in which some messages stay, `leaving` has the places of the others: what became of a request may be among those that stay.
 */
export function wordsIn(
  messages: readonly Message[],
  injected: ReadonlySet<Message> = new Set(),
  speakers: Speakers = new Map(),
  leaving?: ReadonlySet<number>,
): Words {
  const leaves = (at: number) => leaving?.has(at) ?? true;
  const before = messages
    .filter((message, at) => isSummary(message) && leaves(at))
    .map((message) => splitWords(summaryText(message)));
  const words = requestsIn(messages, injected, speakers)
    .filter(({ at }) => leaves(at))
    .map(({ text, outcome, message }): Word => {
      const by = speakerName(speakers.get(message));
      // It may name a file of a call that stays, and only what leaves was redacted.
      return { text, outcome: redactSecrets(outcome), ...given({ by }) };
    });
  return {
    words: [...before.flatMap((earlier) => earlier.words), ...words],
    left: before.reduce((sum, { left }) => sum + left, 0),
  };
}

/** Bytes that a section takes which may have this many. */
export function wordsBytes(words: Words, bytesMax: number, parts = TALK_PARTS): number {
  const { text } = wordsSection(words, bytesMax, bytesMax, parts);
  // The count may get longer.
  return text === "" ? 0 : textSize(text) + COUNT_ROOM;
}

/** Room for a count in the heading. */
const COUNT_ROOM = textSize(headingOf(9_999_999)) - textSize(headingOf(0));

interface Line {
  readonly word: Word;
  readonly line: string;
  /** Whether it is the text, and not some of its sentences. */
  readonly isWhole?: boolean;
}

/**
 * The section below a summary, within `bytesMax` of JSON and the `room` that there is, or nothing. First comes the first text
 * of the session, then sentences of longer texts that surely hold for longer, then short texts, the newest before older
 * ones. Of what is left whole longer texts take a part, and sentences of still others:
 *
 *     ├── what surely holds ──┤
 *     ├── short texts ───────────────────────────────────────────┤ bytesMax
 *     ├── whole longer texts ──┤
 *     ├── other sentences ──┼── with a weak cue, then general ones ──┼── what may hold ──┤
 *
 * Words without room are counted.
 */
export function wordsSection(
  { words, left }: Words,
  bytesMax: number,
  room = bytesMax,
  parts = TALK_PARTS,
): { readonly text: string; readonly report: WordsReport } {
  const chosen = new Map<Word, Line>();
  const ofAll = speakerOfAll(words);
  const lineOf = (word: Word) => wholeLine(word, ofAll);
  let used = textSize(headingOf(0, ofAll)) + COUNT_ROOM;
  const add = (part: number, of: readonly Word[], form: (word: Word) => Line | undefined) => {
    const max = Math.min(room, part * bytesMax);
    for (const word of of) {
      if (used >= max) return;
      const earlier = chosen.get(word);
      const line = earlier?.isWhole ? undefined : form(word);
      if (!line) continue;
      const size = textSize(line.line) - textSize(earlier?.line ?? "");
      if (size <= 0 || used + size > max) continue;
      used += size;
      chosen.set(word, line);
    }
  };
  const newestFirst = [...words].reverse();
  const short = newestFirst.filter(isShort);
  const long = newestFirst.filter((word) => !isShort(word));
  const excerptOf = excerpts(ofAll);
  add(FIRST_PART, words.slice(0, 1), (word) =>
    textSize(word.text) <= FIRST_BYTES ? lineOf(word) : excerptOf(word, -Infinity),
  );
  add(SURE_PART, long, (word) => excerptOf(word, SURE_CUES));
  add(1, short, (word) => (isLasting(word) ? lineOf(word) : undefined));
  add(1, short, lineOf);
  add(WHOLE_PART, long, lineOf);
  add(parts.lasting, long, (word) => excerptOf(word, LASTING_CUES));
  add(parts.hinted, long, (word) => excerptOf(word, WEAK_CUES));
  add(parts.hinted, long, (word) => excerptOf(word, GENERAL_CUE));
  add(parts.passing, long, (word) => excerptOf(word, -Infinity));
  const gone = left + words.length - chosen.size;
  const kept = words.flatMap((word) => chosen.get(word) ?? []);
  const cut = kept.filter(({ word, line }) => line !== renderLine(word, word.text, ofAll)).length;
  const text =
    kept.length === 0 ? "" : `${headingOf(gone, ofAll)}${kept.map(({ line }) => line).join("")}`;
  return { text, report: { kept: kept.length, cut, left: gone } };
}

function headingOf(gone: number, ofAll?: string): string {
  const count =
    gone === 0 ? "" : `; ${gone} older ${gone === 1 ? "one is" : "ones are"} found by a search`;
  const by = ofAll === undefined ? "" : `; by ${ofAll}`;
  return `\n\n${HEADING}${count}${by}${HEADING_END}`;
}

/** The name that the heading has, so that no line needs it: all words are of one person. */
function speakerOfAll([first, ...others]: readonly Word[]): string | undefined {
  return others.every(({ by }) => by === first?.by) ? first?.by : undefined;
}

function isShort({ text }: Word): boolean {
  return text.length <= SHORT_CHARACTERS;
}

function isLasting({ text }: Word): boolean {
  return lastingCues(text) >= LASTING_CUES && !QUESTION.test(text);
}

/** A text on a line of its own, and of a pasted one the two ends. */
function wholeLine(word: Word, ofAll: string | undefined): Line {
  const { text } = word;
  const shown =
    textSize(text) <= PASTED_BYTES
      ? text
      : cutToSize(PASTED_BYTES, (bytes) => cutMiddle(text, bytes));
  return { word, line: renderLine(word, shown, ofAll), isWhole: true };
}

/**
 * Writes short sentences of a text, of those that have `least` cues that they hold for longer. Such sentences come first, then
 * those with numbers and names. Questions have had their answers.
 */
function excerpts(ofAll: string | undefined): (word: Word, least: number) => Line | undefined {
  const read = new Map<Word, readonly Sentence[]>();
  return (word, least) => {
    const all = read.get(word) ?? sentencesOf(word);
    read.set(word, all);
    let room = least < LASTING_CUES ? EXCERPT_BYTES : LASTING_EXCERPT_BYTES;
    const chosen = new Set(
      all
        .filter(({ cues }) => cues >= least)
        .toSorted((a, b) => b.worth - a.worth)
        .filter(({ text }) => {
          room -= textSize(text) + 3;
          return room >= 0;
        }),
    );
    if (chosen.size === 0) return undefined;
    const shown = joined(all, chosen);
    return { word, line: renderLine(word, shown, ofAll), isWhole: shown === word.text };
  };
}

interface Sentence {
  readonly text: string;
  readonly cues: number;
  readonly worth: number;
  /** Its place among all sentences of the text, and what stands before it there. */
  readonly place: number;
  readonly gap: string;
  /** The sentences before it that say whose words it has, or what it is about: "The wiki says:". It never stands without them. */
  readonly leads: readonly Lead[];
}

interface Lead {
  readonly text: string;
  readonly place: number;
  readonly isLabel: boolean;
}

function sentencesOf({ text }: Word): readonly Sentence[] {
  // Sentences stand at even places, and what parts them at odd ones.
  const parts = text.split(SENTENCE_ENDS);
  let isFenced = false;
  let leads: readonly Lead[] = [];
  return parts.flatMap((sentence, at): readonly Sentence[] => {
    if (at % 2 === 1) return [];
    const isFence = FENCE.test(sentence);
    if (isFence) isFenced = !isFenced;
    if (isFence || isFenced || QUOTED.test(sentence)) return [];
    const gap = parts[at - 1] ?? "\n";
    const place = at / 2;
    const lead = leadOf(sentence, { gap, next: parts[at + 1] ?? "", place });
    if (lead) leads = lead.isLabel ? [...leads.filter(({ isLabel }) => !isLabel), lead] : [lead];
    if (!isDemandLike(sentence)) return [];
    const cues = lastingCues(sentence);
    // Sentences with a cue come first, so that a longer excerpt of a text has all that a shorter one has.
    const worth = Math.max(0, Math.min(cues, LASTING_CUES)) + Number(SPECIFIC.test(sentence)) / 4;
    const others = leads.filter((each) => each !== lead);
    return [{ text: sentence, cues, worth, place, gap, leads: others }];
  });
}

/**
 * The lead of the sentences that follow, if a sentence is one: a line that announces them, a label, a heading, the head of a
 * message in a chat, or a question about the text below it.
 */
function leadOf(
  sentence: string,
  { gap, next, place }: { readonly gap: string; readonly next: string; readonly place: number },
): Lead | undefined {
  const text = sentence.trim();
  if (ANNOUNCES.test(text) || (QUESTION.test(text) && PARAGRAPH.test(next)))
    return { text, place, isLabel: false };
  const [label] = (gap.includes("\n") && LABEL.exec(text)) || [];
  if (label === undefined) return undefined;
  return { text: text.length <= LEAD_CHARACTERS ? text : label, place, isLabel: true };
}

const PARAGRAPH = /\n[ \t]*\n/;

/** "Karin: Fine.", "# CLAUDE.md", "ben 10:31 AM", at the beginning of a line. */
const LABEL =
  /^(?:(?=[\p{L}[<@*_-])(?:[^.!?:：\n]|[:.](?=\d)){1,40}[:：](?=\s\S)|#{1,6} .{1,80}|.{1,40}\b\d{1,2}[:.]\d{2}(?: ?[AP]M)?\]?$)/iu;
const LEAD_CHARACTERS = 80;

/** Without their surroundings, quotes and code would stand as the person's own words. */
const QUOTED = /^\s*[>＞|]/;
const FENCE = /^\s*(?:```|~~~)/;

/** The chosen sentences with what leads them, and a mark only where something between them was left out. */
function joined(all: readonly Sentence[], chosen: ReadonlySet<Sentence>): string {
  let text = "";
  let next = 0;
  const shown = new Set<number>();
  const add = (part: string, gap: string) => {
    text += text === "" ? part : gap + part;
  };
  for (const { text: sentence, place, gap, leads } of all.filter((each) => chosen.has(each))) {
    for (const lead of leads.filter((each) => !shown.has(each.place))) {
      add(lead.text, OMITTED);
      next = lead.place + 1;
      shown.add(lead.place);
    }
    add(sentence, place === next ? gap : OMITTED);
    next = place + 1;
    shown.add(place);
  }
  return text;
}

const OMITTED = " … ";

/** A number, or a name that is not the first word. */
const SPECIFIC = /\p{N}|[`_/@]|.\s\p{Lu}\p{L}/u;

/** "The wiki says:" says nothing without what follows. */
const ANNOUNCES = /[:：]$/;

/** Whether a sentence is short, is no question, and has words. */
function isDemandLike(sentence: string): boolean {
  const text = sentence.trim();
  if (text.length > SENTENCE_CHARACTERS || !/\p{L}.{6}/su.test(text)) return false;
  return !QUESTION.test(text) && !ANNOUNCES.test(text);
}

function renderLine({ outcome, by }: Word, text: string, ofAll: string | undefined): string {
  // Where a program put the name into the text, it need not stand twice.
  const name = by === ofAll || by === undefined || isNamedIn(text, by) ? "" : `by ${by}`;
  // A text in brackets would be taken for its outcome.
  const isPlain = outcome === ANSWERED && (name !== "" || !text.startsWith("["));
  const mark = [name, isPlain ? "" : outcome].filter(Boolean).join("; ");
  return `\n• ${mark === "" ? "" : `[${mark}] `}${text.replaceAll("\n", "\n  ")}`;
}
