import { FORGOTTEN } from "../core/message.ts";

/** Quotation marks of any script. */
const QUOTES = /["“”„‟«»‹›「」『』《》〈〉〝〟＂❝❞]/gu;

/** Code in a line, when it has more than one sentence. */
const LONG_CODE = /`[^`\n]*[.!?]\s[^`\n]*`/g;

/** What `rkat` puts around piped input. The words of the command line come after it. */
const PIPED = /^<stdin>[\s\S]*<\/stdin>/;

/** A quoted line, and the lines that continue it up to an empty one. */
const QUOTED_LINES = /^[ \t]*[>＞|].*(?:\n(?![ \t]*\n).+)*/gm;

/**
 * The user's own sentences in a message. Quotes, code, tags and everything after an announcing colon
 * ("Summarise this:") may be by others, so they are left out. A colon after a word that `headings`
 * matches announces nothing.
 *
 * This errs on the safe side: it is better to miss a wish than to obey a document.
 */
export function ownSentences(message: string, headings?: RegExp): readonly string[] {
  const typed = message.replace(PIPED, "\n");
  const text = withoutTags(withoutQuotes(aroundCode(typed).replace(QUOTED_LINES, "\n")))
    .replace(LONG_CODE, '"')
    .replace(/^(?: {4}|\t).*$/gm, "");
  return untilAnnounced(text, headings)
    .split(/(?<=[.!?])\s+|\n+/)
    .map((sentence) => sentence.replace(/^\s*(?:[-*•]|\d+[.)])\s+/, "").trim())
    .filter((sentence) => sentence !== "" && !sentence.includes('"'))
    .filter((sentence) => !sentence.includes(FORGOTTEN));
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
