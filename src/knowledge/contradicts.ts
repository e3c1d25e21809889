/** Words without a subject of their own. */
const EMPTY_WORDS = new Set(
  "a an and any are as at be by do does don for from i if in is it its me my never not no of on or please prefer that the then this to us use used using want we when with you your always avoid stop ever again anymore future now over instead rather than should must will make sure would".split(
    " ",
  ),
);
const NO = /\b(?:never|not|no|avoid|stop|without)\b|n['’]t\b/i;

/** The subject of a statement, and whether it says yes or no to it. */
interface Statement {
  readonly words: ReadonlySet<string>;
  readonly no: boolean;
  /** The preferred thing and the other one. */
  readonly choice?: readonly [string, string];
}

export function statementOf(text: string): Statement {
  const lower = text.toLowerCase();
  const [, one, other] =
    /\b(?:prefer|use|choose|pick|take)\s+(.+?)\s+(?:over|instead of|rather than|not|to)\s+(.+?)[.!]?$/.exec(
      lower,
    ) ?? [];
  return {
    words: new Set(wordsOf(lower)),
    no: NO.test(lower),
    ...(one && other ? { choice: [bare(one), bare(other)] as const } : {}),
  };
}

/** Whether two statements about the same subject cannot both hold. */
export function contradicts(one: Statement, other: Statement): boolean {
  if (one.choice && other.choice) {
    return one.choice[0] === other.choice[1] && one.choice[1] === other.choice[0];
  }
  if (one.no === other.no || one.words.size === 0) return false;
  const common = [...one.words].filter((word) => other.words.has(word)).length;
  return common / (one.words.size + other.words.size - common) >= 0.6;
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
