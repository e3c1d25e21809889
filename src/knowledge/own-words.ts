import { FORGOTTEN } from "../core/message.ts";

/** "Constraints:" or "Follow these rules:" before a list, or "Constraint:" before a sentence. */
export const HEADING =
  /^(?:[#*_ ]*(?:(?:please )?(?:follow|obey|respect|keep to|stick to|here are) )?(?:the |these |my |our |following |some |one |two |three |four |five |a few |hard |strict |important |standing |ground )*(?:constraints?|rules?|requirements?|restrictions?|limits|limitations?|guidelines?|standing instructions?)(?: (?:for|of|in) (?:you|this (?:session|task|project|repo(?:sitory)?|codebase)))?[*_ ]*)$/i;

/** Quotation marks of any script. */
const QUOTES = /["“”„‟«»‹›「」『』《》〈〉〝〟＂❝❞]/gu;

/** Code between backticks that has more than one sentence, or more than one line. */
const LONG_CODE = /[.!?]\s|\n/;

/** The tag that `rkat` puts around piped input. The words of the command line come after it. */
const PIPED = /^<stdin>[\s\S]*<\/stdin>/;

/** A quoted line, and the lines that continue it up to an empty one. */
const QUOTED_LINES = /^[ \t]*[>＞|].*(?:\n(?![ \t]*\n).+)*/gm;

/** A sentence of the user, or a whole item of a list. */
export interface OwnWords {
  readonly text: string;
  /** Whether it is an item of a list under a heading. */
  readonly isListed: boolean;
}

/**
 * The user's own sentences in a message, and the items of lists under a line such as "Rules:" that
 * `headings` matches. Quotes, code, tags and everything after another announcing colon
 * ("Summarise this:") may be by others, so they are left out.
 *
 * This errs on the safe side: it is better to miss a wish than to obey a document.
 */
export function ownWords(message: string, headings?: RegExp): readonly OwnWords[] {
  const typed = withoutOutput(message.replace(PIPED, "\n"));
  const own = withoutTags(withoutQuotes(aroundCode(typed).replace(QUOTED_LINES, "\n")));
  const text = withoutLongCode(own).replace(/^(?: {4}|\t).*$/gm, "");
  const said = untilRecord(untilAnnounced(text, headings));
  // Who asks about a text shows it. Where no mark says which text that is, it is the rest of the message.
  const isMarked = typed.length < message.length || lineCount(said) < lineCount(message);
  return wordsOf((isMarked ? said : withoutShown(said)).split("\n"), headings).filter(
    ({ text }) => !NOT_OWN.test(text) && !text.includes(FORGOTTEN),
  );
}

function lineCount(text: string): number {
  return text.split("\n").length;
}

/** Nothing, a quoted item, or a sentence with a place of code or a quote. */
const NOT_OWN = /^$|^[>＞]|"/;
const LIST_MARK = /^\s*(?:[-*•]|\d+[.)])\s+/;

function wordsOf(lines: readonly string[], headings: RegExp | undefined): readonly OwnWords[] {
  let isUnderHeading = false;
  return lines.flatMap((line): readonly OwnWords[] => {
    const text = line.replace(LIST_MARK, "").trim();
    const isListed = isUnderHeading && LIST_MARK.test(line);
    if (isListed) return [{ text, isListed }];
    // Empty lines between the items do not end a list.
    if (text !== "") isUnderHeading = isHeading(text, headings);
    return text.split(/(?<=[.!?])\s+/).map((sentence) => ({ text: sentence.trim(), isListed }));
  });
}

function isHeading(line: string, headings: RegExp | undefined): boolean {
  if (headings === undefined) return false;
  // A sentence may stand before it: "Fix the tests. Constraints:"
  const [, heading] = /^(.*)[:：][*_ ]*$/.exec(line.slice(-HEADING_MAX)) ?? [];
  return heading !== undefined && headings.test(heading.slice(endOfLastSentence(heading)).trim());
}

/** A line that only a program writes: the place of an error, a stack, a prompt of a shell, a step of a build. */
const OUTPUT_LINE =
  /^[ \t]{0,8}(?:[\w./\\@-]{1,200}\.\w{1,6}(?::\d|\(\d)|(?:error|warning)(?:\[\w{1,20}\]|:| TS\d)|(?:npm|yarn|pnpm|cargo) (?:ERR!|error|WARN)|Traceback \(|at [^\s(]{1,200} \(|\d+:\d+ {1,8}(?:error|warning)|[EW]: |\[?(?:ERROR|WARN(?:ING)?|FATAL|INFO)[\] :]|Step \d+\/\d+|-{1,4}> |= (?:help|note): |make(?:\[\d+\])?: |[$%] \w|[\w.]{0,60}(?:Error|Exception|Warning): |(?:FAIL|PASS|✕|✖|✓)(?: |$))/u;

/** The text without the output of programs: from its first line in a paragraph to the end of that. */
function withoutOutput(text: string): string {
  return text
    .split(PARAGRAPH_ENDS)
    .map((paragraph) => {
      const lines = paragraph.split("\n");
      const first = lines.findIndex((line) => OUTPUT_LINE.test(line));
      return first < 0 ? paragraph : [...lines.slice(0, first), ""].join("\n");
    })
    .join("");
}

/** Words that ask about a text: what it means, what to make of it. */
const ASKS_ABOUT =
  /(?<!\p{L})(?:(?:this|that|these|following|diese[rsnm]?|cette?|ce|este|esta|questo|questa) (?:[\p{L}-]{1,20} ){0,2}(?:prompt|recipe|readme|paragraph|clause|text|e-?mail|letter|message|thread|log|poem|contract|lease|guide|article|post|essay|rezept|absatz|brief|nachricht|vertrag|anleitung|artikel|recette|paragraphe|texte|lettre|contrat|receta|párrafo|texto|carta|contrato|ricetta|testo|[\p{L}_-]{1,30}\.md)(?!\p{L})|the (?:readme|recipe|prompt|e-?mail|letter|thread) (?:below|above)|(?:rewrite|continue|improve|polish|review|proofread|shorten|translate|summari[sz]e) (?:[\p{L}'’-]{1,20} ){0,3}(?:prompt|recipe|text|e-?mail|letter|thread|story|poem|essay|instructions)(?!\p{L})|(?:wrote|writes|posted|says|said|sent (?:me|us|this|it)(?: around)?|(?:he|sie|mir|uns) (?:schrieb|schickte)|schreibt|a écrit|escribió)[ \t]{0,3}$|das (?:rezept|prompt)(?!\p{L})|was (?:bedeutet|heißt|hältst du von)|worum geht|worüber (?:reden|sprechen)|que veut dire|que signifie|qué (?:significa|quiere decir)|cosa significa)/iu;

/** The same without a word for what is shown: "Explain this." What stands in the same paragraph may be a wish. */
const ASKS_ABOUT_IT =
  /(?<!\p{L})(?:(?:what|how) (?:does|do) (?:this|that|it|they|these) (?:[\p{L}-]{1,20} ){0,2}mean|(?:summari[sz]e|translate|proofread|rephrase|shorten|explain|forward|answer|correct) (?:this|that|it)(?=\s*$|[.,;:!?)]| (?:in|into|to|for|please|and|as)(?!\p{L})))/iu;

/** The lines that ask about a text, if there are any, and the other ones are one: a single sentence is none. */
function withoutShown(text: string): string {
  const lines = text.split("\n");
  const asking = lines.filter((line) => ASKS_ABOUT.test(line));
  if (asking.length > 0)
    return isText(lines.filter((line) => !ASKS_ABOUT.test(line))) ? asking.join("\n") : text;
  const asks = (paragraph: string) =>
    paragraph.split("\n").some((line) => ASKS_ABOUT_IT.test(line));
  const { true: own, false: shown = [] } = Object.groupBy(
    text.split(PARAGRAPH_ENDS),
    (paragraph) => `${asks(paragraph)}`,
  );
  return own && isText(shown.flatMap((paragraph) => paragraph.split("\n"))) ? own.join("\n") : text;
}

/** Whether these lines have more than a sentence. */
function isText(lines: readonly string[]): boolean {
  const [first = "", ...more] = lines.filter((line) => line.trim() !== "");
  return more.length > 0 || /[.!?]\s+\S/.test(first);
}

/** The text before the first code block and after the last. Between two, it may be pasted. */
function aroundCode(message: string): string {
  const parts = message.split(/```|~~~/);
  const last = parts.length % 2 === 1 && parts.length > 1 ? parts.at(-1) : "";
  return `${parts[0]}\n${last}`;
}

/** The text with a quotation mark in the place of each long code. What stands between two short ones is the user's own. */
function withoutLongCode(text: string): string {
  return text.split(PARAGRAPH_ENDS).map(withoutLongCodeIn).join("");
}

const PARAGRAPH_ENDS = /(?<=\n)(?=[ \t]*\n)/;

function withoutLongCodeIn(paragraph: string): string {
  // A text, the mark that opens code, the code, the mark that closes it, the next text, and so on.
  const parts = paragraph.split(/(`+)/);
  const isPaired = parts.length % 4 === 1;
  if (!isPaired) {
    const between = parts.slice(1, -1).join("");
    return LONG_CODE.test(between) ? `${parts[0]}"${parts.at(-1)}` : paragraph;
  }
  let own = "";
  for (let at = 0; at < parts.length; at += 4) {
    const [text = "", opens = "", code = "", closes = ""] = parts.slice(at, at + 4);
    own += text + (LONG_CODE.test(code) ? '"' : opens + code + closes);
  }
  return own;
}

/**
 * The text before the first quotation mark and after the last. Between two quotes, it may be quoted
 * too: some scripts open with the mark that others close with. After a quote that is not closed,
 * everything is quoted.
 */
function withoutQuotes(text: string): string {
  const marks = Array.from(text.matchAll(QUOTES), ({ index }) => index);
  const [first] = marks;
  if (first === undefined) return text;
  const before = text.slice(0, endOfLastSentence(text.slice(0, first)));
  if (marks.length % 2 === 1) return before;
  const after = text.slice((marks.at(-1) ?? 0) + 1);
  const rest = after.search(/[.!?\n]/);
  return `${before}\n${rest < 0 ? "" : after.slice(rest + 1)}`;
}

/**
 * The text before the first tag and after the last closing one, because pasted text may have closing
 * tags of its own. Without an opening tag everything before a closing one may be pasted, and without a
 * closing tag everything after an opening one.
 */
function withoutTags(text: string): string {
  const opening = text.search(OPENING_TAG);
  const [closing, ...more] = text.matchAll(CLOSING_TAG);
  if (!closing) return opening < 0 ? text : text.slice(0, opening);
  const last = more.at(-1) ?? closing;
  const before = opening >= 0 && opening < closing.index ? text.slice(0, opening) : "";
  const after = text.slice(last.index + last[0].length);
  const again = after.search(OPENING_TAG);
  return `${before}\n${again < 0 ? after : after.slice(0, again)}`;
}

const OPENING_TAG = /<[a-z][^<>]*>/i;
const CLOSING_TAG = /<\/[a-z][\w-]*>/gi;

const HEADING_MAX = 100;

function untilAnnounced(text: string, headings: RegExp | undefined): string {
  for (const { index } of text.matchAll(/[:：][ \t]*(?:\n|$)/g)) {
    // A heading is short. To look back further for each colon would take quadratic time.
    const near = text.slice(Math.max(0, index - HEADING_MAX), index);
    if (headings?.test(near.slice(endOfLastSentence(near)).trim())) continue;
    return text.slice(0, endOfLastSentence(text.slice(0, index)));
  }
  return text;
}

/** A line that begins what others wrote: the head of a message in a chat or of a mail, a line of a log, the heading of a file. */
const RECORD =
  /^(?:[^\n.!?]{1,40}[ ,]\[?\d{1,2}[:.]\d{2}(?: ?[AP]M)?[\])]?[ \t]{0,20}$|\[[^\]\n]{0,20}\d{1,2}[:.]\d{2}[^\]\n]{0,10}\]|\d{4}-\d{2}-\d{2}[T ]\d{2}:|#{1,6} [^\n]{0,80}\w\.\w{1,5}[ \t]{0,20}$|-{3,9} ?\p{L}[^\n]{0,80}-[ \t]{0,20}$|(?:From|Von|De|Da|Van|От|差出人|发件人) ?[:：])/imu;

/** A line of a dialogue or of a form. */
const LABELLED = /^([\p{L}\p{N}][^\n.!?:：]{0,30})[:：][ \t]+\S/u;

/** A line of a list of ingredients or parts. */
const QUANTITY =
  /^\s{0,8}(?:[-*•] {0,3})?\d+(?:[.,/]\d+)? ?(?:m?g|kg|[mcd]?l|oz|lb|cups?|tsp|tbsp|[ET]L|eggs?|Eier?|Möhren|œufs?|huevos?|uova)(?!\p{L})/iu;

/** The text before the first line of a record, or before two labelled lines in a row: a dialogue, or a form. */
function untilRecord(text: string): string {
  const record = text.search(RECORD);
  const lines = (record < 0 ? text : text.slice(0, record)).split("\n");
  const isLabelled = (line = "") => {
    const [, label] = LABELLED.exec(line) ?? [];
    return label !== undefined && !HEADING.test(label);
  };
  const first = lines.findIndex((line, at) => isLabelled(line) && isLabelled(lines[at + 1]));
  const listed = lines.findIndex(
    (line, at) => QUANTITY.test(line) && QUANTITY.test(lines[at + 1] ?? ""),
  );
  const ends = [first, listed].filter((at) => at >= 0);
  return lines.slice(0, Math.min(lines.length, ...ends)).join("\n");
}

/** The place after the last full stop or line end; 0 when there is none. */
function endOfLastSentence(text: string): number {
  const last = Math.max(...[".", "!", "?", "\n"].map((mark) => text.lastIndexOf(mark)));
  return last + 1;
}
