import { below, type Random } from "./random.ts";

/**
 * Words for made-up texts, as frequent as in real ones. About half of a text are the
 * function words below, the most frequent of English in their order. The other half
 * are content words, whose frequency follows their rank (Zipf).
 */
const FUNCTION_WORDS: readonly string[] = (
  "the of and to a in that it is was i for you he with on as be at by had not are but from or have " +
  "an they which one were all we her she there would their will when who him been has more if no " +
  "out do so can what up said about other into than its time only could new them some these two may " +
  "then first any my now such like our over me even most made after also did many before must " +
  "through where much your down should because each just those how too very well here between both " +
  "under never same another while last might us off since against go came right"
).split(" ");

const FUNCTION_WORD_SET: ReadonlySet<string> = new Set(FUNCTION_WORDS);

/** How many content words texts use; words of a higher rank occur in none. */
export const VOCABULARY_SIZE = 60_000;

/** The words of a text that are not function words, in lower case. */
export function contentWords(text: string): string[] {
  return (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).filter(
    (word) => !FUNCTION_WORD_SET.has(word),
  );
}

export function functionWord(random: Random): string {
  return FUNCTION_WORDS[zipf(FUNCTION_WORDS.length, random)] as string;
}

/** The rank of a content word, low ranks more often. */
export function contentRank(random: Random): number {
  return zipf(VOCABULARY_SIZE, random);
}

/** A rank below `size`; the probability of rank r is proportional to 1 / (r + 2.7). */
function zipf(size: number, random: Random): number {
  const shift = 2.7;
  return Math.floor(shift * (((size + shift) / shift) ** random() - 1));
}

const ONSETS =
  "b bl br c ch cl cr d dr f fl fr g gl gr h j k l m n p pl pr qu r s sc sh sk sl sn sp st str t th tr v".split(
    " ",
  );
const VOWELS = "a e i o u ai ea ee oa ou".split(" ");
const CODAS = "b ck ct d ft g ld ll lt m mp n nd nt p r rd rk rm rn rt s sh st t th".split(" ");
const SHORT_WORDS = ONSETS.length * VOWELS.length * CODAS.length;
const LONG_WORDS = SHORT_WORDS * ONSETS.length * VOWELS.length;
/** Frequent words are short. */
const SHORT_RANKS = 2_000;

const MADE: string[] = [];

/** The word of a rank. It looks like a word, and no two ranks share one. */
export function wordOf(rank: number): string {
  if (rank >= VOCABULARY_SIZE) return makeWord(rank);
  MADE[rank] ??= makeWord(rank);
  return MADE[rank];
}

function makeWord(rank: number): string {
  // Multiplied by a prime, neighbouring ranks get dissimilar words.
  const isShort = rank < SHORT_RANKS;
  let rest = isShort ? (rank * 7_919) % SHORT_WORDS : (rank * 1_000_003) % LONG_WORDS;
  const next = (parts: readonly string[]) => {
    const part = parts[rest % parts.length] as string;
    rest = Math.floor(rest / parts.length);
    return part;
  };
  const start = isShort ? "" : next(ONSETS) + next(VOWELS);
  const word = start + next(ONSETS) + next(VOWELS) + next(CODAS);
  return FUNCTION_WORD_SET.has(word) ? `${word}er` : word;
}

/** A form of a word as in a sentence; most are unchanged. */
export function inflected(word: string, random: Random): string {
  switch (below(8, random)) {
    case 0:
      return /(?:s|sh|ch)$/.test(word) ? `${word}es` : `${word}s`;
    case 1:
      return `${word}ing`;
    case 2:
      return `${word}ed`;
    default:
      return word;
  }
}
