import {
  type GivenInstructions,
  isUsersWord,
  type Origin,
  type StandingInstruction,
} from "../core/event.ts";
import { given } from "../core/fields.ts";
import { contentText, type UserMessage } from "../core/message.ts";
import type { SessionState } from "../core/session-state.ts";
import { areApart, speakerName, withoutName } from "../core/speaker-name.ts";
import { utf8Bytes } from "../core/tokens.ts";
import { contradicts, statementOf, takenBack } from "./contradicts.ts";
import { oneLine } from "./one-line.ts";
import { HEADING, type OwnWords, ownWords } from "./own-words.ts";

/** A longer message was probably pasted, so its words may not be the user's. */
const PREFERENCE_MESSAGE_MAX = 1500;
const PREFERENCE = { min: 8, max: 300 } as const;

/** Words that people put before a wish: "Ok, please never …", "Oh, one more thing: never …". */
const LEAD_IN =
  /^(?:(?:please|pls|plz|kindly|and|also|but|so|then|ok(?:ay)?|note|remember|important|actually|hey|hi|hello|oh|btw|by the way|again|just|one (?:more|last|other) thing)[,:!]? )+/iu;

/** A sentence from where it says something. */
function withoutLeadIn(sentence: string): string {
  return sentence.replace(LEAD_IN, "");
}

/** Beginnings of sentences that state a lasting wish. */
const LASTING =
  /^(?:(?:always|never) (?<always>[\p{L}'’-]+)|prefer|from now on|in (?:the )?future(?! (?:releases?|versions?|years?|weeks?|days?|generations?)\b)|going forward(?! (?:in|with|to|is)\b)|by default|i (?:always |would |'d )?prefer|i (?:never|always) want you to|(?:do not|don't|don’t) ever|(?:do not|don't|don’t)\b.*\b(?:again|any ?more|in (?:the )?future|ever))\b/iu;

/** "Always here to help", "Never had the chance": a description, not a request. */
const NO_REQUEST =
  /^(?!(?:embed|exceed|feed|proceed|seed|shed|speed|bring|ping|string)$)(?:an?|the|my|your|his|her|our|their|its?|this|that|here|there|up|down|in|on|at|for|of|to|with|about|around|ready|good|great|nice|happy|glad|fun|better|best|more|too|so|very|really|quite|had|has|been|was|were|is|are|am|will|would|could|can|did|does|saw|thought|knew|felt|heard|mind|say|ever|again|\p{L}+ing|\p{L}+ed)$/iu;

/**
 * The lasting wishes in a user's message: "Always …", "Never …", "Prefer …", "From now on …", and after them what takes
 * earlier ones back: "Forget what I said about tabs." Only the user's own sentences count, and a long message is skipped.
 */
export function preferencesIn(message: string): readonly string[] {
  if (message.length > PREFERENCE_MESSAGE_MAX) return [];
  const sentences = ownWords(message).map(({ text }) => text);
  return [...sentences.filter(isLasting), ...sentences.filter(isWithdrawal)].map((sentence) =>
    oneLine(sentence, PREFERENCE.max),
  );
}

/** Whether a sentence of the user takes back earlier ones. It makes no rule of its own. */
export function isWithdrawal(sentence: string): boolean {
  if (sentence.length > PREFERENCE.max || sentence.endsWith("?") || isLasting(sentence))
    return false;
  return takenBack(withoutLeadIn(sentence)) !== undefined;
}

/** A question, a choice among what was shown, or what will come. */
const OF_THE_MOMENT =
  /\?$|\bth(?:is|at) (?:one|time)[.!]?$|\bfor (?:an?|one|two|a few|a couple of|the next(?: few)?) (?:sec(?:ond)?|moment|minute|min|bit|little while)s?\b|^never give up|^i(?:['’]d)? (?:\w+ )?prefer (?:the|this|that|your|option|number) (?:.*\b)?(?:ones?|options?|versions?|first|second|third|last|former|latter|two|three)\b|^(?:from now on|in (?:the )?future|going forward|by default),? (?:it|he|she|they|things|there|(?:this|that)(?= (?:is|was|will|would|works?|makes?|gets?|goes|has|had|can|could)\b)|i(?:['’](?:m|ll)| am| will)|we(?:['’]re| are))\b(?! (?:must|should|has to|have to|needs?|shall)\b)/i;

/** Whether a sentence states a lasting wish. */
function isLasting(sentence: string): boolean {
  if (sentence.length < PREFERENCE.min || sentence.length > PREFERENCE.max) return false;
  const said = withoutLeadIn(sentence);
  if (OF_THE_MOMENT.test(said) || isTold(said)) return false;
  const found = LASTING.exec(said);
  return found !== null && !NO_REQUEST.test(found.groups?.always ?? "");
}

/** A longer message was probably pasted, so its words may not be the user's. */
const INSTRUCTION_MESSAGE_MAX = 20_000;
const INSTRUCTION = { min: 8, max: 500 } as const;
/** No session has room for more. The last ones count. */
const INSTRUCTIONS_MAX = 400;

/** Verbs of things, in forms that no wish has and that are no things ("Only answers in German", "Always tests first"). */
const HAPPENINGS =
  "seen known been happens happened works worked fails failed crashes crashed breaks broke hangs hung returns returned throws threw gives gave gets got goes went comes came takes took says said shows showed seems seemed looks looked needs needed wants wanted makes made does did finds found loses lost runs ran stops stopped ends ended starts started finishes finished responds responded appears appeared occurs occurred knows knew forgets forgot loads loaded exists existed matters mattered saw thought heard kidding joking wondering curious gonna".replaceAll(
    " ",
    "|",
  );

/**
 * "Always crashes at startup.", "Only happens on Windows.", "Never have I seen this.": a report of what happens, without
 * its subject or with the words turned round. So does "From now on it is faster, says the article."
 */
const HAPPENING = new RegExp(
  `^(?:always|never|only) (?:just |ever |even )?(?:${HAPPENINGS}|(?:have|do) (?:i|you|we|they)|(?:has|had|did|does|will|would|can|could|was|were|am|are|is) (?:i|you|he|she|it|we|they|there|this|that))\\b|, (?:says|said|writes|wrote|claims|claimed) [^,]{1,60}$|, (?:as|like) (?!i\\b|we\\b)[^,]{1,40} (?:says?|said|goes|go|puts? it|used to say)[.!]?$`,
  "iu",
);

/** "Always Be Closing is a film.": the words are a title, of which something is told. */
const TITLE =
  /^(?:Always|Never|Only|Stop|Don['’]t|Do Not)(?: \p{Lu}\p{Ll}[\p{L}’'-]*){2,} (?:is|was) (?:an?|the)\b/u;

/** Sayings that want nothing: "Don't ask me why.", "You can say that again.", "Never a dull moment." */
const IDIOM =
  /^(?:(?:do not|don't|don’t) (?:tell me (?:you|that|it|he|she|they|we|i)\b(?!.*\b(?:unless|until|before|if)\b)|ask me (?:why|how|what|who|when|where)\b|make me (?:laugh|cry)\b|hold your breath\b|sweat\b)|do not \p{L}+ (?:mode|sign|button|flag|setting)\b|never (?:(?:an?|the) (?:dull|boring|quiet|good|bad|better|right|wrong)|so|too|quite|really|been|had)\b|stop (?:worrying|joking|kidding|laughing|crying|panicking|complaining|overthinking)\b|you can (?:say that again|bet|count on|thank me)\b|you (?:must|should) (?:see|try|hear|meet|visit|watch) (?:this|that|it|him|her|them)\b|only (?:my|your|his|her|our|their|few|half|four|five|six|seven|eight|nine|ten|twelve|\d+) [^,]*\b(?:\p{L}+ed|knows?|likes?|thinks?|was|were|came|has|had|failed)\b(?! (?:to|in|on|for|by)\b)|(?:make|be) sure .*, (?:and )?then \p{L})/iu;

/** Whether a sentence tells something, though it begins as an instruction does. */
function isTold(sentence: string): boolean {
  return HAPPENING.test(sentence) || TITLE.test(sentence) || IDIOM.test(sentence);
}

/** The start of a sentence that holds for the rest of a session. */
const STANDING =
  /^(?:(?:constraint|rule|requirement|restriction|limit|guideline)s?: |(?:do not|don't|don’t|never|only|under no circumstances|at no (?:time|point)|in no case|no longer|stop \p{L}+ing|you(?: (?:must|may|can)|(?: are|['’]re) (?:not )?allowed to| should (?:never|always|not|only))|(?:make|be) sure(?= .*\b(?:always|never|every\p{L}*|each|all|any|only|no|not|nothing|nobody|\p{L}+n['’]t|whenever|unless|before|stays?|keeps?|remains?)\b)|keep in mind|as of now|for the rest of|(?:in|for|during) this (?:session|conversation|chat)|until (?:i|we) (?:say|tell)|it(?:'s| is|’s) (?:now )?ok(?:ay)? to|feel free to|(?:ask|warn|tell|consult|check with) (?:me|us) (?:(?:again|first|always) )?(?:before|whenever|each time|every time)) \S)/iu;

/** A sentence about this moment, which is no instruction. */
const PASSING =
  /^(?:(?:do not|don't|don’t) (?:worry|mind|bother|panic|be (?:offended|sad|afraid|shy|sorry|silly|late|mad|angry|upset|scared)|thank|know|think|understand|see|care|remember|believe|like|want|need|have|get|you|we|they|i)\b|never mind|never again\b[^\p{L}]*(?:thanks?(?: you)?\W*)?$|only (?:fair|natural|human|right|logical)\b|keep in mind .*\b(?:was|were|had)\b|stop (?:it|that|here|now|there)?[.!]?$|only (?:then|now|if|when|because|one|two|three|a|an|the|some|after|recently|today|yesterday)\b|you can (?:do it|go home|ignore (?:this|that|the)|have (?:it|that|this)|see|find|also see|read|tell|imagine|check|look|(?:stop|relax|rest|continue|start|begin|go)(?: on| again| now| here)*[.!]?$)|you (?:must|may|can|can['’]t|cannot) (?:be (?!brief|concise|polite|formal|informal|careful|precise|honest|direct|short|consistent|blunt|strict|(?!(?:tir|bor|worri|annoy|surpris|confus|excit|exhaust)ed)\p{L}+ed\b)\p{L}+|have (?:\p{L}+ed|been|had|seen|forgotten|known|made|done|got|gone)|feel|think|mean|guess)\b|for the rest of the (?:day|week|month|year)\b)/iu;

/**
 * The standing instructions in a user's message, word for word: its lasting wishes, and what holds for
 * the rest of the session ("Never use the network.", "Constraint: only edit files under src/"), and the
 * items of a list under "Constraints:" or "Rules:". With them is what takes earlier ones back: "Forget what I said about tabs."
 *
 * Only the user's own sentences count, as for `preferencesIn`.
 */
export function instructionsIn(message: string): readonly string[] {
  if (message.length > INSTRUCTION_MESSAGE_MAX) return [];
  const found = ownWords(message, HEADING).filter(
    (words) => isInstruction(words) || (!words.isListed && isWithdrawal(words.text)),
  );
  const last = found.slice(-INSTRUCTIONS_MAX);
  return [...new Set(last.map(({ text }) => oneLine(text, INSTRUCTION.max)))];
}

/** A listed item is one in any wording and language. */
function isInstruction({ text, isListed }: OwnWords): boolean {
  if (isListed) return text.length <= INSTRUCTION.max && !text.endsWith("?");
  return isLasting(text) || isStanding(text);
}

function isStanding(sentence: string): boolean {
  if (sentence.length < INSTRUCTION.min || sentence.length > INSTRUCTION.max) return false;
  const said = withoutLeadIn(sentence);
  if (OF_THE_MOMENT.test(said) || PASSING.test(said) || isTold(said)) return false;
  return STANDING.test(said);
}

/**
 * The standing instructions in a user's message. A later one replaces an earlier one that it contradicts or
 * repeats. The newest are kept, within `bytesMax`.
 */
export function givenInstructions(
  { working, settings }: Pick<SessionState, "working" | "settings">,
  said: { readonly content: UserMessage["content"]; readonly origin: Origin | undefined },
  bytesMax: number,
): GivenInstructions {
  const by = speakerName(said.origin?.speaker);
  const text = withoutName(contentText(said.content), said.origin?.speaker);
  const lasting = new Set(settings.knowledge ? preferencesIn(text) : []);
  const held = working.instructions.map(({ id, text, by }) => ({ id, text, ...given({ by }) }));
  const instructions: StandingInstruction[] = [];
  const stated = isUsersWord(said.origin) ? instructionsIn(text) : [];
  const earlier =
    stated.length === 0 ? [] : held.map(({ id, text, by }) => ({ id, ...statedAs(text, by) }));
  for (const words of stated) {
    const later = statedAs(words, by);
    const replaces = earlier.filter((one) => cannotStay(one, later)).map(({ id }) => id);
    const takesBack = isWithdrawal(words);
    if (takesBack && replaces.length === 0) continue;
    const id = earlier.reduce((most, { id }) => Math.max(most, id), 0) + 1;
    earlier.push({ id, ...later });
    instructions.push({
      id,
      text: words,
      ...given({ by }),
      ...(replaces.length > 0 ? { replaces } : {}),
      ...(lasting.has(words) && !takesBack ? { lasting: true } : {}),
    });
  }
  if (instructions.length === 0) return {};
  const leftOut = withoutRoom([...held, ...instructions], bytesMax);
  return { instructions, ...(leftOut.length > 0 ? { instructions_left_out: leftOut } : {}) };
}

/**
 * The standing instructions that hold after several messages, oldest first: without those that a later one of the same
 * person replaces or takes back. One that is said again keeps its place. One of them may be an instruction already, such as a line
 * of a note.
 */
export function heldAfter<
  Said extends { readonly text: string; readonly by?: string; readonly isInstruction?: boolean },
>(messages: readonly Said[]): readonly { readonly text: string; readonly said: Said }[] {
  let held: (Stated & { readonly said: Said })[] = [];
  for (const said of messages) {
    const { by } = said;
    for (const text of said.isInstruction
      ? [said.text]
      : instructionsIn(withoutName(said.text, by))) {
      const stated = { ...statedAs(text, by), said };
      const again = held.findIndex((one) => one.text === text && one.by === by);
      if (again >= 0) {
        held = held.with(again, stated);
        continue;
      }
      const staying = held.filter((one) => !cannotStay(one, stated));
      const isIdle = staying.length === held.length && isWithdrawal(text);
      held = isIdle ? held : [...staying, stated].slice(-INSTRUCTIONS_MAX);
    }
  }
  return held;
}

/** An instruction as it is compared with others. To read it takes longer than to compare it. */
interface Stated {
  readonly text: string;
  readonly by: string | undefined;
  readonly statement: ReturnType<typeof statementOf>;
}

function statedAs(text: string, by: string | undefined): Stated {
  return { text, by, statement: statementOf(text) };
}

/**
 * Whether a later statement repeats or contradicts an instruction. It does not where another person made it: who of the two
 * decides is not said by who spoke last.
 */
function cannotStay(earlier: Stated, later: Stated): boolean {
  if (areApart(earlier.by, later.by)) return false;
  return (
    earlier.text.toLowerCase() === later.text.toLowerCase() ||
    contradicts(later.statement, earlier.statement)
  );
}

/** Ids of the oldest instructions that hold but do not fit. */
function withoutRoom(
  all: readonly Pick<StandingInstruction, "id" | "text" | "by" | "replaces">[],
  bytesMax: number,
): readonly number[] {
  const replaced = new Set(all.flatMap(({ replaces = [] }) => replaces));
  const holding = all.filter(({ id }) => !replaced.has(id));
  let bytes = 0;
  const last = holding.findLastIndex(({ text, by }) => {
    bytes += utf8Bytes(text) + 3 + (by ? utf8Bytes(by) + 2 : 0);
    return bytes > bytesMax;
  });
  return holding.slice(0, last + 1).map(({ id }) => id);
}
