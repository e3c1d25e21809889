/** Words that say nothing about the subject. */
const EMPTY_WORDS = new Set(
  "a an and any are as at be by do does don for from i if in is it its me my never not no of on or please prefer that the then this to us use used using want we when with you your always avoid stop ever again anymore future now over instead rather than should must will make sure would may can could are allowed okay ok feel free s t longer need only just constraint rule".split(
    " ",
  ),
);
const NO = /\b(?:never|not|no|avoid|stop|without)\b|n['’]t\b/i;

/** "with Terraform", "in German", "under 80": one thing is chosen, so another is not. */
const CHOSEN =
  /\b(?<by>with|via|through|using|in|to|under|below|over|above|within) (?<thing>[\p{L}\p{N}][\p{L}\p{N}._/-]*)/giu;

const LANGUAGES = new Set(
  "arabic bengali chinese croatian czech danish dutch english finnish french german greek hebrew hindi hungarian indonesian italian japanese korean mandarin norwegian persian polish portuguese romanian russian serbian slovak spanish swedish tamil thai turkish ukrainian vietnamese".split(
    " ",
  ),
);

/** The subject of a statement, and whether it says yes or no to it. */
interface Statement {
  readonly words: ReadonlySet<string>;
  readonly no: boolean;
  /** The preferred thing and the other one. */
  readonly choice?: readonly [string, string];
  /** Its words in order, and the things that it chooses, by their preposition. */
  readonly text: readonly string[];
  readonly chosen: readonly { readonly by: string; readonly thing: string }[];
}

/** A wish is a sentence. Of a longer text, such as a pasted reason, only the beginning is compared. */
const STATEMENT_MAX = 2000;

export function statementOf(text: string): Statement {
  const lower = text.slice(0, STATEMENT_MAX).toLowerCase().replace(/\s+/g, " ");
  const [, one, other] =
    /\b(?:prefer|use|choose|pick|take) (.{1,200}?) (?:over|instead of|rather than|not|to) (.+?)[.!]?$/.exec(
      lower,
    ) ?? [];
  return {
    words: new Set(wordsOf(lower)),
    no: NO.test(lower),
    text: wordsOf(lower),
    chosen: Array.from(lower.matchAll(CHOSEN), ({ groups }) => ({
      by: groups?.by ?? "",
      thing: bare(groups?.thing ?? ""),
    })),
    ...(one && other ? { choice: [bare(one), bare(other)] as const } : {}),
  };
}

/** Whether two statements about the same subject cannot both hold. */
export function contradicts(one: Statement, other: Statement): boolean {
  if (one.choice && other.choice) {
    return one.choice[0] === other.choice[1] && one.choice[1] === other.choice[0];
  }
  if (one.words.size === 0) return false;
  if (one.no === other.no) return !one.no && choosesOtherwise(one, other);
  const common = [...one.words].filter((word) => other.words.has(word)).length;
  return common / (one.words.size + other.words.size - common) >= 0.6;
}

/**
 * "Deploy with Terraform." and "Deploy with Pulumi.": the same words except for one thing, which the same
 * preposition chooses. "In" chooses a language: "Put tests in test." and "Put tests in lib." can both hold.
 */
function choosesOtherwise(one: Statement, other: Statement): boolean {
  if (one.text.length !== other.text.length || one.text.length < 2) return false;
  const at = one.text.findIndex((word, index) => word !== other.text[index]);
  if (at < 0 || one.text.slice(at + 1).join(" ") !== other.text.slice(at + 1).join(" "))
    return false;
  const [thing = "", instead = ""] = [one.text[at], other.text[at]];
  const by = one.chosen.find((chosen) => chosen.thing === thing)?.by;
  const isSame = other.chosen.some((chosen) => chosen.thing === instead && chosen.by === by);
  if (by === undefined || !isSame) return false;
  return by !== "in" || (LANGUAGES.has(thing) && LANGUAGES.has(instead));
}

/** The words of the subject, without their endings. */
function wordsOf(text: string): readonly string[] {
  return (text.match(/[\p{L}\p{N}]+/gu) ?? [])
    .filter((word) => !EMPTY_WORDS.has(word))
    .map((word) => (word.length > 4 ? word.replace(/(?:ing|ed|es|s)$/, "") : word));
}

function bare(text: string): string {
  return wordsOf(text).join(" ");
}
