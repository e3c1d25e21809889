import { CharacterKinds, sizeAt } from "../text/character-kinds.ts";
import { mix, NumberRuns, SEED, WordNumbers } from "../text/word-numbers.ts";
import { isRefusal } from "./is-refusal.ts";
import { REQUEST_FRAME } from "./summary-request.ts";

/** The reasons why a text cannot be a summary of anything. */
export type Worthlessness = "wordless" | "echo" | "refusal" | "repetition";

/** A text is repetitive when a smaller share of its n-grams is distinct. */
const PIECE_WORDS = 3;
const DISTINCT_PART = 0.4;
const PIECES_MIN = 8;

/** The distinct share of the source may be this many times that of the text. */
const AS_REPETITIVE = 1.5;

/** A text is an echo when this share of it stands in the prompt. */
const ECHO_PART = 0.5;

/**
 * The reason why a text is no summary of `source`. `asked` is the prompt.
 * Undefined when it may be one.
 */
export function worthlessness(
  text: string,
  asked: string,
  source: string,
): Worthlessness | undefined {
  const numbers = new WordNumbers();
  const words = new Words(text, numbers);
  const all = words.all();
  if (words.characters < 3) return "wordless";
  if (hasFrame(text, source)) return "echo";
  if (isRefusal(text, source)) return "refusal";
  const pieces = new NumberRuns(all, PIECE_WORDS);
  const isRepetitive = pieces.count >= PIECES_MIN && distinctPart(pieces) < DISTINCT_PART;
  if (isRepetitive && !isAsRepetitive(new Words(source, numbers), pieces)) return "repetition";
  return isEcho(pieces, new Words(asked, numbers)) ? "echo" : undefined;
}

/** Whether a text has a part of the request that frames the record, which the record itself does not have. */
function hasFrame(text: string, source: string): boolean {
  const said = text.replace(/\s+/g, " ");
  return REQUEST_FRAME.some((part) => said.includes(part) && !source.includes(part));
}

/** Whether a text is repetitive only because its source is. */
function isAsRepetitive(source: Words, pieces: NumberRuns): boolean {
  if (!isEcho(pieces, source)) return false;
  return (
    distinctPart(new NumberRuns(source.all(), PIECE_WORDS)) <= distinctPart(pieces) * AS_REPETITIVE
  );
}

function distinctPart(pieces: NumberRuns): number {
  return pieces.distinct / Math.max(1, pieces.count);
}

/** Whether another text has enough of the pieces to be echoed. It is read until that is known. */
function isEcho(pieces: NumberRuns, words: Words): boolean {
  const seen = new Set<number>();
  let common = 0;
  for (let at = 0; words.has(at + PIECE_WORDS); at += 1) {
    const place = pieces.placeOf(words.numbers, at);
    if (place < 0 || seen.has(place)) continue;
    seen.add(place);
    common += pieces.countAt(place);
    if (common >= ECHO_PART * pieces.count) return true;
  }
  return false;
}

/** An echo of the record has so many words of it in a row at least, from three messages. */
const COPIED_WORDS_MIN = 40;
const COPIED_MESSAGES_MIN = 3;

/** How a record names who speaks; a copy may have it or not. `[User]` is the mark of a summary without a model. */
const SPEAKERS =
  /^[ \t>*_#-]{0,8}(?:\[(?:user|assistant|system|summary of what came before|assistant calls [^\]\n]{1,200}|(?:result|error) of [^\]\n]{1,200})\]|(?:[Uu]ser|[Hh]uman|[Aa]ssistant|AI|[Ss]ystem|[Tt]ool)\b[*_ ]{0,4}:)/gm;

/**
 * Whether most of a text is copied from the record: runs of forty words and more that go on from one message
 * to the next. Quotations of one message are none, and sentences that were picked here and there are none.
 */
export function isCopyOfRecord(text: string, record: readonly string[]): boolean {
  const numbers = new WordNumbers();
  const all = new Words(text.replace(SPEAKERS, "\n"), numbers).all();
  if (all.length < COPIED_WORDS_MIN) return false;
  const pieces = new NumberRuns(all, PIECE_WORDS);
  // 1: the record has it, 2: where one message ends and another begins.
  const known = new Uint8Array(all.length);
  let end: number[] = [];
  for (const message of record) {
    const own = new Words(message, numbers).all();
    const seam = [...end, ...own.subarray(0, PIECE_WORDS - 1)];
    for (let at = 0; at + PIECE_WORDS <= seam.length; at += 1) {
      const place = pieces.placeOf(seam, at);
      if (place >= 0) known[place] = 3;
    }
    for (let at = 0; at + PIECE_WORDS <= own.length; at += 1) {
      const place = pieces.placeOf(own, at);
      if (place >= 0) known[place] = (known[place] ?? 0) | 1;
    }
    end = [...end, ...own.subarray(-PIECE_WORDS + 1)].slice(-PIECE_WORDS + 1);
  }
  return copiedWords(all, pieces, known) > ECHO_PART * all.length;
}

/** The words in long runs of known pieces that cross enough seams. */
function copiedWords(all: Uint32Array, pieces: NumberRuns, known: Uint8Array): number {
  let copied = 0;
  let start = -1;
  let seams = 0;
  for (let at = 0; at <= all.length; at += 1) {
    const place = at + PIECE_WORDS <= all.length ? pieces.placeOf(all, at) : -1;
    const kind = place < 0 ? 0 : (known[place] as number);
    if (kind > 0) {
      if (start < 0) start = at;
      // A seam is in two pieces; one that begins a message is enough.
      const before = at > start ? pieces.placeOf(all, at - 1) : -1;
      if ((kind & 2) !== 0 && ((known[before] ?? 0) & 2) === 0) seams += 1;
    } else if (start >= 0) {
      const words = at - start + PIECE_WORDS - 1;
      if (words >= COPIED_WORDS_MIN && seams >= COPIED_MESSAGES_MIN - 1) copied += words;
      start = -1;
      seams = 0;
    }
  }
  return copied;
}

/** The words of a text as numbers, read when they are asked for. In a script without spaces each character is a word. */
class Words {
  /** No text has more words than characters. A list that grows is copied again and again. */
  readonly numbers: Uint32Array;
  /** How many characters the words have that were read. */
  characters = 0;
  readonly #text: string;
  readonly #kinds: Uint8Array;
  readonly #known: WordNumbers;
  #count = 0;
  #at = 0;

  constructor(text: string, known: WordNumbers) {
    this.#text = text.toLowerCase();
    this.#kinds = KINDS.of(this.#text);
    this.#known = known;
    this.numbers = new Uint32Array(this.#text.length);
  }

  /** Whether there are at least `count` words. */
  has(count: number): boolean {
    if (count > this.#count) this.#read(count + WORDS_AT_ONCE);
    return count <= this.#count;
  }

  all(): Uint32Array {
    this.#read(this.#text.length);
    return this.numbers.subarray(0, this.#count);
  }

  #read(countMax: number): void {
    const text = this.#text;
    const kinds = this.#kinds;
    let at = this.#at;
    while (at < kinds.length && this.#count < countMax) {
      const start = at;
      const kind = kinds[at];
      at += kind === LONE ? sizeAt(text, at) : 1;
      if (kind === OTHER) continue;
      let hash = mix(SEED, text.charCodeAt(start));
      if (kind === LETTER) {
        for (; at < kinds.length && kinds[at] === LETTER; at += 1) {
          hash = mix(hash, text.charCodeAt(at));
        }
      } else if (at > start + 1) hash = mix(hash, text.charCodeAt(start + 1));
      this.numbers[this.#count] = this.#known.numberOf(text, start, at, hash);
      this.#count += 1;
      this.characters += at - start;
    }
    this.#at = at;
  }
}

const WORDS_AT_ONCE = 500;
const OTHER = 1;
const LETTER = 2;
/** A character of a script without spaces. */
const LONE = 3;
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;
const KINDS = new CharacterKinds((character) => {
  if (UNSPACED.test(character)) return LONE;
  return /[\p{L}\p{M}\p{N}]/u.test(character) ? LETTER : OTHER;
});

/** An answer longer than this is not a bare error, however it begins. */
const ERROR_TEXT_CHARACTERS_MAX = 1000;

/** How a text begins that a failing program put in the place of an answer. */
const ERROR_TEXTS: readonly RegExp[] = [
  /^(\w*error|\w*exception|fatal|panic)\s*((\(.*?\)|\[.*?\]|code|\d+)\s*)?[:=]/i,
  /^(an |unknown |unexpected |internal |api |http |server |network |request |model )*(error|exception) (\w+ ){0,2}(generating|creating|summari[sz]ing|while|during|occurred|has occurred|calling|from)\b/i,
  /^(http |status |error )*(code )?[45]\d\d\b[\s:-]*(status|error|too many|bad|unauthorized|forbidden|not found|internal|service|gateway|request|overloaded|$)/i,
  /^(the )?(request|call|summary|summari[sz]ation|compaction|generation)( generation)? (has )?(failed|timed out|was aborted|was cancelled|is unavailable|unavailable)\b/i,
  /^(failed|unable|could not|cannot|can't) (to )?((generate|create|produce|write|complete|get|fetch) (an? |the )?(summary|response|answer|completion|request)|summari[sz]e)\b/i,
  /^(rate limit( exceeded| reached)?|quota exceeded|too many requests|service unavailable|internal server error|bad gateway|gateway time-?out|connection (refused|reset|error)|timed? ?out|request timeout|overloaded|prompt is too long|invalid api key|unauthorized|forbidden)\s*([.:;!,(]|$)/i,
  /^traceback \(most recent call last\)/i,
  /^\{\s*"(error|errors|type"\s*:\s*"error|status"\s*:\s*"?(error|[45]\d\d))\b/i,
  /^(undefined|null|nan|none|n\/a|object \w+\])\W*$/i,
];

/**
 * Whether a text is an error's message instead of a summary. Programs that
 * swallow exceptions return such texts as answers; taken for a summary, one
 * would replace a whole history.
 */
export function looksLikeError(text: string): boolean {
  const start = text.replace(/^[^\p{L}\p{N}{]+/u, "").trimEnd();
  return text.length <= ERROR_TEXT_CHARACTERS_MAX && ERROR_TEXTS.some((error) => error.test(start));
}
