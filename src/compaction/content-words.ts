/** Words that say nothing of what a text is about. Shorter ones do not count anyway. */
const FUNCTION_WORDS = new Set(
  "about above after again also although always another around because been before being below between both cannot could does doing done down during each either else even ever every from further gave give going have having here hers himself however into itself just less like likely made make many maybe might more most much must myself need neither never only other ours over own perhaps rather really same shall should since some still such than that their them then there these they thing things this those though through thus together under until upon used using very want well were what when where whether which while whom whose will with within without would your yours".split(
    " ",
  ),
);

/** Whether a word in small letters is one such as "because": it says nothing of what a text is about. */
export function isFunctionWord(word: string): boolean {
  return FUNCTION_WORDS.has(word);
}

/** Letters by which forms of a word are told to be the same: `deploy`, `deployed`, `deployment`. */
const STEM_LETTERS = 5;

/** Words with spaces between them, numbers, and runs of scripts that have no spaces. */
const WORD =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]+|[\p{L}\p{M}]{4,}|\p{N}{2,}/gu;

/** A word with a capital that stands after another word, so that no sentence begins with it. */
const NAME = /(?<=[\p{Ll}\p{N},;] )\p{Lu}[\p{L}\p{M}]{2,}/gu;

/** Where more of the words than this have a capital, a capital makes no name: German, headings. */
const NAMES_PART_MAX = 0.2;

const UNSPACED = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;

/**
 * What a text is about, as the beginnings of its words and as numbers, each as
 * often as it is said. Where a script has no spaces, every two characters are a
 * word. It knows no language but for a list of English words that say nothing.
 */
export function contentWords(text: string): readonly string[] {
  const words: string[] = [];
  for (const [word] of text.normalize("NFKC").toLowerCase().matchAll(WORD)) {
    if (UNSPACED.test(word)) {
      for (let at = 0; at + 1 < word.length; at += 1) words.push(word.slice(at, at + 2));
    } else if (!FUNCTION_WORDS.has(word)) words.push(word.slice(0, STEM_LETTERS));
  }
  return words;
}

/** Names of people, places and products, as far as capitals tell. */
export function namesIn(text: string): readonly string[] {
  const names = text.match(NAME) ?? [];
  const words = text.match(/[\p{L}\p{M}]+/gu) ?? [];
  return names.length > words.length * NAMES_PART_MAX ? [] : [...new Set(names)];
}
