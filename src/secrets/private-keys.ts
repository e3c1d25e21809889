import { asciiSet, matchAt } from "../text/character-kinds.ts";
import { eachMatch, type FoundSecret } from "./secret-values.ts";

/**
 * Finds private keys: blocks of PEM, OpenSSH, PGP and SSH2, also quoted, indented, cut, or as code; PuTTY's files;
 * such a block in Base64; and the private numbers of JSON web keys and of .NET.
 */
export function addPrivateKeys(text: string, found: FoundSecret[]): void {
  addBlocks(text, found);
  if (text.includes(PUTTY)) addPuttyKeys(text, found);
  addEncodedBlocks(text, found);
  if (text.includes('"kty"')) eachMatch(WEB_KEY, text, (match) => addNumber(match, found));
  if (text.includes("<RSAKeyValue")) eachMatch(XML_KEY, text, (match) => addNumber(match, found));
}

const KIND = "private key";
const DASHES = "----";
const HEADER =
  /-{4,5} ?BEGIN (?:[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?|OpenVPN [\w -]{1,30} V1) ?-{4,5}/y;
const FOOTER =
  /-{4,5} ?END (?:[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?|OpenVPN [\w -]{1,30} V1) ?-{4,5}/y;
/** No key is longer. */
const BLOCK_MAX = 16_000;
/** A shorter body, or a header alone, is talk about keys. */
const BODY_MIN = 8;
/** A shorter run of Base64 may be a word. */
const RUN_MIN = 16;
const IN_RUN = asciiSet(/[A-Za-z0-9+/=]/);

function addBlocks(text: string, found: FoundSecret[]): void {
  let opened: { readonly start: number; readonly body: number } | undefined;
  for (let at = text.indexOf(DASHES); at >= 0; at = text.indexOf(DASHES, at)) {
    const header = matchAt(HEADER, text, at);
    const footer = header ? null : matchAt(FOOTER, text, at);
    const end = at + (header ?? footer ?? [DASHES])[0].length;
    if (header) {
      addCut(text, opened, at, found);
      opened = { start: at, body: end };
    } else if (footer) {
      const isWhole = opened && at - opened.body <= BLOCK_MAX && isBody(text, opened.body, at);
      if (opened && isWhole) found.push({ kind: KIND, start: opened.start, end });
      else {
        addCut(text, opened, at, found);
        const start = opened ? at : bodyBefore(text, at);
        if (start < at) found.push({ kind: KIND, start, end });
      }
      opened = undefined;
    }
    at = end;
    // A long line of dashes is passed at once.
    while (!header && text.startsWith("-", at)) at += 1;
  }
  addCut(text, opened, text.length, found);
}

/** Whether a good part of what is between a header and its end is Base64. */
function isBody(text: string, from: number, to: number): boolean {
  let inRuns = 0;
  for (let at = from; at < to; at += 1) {
    const start = at;
    while (at < to && IN_RUN[text.charCodeAt(at)] === 1) at += 1;
    if (at - start >= RUN_MIN) inRuns += at - start;
  }
  return inRuns >= RUN_MIN && inRuns >= (to - from) * 0.3;
}

/** Text between the lines of a body: breaks, also as JSON has them, signs of quotations and of code, line numbers. */
const BETWEEN = /(?:\s|\\{1,4}[nrt]|["'+,>|#*;]|\/\/|\d{1,5}[\t|:]){0,80}/y;
const LINE =
  /(?:[A-Za-z0-9+/=]{1,400}|(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): [^\n\\]{1,200})/y;

/** A block without its end: the text was cut, or a second key follows. */
function addCut(
  text: string,
  opened: { readonly start: number; readonly body: number } | undefined,
  to: number,
  found: FoundSecret[],
): void {
  if (!opened) return;
  const end = endOfLines(text, opened.body, to);
  if (end - opened.body < BODY_MIN) return;
  found.push({ kind: KIND, start: opened.start, end });
}

/** The end of the lines of Base64 that begin here. */
function endOfLines(text: string, from: number, to: number): number {
  let end = from;
  for (let at = end; at < to && at - from < BLOCK_MAX; ) {
    at += matchAt(BETWEEN, text, at)?.[0].length ?? 0;
    const line = matchAt(LINE, text, at)?.[0] ?? "";
    const isLast = at + line.length >= text.length;
    const next = text[at + line.length] ?? "";
    const isLine = line.length >= RUN_MIN || isLast || line.includes(": ") || line.endsWith("=");
    // A word or a note after a space makes it prose.
    if (line === "" || !isLine || !/[\s"'\\,-]|^$/.test(next)) break;
    at += line.length;
    end = Math.min(at, to);
  }
  return end;
}

/** The start of the lines of Base64 before an end without a header, or the place of the end. */
function bodyBefore(text: string, to: number): number {
  const first = Math.max(0, to - BLOCK_MAX);
  let start = to;
  for (let at = to, lines = 0; at > first; lines += 1) {
    let end = at;
    while (end > first && IS_BETWEEN[text.charCodeAt(end - 1)] === 1) end -= 1;
    if (at - end > 80 || (lines > 0 && at === end)) break;
    at = end;
    while (at > first && IN_RUN[text.charCodeAt(at - 1)] === 1) at -= 1;
    // The last line may be short.
    if (end - at < (lines === 0 ? 1 : RUN_MIN)) break;
    start = at;
  }
  return to - start >= 3 * RUN_MIN ? start : to;
}

const IS_BETWEEN = asciiSet(/[\s"',>|#*;]/);
const PUTTY = "Private-Lines:";
const PUTTY_COUNT = /Private-Lines: ?\d{1,3}/y;
const PUTTY_END = /Private-(?:MAC|Hash): ?[0-9a-f]{8,128}/;

function addPuttyKeys(text: string, found: FoundSecret[]): void {
  for (let at = text.indexOf(PUTTY), next = 0; at >= 0; at = next) {
    const body = at + (matchAt(PUTTY_COUNT, text, at)?.[0].length ?? PUTTY.length);
    next = text.indexOf(PUTTY, body);
    const to = Math.min(next < 0 ? text.length : next, body + BLOCK_MAX);
    const last = PUTTY_END.exec(text.slice(body, to));
    const end = body + (last ? last.index + last[0].length : 0);
    if (last && isBody(text, body, end)) found.push({ kind: KIND, start: at, end });
    else addCut(text, { start: at, body }, to, found);
  }
}

/** How Base64 of five dashes and `BEGIN` begins. */
const ENCODED = "LS0tLS1CRUdJTi";

function addEncodedBlocks(text: string, found: FoundSecret[]): void {
  for (let at = text.indexOf(ENCODED); at >= 0; at = text.indexOf(ENCODED, at)) {
    const start = at;
    while (at < text.length && IN_RUN[text.charCodeAt(at)] === 1) at += 1;
    const header = Buffer.from(text.slice(start, start + 80), "base64").toString("latin1");
    if (!/BEGIN [A-Z0-9 ]{0,40}PRIVATE/.test(header)) continue;
    // `base64` breaks it into lines.
    at = endOfLines(text, at, text.length);
    found.push({ kind: KIND, start, end: at });
  }
}

const WEB_KEY = /"(?:d|p|q|dp|dq|qi|k)"\s{0,3}:\s{0,3}"([\w-]{20,1400})(?=")/g;
const XML_KEY = /<(?:D|P|Q|DP|DQ|InverseQ)>\s{0,9}([A-Za-z0-9+/=]{16,1400})(?=\s{0,9}<)/g;

function addNumber(match: RegExpExecArray, found: FoundSecret[]): void {
  const [whole, value = ""] = match;
  const end = match.index + whole.length;
  found.push({ kind: KIND, start: end - value.length, end });
}
