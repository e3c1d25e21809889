import { FORGOTTEN } from "../core/message.ts";

/** Quotation marks of any script. */
const QUOTES = /["“”„‟«»‹›「」『』《》〈〉〝〟＂❝❞]/gu;

/** Code in a line, when it has more than one sentence. */
const LONG_CODE = /`[^`\n]*[.!?]\s[^`\n]*`/g;

/** What `rkat` puts around piped input. The words of the command line come after it. */
const PIPED = /^<stdin>[\s\S]*<\/stdin>/;

/** A quoted line, and the lines that continue it up to an empty one. */
const QUOTED_LINES = /^[ \t]*[>＞|].*(?:\n(?![ \t]*\n).+)*/gm;

/** A sentence of the user, or a whole item of a list. */
export interface OwnWords {
  readonly text: string;
  /** Whether it is an item of a list under a heading. */
  readonly isListed: boolean;
}

/** The user's own sentences in a message. */
export function ownSentences(message: string): readonly string[] {
  return ownWords(message).map(({ text }) => text);
}

/**
 * The user's own sentences in a message, and the items of lists under a line such as "Rules:" that
 * `headings` matches. Quotes, code, tags and everything after another announcing colon
 * ("Summarise this:") may be by others, so they are left out.
 *
 * This errs on the safe side: it is better to miss a wish than to obey a document.
 */
export function ownWords(message: string, headings?: RegExp): readonly OwnWords[] {
  const typed = message.replace(PIPED, "\n");
  const text = withoutTags(withoutQuotes(aroundCode(typed).replace(QUOTED_LINES, "\n")))
    .replace(LONG_CODE, '"')
    .replace(/^(?: {4}|\t).*$/gm, "");
  return wordsOf(untilAnnounced(text, headings).split("\n"), headings).filter(
    ({ text }) => !NOT_OWN.test(text) && !text.includes(FORGOTTEN),
  );
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
  if (line.length > HEADING_MAX || headings === undefined) return false;
  const [, heading] = /^(.*)[:：][*_ ]*$/.exec(line) ?? [];
  return heading !== undefined && headings.test(heading.trim());
}

/** The text before the first code block and after the last. Between two, it may be pasted. */
function aroundCode(message: string): string {
  const parts = message.split(/```|~~~/);
  const last = parts.length % 2 === 1 && parts.length > 1 ? parts.at(-1) : "";
  return `${parts[0]}\n${last}`;
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

/** The place after the last full stop or line end; 0 when there is none. */
function endOfLastSentence(text: string): number {
  const last = Math.max(...[".", "!", "?", "\n"].map((mark) => text.lastIndexOf(mark)));
  return last + 1;
}
