import { wordSet } from "../text/word-set.ts";

/** Words that say nothing about the subject. */
const EMPTY_WORDS = wordSet(
  "a an and any are as at be by do does don for from i if in is it its me my never not no of on or please prefer that the then this to us use used using want we when with you your always avoid stop ever again anymore future now over instead rather than should must will make sure would may can could are allowed okay ok feel free s t longer need only just constraint rule without",
);
const NO = /\b(?:never|not|no|avoid|stop)\b|n['’]t\b/i;
const WITHOUT = /\bwithout\b/i;

/** "Never push without asking me." says yes to asking. */
function saysNo(text: string): boolean {
  return NO.test(text) !== WITHOUT.test(text);
}

/** "at most 40 euros", "more than 80 characters": a limit that another number replaces. */
const LIMIT =
  /\b(?:than|most|least|max(?:imum)?|minimum|limit(?: is)?|to|under|below|over|above|within|exceed):? (?:[$€£])?(\p{N}+(?:[.,]\p{N}+)*)/giu;

/** The words that a person may take back: "what I said", "everything that I told you". */
const SAID =
  "(?:everything |all )?(?:what|that|the things?|the stuff) i (?:said|told you|wrote|asked|wanted)";
const KINDS = "(?:rule|instruction|limit|restriction|constraint|requirement)s?";
const ABOUT = "(?:about|on|regarding|concerning|with|for|of)";
const SUBJECT = "(?<subject>[^,.;:!?–—(]+";
const FORGETTING = "forget|disregard|scratch|scrap";
/** These are done to things too: "Drop the foreign key constraint." So the words have to be the person's own. */
const UNDOING = "ignore|drop|cancel|undo|lift|skip";
const MINE = `(?:please )?(?:(?:${FORGETTING}) (?:about )?(?:the|that|this|our|my)|(?:${UNDOING}) my)`;

/** Sentences about earlier words, with their subject: "Forget what I said about tabs.", "Scrap the rule about mocks." */
const TAKEN_BACK = [
  `(?:please )?(?:${FORGETTING}|${UNDOING}) (?:about )?${SAID} ${ABOUT} ${SUBJECT})`,
  `${MINE}(?: old| earlier| first)? ${KINDS} ${ABOUT} ${SUBJECT})`,
  `${MINE} ${SUBJECT}?) ${KINDS}\\b`,
  `(?:(?:the|that|our) (?:rule|instruction|thing)s?|my ${KINDS}) ${ABOUT} ${SUBJECT}?) (?:no longer (?:holds?|appl(?:y|ies)|counts?|matters?)|(?:is|are) (?:gone|off|lifted|over|dropped|void|obsolete)|do(?:es)?n['’]t (?:hold|apply|count) (?:any ?more|any longer))(?= ?(?:now)?(?:[,.;!–—]|$))`,
].map((form) => new RegExp(`^${form}`, "iu"));

/** The beginnings of all of them. Most sentences have none, and V8 needs milliseconds to make the long ones. */
const MAY_TAKE_BACK = new RegExp(
  `^(?:(?:please )?(?:${FORGETTING}|${UNDOING}) |(?:the|that|our|my) )`,
  "iu",
);

function subjectWords(subject: string): ReadonlySet<string> {
  return new Set(wordsOf(subject).filter((word) => !BESIDE_SUBJECT.has(word)));
}

/** Words that a withdrawal has beside its subject: "what I said about using tabs earlier". */
const BESIDE_SUBJECT = new Set(["earlier", "before", "rule", "limit", "instruction"]);

/** Whether a sentence takes earlier words back, and about what: the words of each subject. */
export function takenBack(sentence: string): readonly ReadonlySet<string>[] | undefined {
  if (!MAY_TAKE_BACK.test(sentence)) return undefined;
  for (const form of TAKEN_BACK) {
    const { subject } = form.exec(sentence)?.groups ?? {};
    if (subject === undefined) continue;
    const subjects = subject
      .toLowerCase()
      .split(/ (?:and|or) /)
      .map(subjectWords);
    const named = subjects.filter(({ size }) => size > 0);
    return named.length > 0 ? named : undefined;
  }
  return undefined;
}

/** "with Terraform", "in German", "under 80": one thing is chosen, so another is not. */
const CHOSEN =
  /\b(?<by>with|via|through|using|in|to|under|below|over|above|within) (?<thing>[\p{L}\p{N}][\p{L}\p{N}._/-]*)/giu;

const LANGUAGES = wordSet(
  "arabic bengali chinese croatian czech danish dutch english finnish french german greek hebrew hindi hungarian indonesian italian japanese korean mandarin norwegian persian polish portuguese romanian russian serbian slovak spanish swedish tamil thai turkish ukrainian vietnamese",
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
  readonly limits: readonly string[];
  /** The subjects of earlier words that it takes back. */
  readonly takenBack?: readonly ReadonlySet<string>[];
}

/** A wish is a sentence. Of a longer text, such as a pasted reason, only the beginning is compared. */
const STATEMENT_MAX = 2000;

export function statementOf(text: string): Statement {
  const lower = text.slice(0, STATEMENT_MAX).toLowerCase().replace(/\s+/g, " ");
  const back = takenBack(lower);
  const [, one, other] =
    /\b(?:prefer|use|choose|pick|take) (.{1,200}?) (?:over|instead of|rather than|not|to) (.+?)[.!]?$/.exec(
      lower,
    ) ?? [];
  return {
    words: new Set(wordsOf(lower)),
    no: saysNo(lower),
    text: wordsOf(lower),
    chosen: Array.from(lower.matchAll(CHOSEN), ({ groups }) => ({
      by: groups?.by ?? "",
      thing: bare(groups?.thing ?? ""),
    })),
    limits: Array.from(lower.matchAll(LIMIT), ([, number = ""]) => number),
    ...(back ? { takenBack: back } : {}),
    ...(one && other ? { choice: [bare(one), bare(other)] as const } : {}),
  };
}

/** Whether two statements about the same subject cannot both hold. */
export function contradicts(one: Statement, other: Statement): boolean {
  if (one.takenBack || other.takenBack) return isTakenBack(one, other) || isTakenBack(other, one);
  if (one.choice && other.choice) {
    return one.choice[0] === other.choice[1] && one.choice[1] === other.choice[0];
  }
  if (one.words.size === 0) return false;
  if (one.no === other.no) {
    return limitsOtherwise(one, other) || (!one.no && choosesOtherwise(one, other));
  }
  const common = [...one.words].filter((word) => other.words.has(word)).length;
  return common / (one.words.size + other.words.size - common) >= 0.6;
}

/** Whether a statement is about one of the things that another one takes back. Two that take something back can both hold. */
function isTakenBack({ words, takenBack }: Statement, by: Statement): boolean {
  if (takenBack || !by.takenBack) return false;
  return by.takenBack.some((subject) => [...subject].every((word) => words.has(word)));
}

/** "Never spend more than 40 euros." and "Never spend more than 60 euros.": the same words except for one limit. */
function limitsOtherwise(one: Statement, other: Statement): boolean {
  const [limit, instead] = differing(one, other) ?? [];
  if (limit === undefined || instead === undefined) return false;
  return one.limits.includes(limit) && other.limits.includes(instead);
}

/** The only word in which two statements differ. */
function differing(one: Statement, other: Statement): readonly [string, string] | undefined {
  if (one.text.length !== other.text.length || one.text.length < 2) return undefined;
  const at = one.text.findIndex((word, index) => word !== other.text[index]);
  if (at < 0 || one.text.slice(at + 1).join(" ") !== other.text.slice(at + 1).join(" ")) {
    return undefined;
  }
  return [one.text[at] ?? "", other.text[at] ?? ""];
}

/**
 * "Deploy with Terraform." and "Deploy with Pulumi.": the same words except for one thing, which the same
 * preposition chooses. "In" chooses a language: "Put tests in test." and "Put tests in lib." can both hold.
 */
function choosesOtherwise(one: Statement, other: Statement): boolean {
  const [thing, instead] = differing(one, other) ?? [];
  if (thing === undefined || instead === undefined) return false;
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
