import { asciiSet, isSpace, spacedTable } from "../text/character-codes.ts";
import {
  AUTHORIZATION,
  BEARER,
  COOKIE,
  CURL,
  HOOK,
  identifyingWords,
  MYSQL,
  OF_NAME,
  SIGNATURE,
  SSHPASS,
} from "./identifying-words.ts";
import { findIssuedSecrets } from "./issued-secrets.ts";
import { isPlaceholder, isRandom, isSecretValue, type ValueStyle } from "./secret-values.ts";

/** A credential in a text: from the character `start` up to `end`. */
export interface FoundSecret {
  /** The kind in words: `GitHub token`, `password`. */
  readonly kind: string;
  readonly start: number;
  readonly end: number;
}

/**
 * Finds the credentials of a text, in order, without overlaps:
 *
 *     -----BEGIN PRIVATE KEY-----…     a block
 *     ghp_…, sk-ant-…, AKIA…           a form that an issuer publishes (`SECRET_FORMS`)
 *     postgres://user:…@host           the password of an address
 *     …?X-Amz-Signature=…              what signs a URL
 *     Authorization: Bearer …          a header
 *     DB_PASSWORD=…, "apiKey": "…"     a value beside a name that says what it is
 *     the secret is wJalr…             what looks random after such a name
 *
 * Commit hashes, UUIDs, checksums, placeholders, code that reads a secret, and talk about
 * passwords are left alone. The time is linear in the text: every repetition is bounded, and no step
 * looks again at what the previous one has looked at.
 */
export function findSecrets(text: string): FoundSecret[] {
  const found: FoundSecret[] = [];
  addPrivateKeys(text, found);
  findIssuedSecrets(text, (kind, start, end) => found.push({ kind, start, end }));
  addFromAddresses(text, found);
  const words = identifyingWords(text);
  if (words !== 0) addBesideWords(text, words, found);
  if ((words & OF_NAME) !== 0 && MAY_NAME.test(text)) {
    addNamed(text, found);
    addRandomNearNames(text, found);
  }
  return found.length > 1 ? apart(found) : found;
}

/**
 * When findings overlap, the first one counts, and of those that begin together the longest. Each kind of search adds its own in
 * order, so a few ordered lists are merged.
 */
function apart(found: readonly FoundSecret[]): FoundSecret[] {
  let inOrder: readonly FoundSecret[] = [];
  let list: FoundSecret[] = [];
  let last: FoundSecret | undefined;
  for (const secret of found) {
    if (last && isBefore(secret, last)) {
      inOrder = merged(inOrder, list);
      list = [];
    }
    list.push(secret);
    last = secret;
  }
  const kept: FoundSecret[] = [];
  let end = 0;
  for (const secret of merged(inOrder, list)) {
    if (secret.start < end) continue;
    kept.push(secret);
    end = secret.end;
  }
  return kept;
}

function isBefore(one: FoundSecret, other: FoundSecret): boolean {
  return one.start < other.start || (one.start === other.start && one.end > other.end);
}

function merged(
  ones: readonly FoundSecret[],
  others: readonly FoundSecret[],
): readonly FoundSecret[] {
  const all: FoundSecret[] = [];
  let at = 0;
  for (const other of others) {
    for (let one = ones[at]; one && !isBefore(other, one); one = ones[at]) {
      all.push(one);
      at += 1;
    }
    all.push(other);
  }
  for (; at < ones.length; at += 1) all.push(ones[at] as FoundSecret);
  return all;
}

/** Calls `see` with each match of a global pattern, in order. */
function eachMatch(pattern: RegExp, text: string, see: (match: RegExpExecArray) => void): void {
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) see(match);
}

/** The match of a sticky pattern at a place. */
function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

const BEGIN = "-----BEGIN ";
const KEY_HEADER = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/y;
/** A shorter body, or a header alone, is talk about keys. */
const BODY_MIN = 8;
/**
 * A line of the body, and the line break before it, also as JSON has it: `\n`. A word or a note after a
 * space makes it prose.
 */
const KEY_LINE =
  /(?:\s|\\[nr]|["'+,]){0,8}(?:[A-Za-z0-9+/=]{1,200}(?=["'\\\s-]|$)(?! (?:[A-Za-z]|\[redacted ))|(?:Proc-Type|DEK-Info|Version|Comment): [^\n\\]{1,200}|-{1,5}(?:END [A-Z0-9 ]{0,60})?-{0,5})/y;

function addPrivateKeys(text: string, found: FoundSecret[]): void {
  for (let at = text.indexOf(BEGIN); at >= 0; at = text.indexOf(BEGIN, at)) {
    const start = at;
    const header = matchAt(KEY_HEADER, text, at);
    at += header?.[0].length ?? BEGIN.length;
    if (!header) continue;
    const body = at;
    // The end may be missing: the text was cut, or a second key follows.
    while (!text.startsWith(BEGIN, at)) {
      const line = matchAt(KEY_LINE, text, at)?.[0];
      if (!line) break;
      at += line.length;
      if (line.includes("--END ")) break;
    }
    if (at - body >= BODY_MIN) found.push({ kind: "private key", start, end: at });
  }
}

const USER_AND_PASSWORD = /[^\s/:@'"<>]{0,100}:([^\s/'"<>]{1,200})@[\w[]/y;
/** Web hooks: the address is the credential. */
const HOOKS =
  /(?:hooks\.slack\.com\/(?:services|workflows|triggers)|discord(?:app)?\.com\/api\/webhooks\/\d{10,25}|\.webhook\.office\.com\/webhookb2)\/([\w@/+-]{20,300})/g;
const PARAMETER =
  /[?&#;](?:X-(?:Amz|Goog)-(?:Signature|Credential|Security-Token)|Signature|sig|(?:access_|id_|refresh_|auth_|oauth_)?token|api_?key|client_secret|secret|password|passwd|pwd)=([\w%.~+/-]{8,2000}={0,2})/gi;
// No word boundary before these words: another credential may end right there.
const CURL_LINE = /curl\s[^\n]{0,500}/g;
const CURL_USER = /\s(?:-u|--user)[ =]{0,2}["']?[\w.@-]{1,60}:([^\s"']{3,200})/;

/** `mysql -phunter2`: this program takes no space there. `-P` is the port, and `-p3306:3306` one of a container. */
const MYSQL_LINE =
  /(?:mysql(?:dump|admin|import|show|check|pump)?|mariadb(?:-dump|-admin|-import)?)\s[^\n|;&]{0,500}/g;
const MYSQL_PASSWORD = /\s-p["']?(?!["'\s]|(?:[\d.]+:)?\d+:\d+)([^\s"']{3,200})/;
const SSHPASS_CALL = /sshpass\s+-p\s{0,2}["']?([^\s"']{3,200})/g;

function addFromAddresses(text: string, found: FoundSecret[]): void {
  let sign = text.indexOf("@");
  for (let at = text.indexOf("://"); at >= 0; at = text.indexOf("://", at + 3)) {
    if (sign >= 0 && sign < at) sign = text.indexOf("@", at);
    if (sign < 0) break;
    const [whole, password] = matchAt(USER_AND_PASSWORD, text, at + 3) ?? [];
    if (whole === undefined || password === undefined || isPlaceholder(password)) continue;
    const end = at + 3 + whole.lastIndexOf("@");
    found.push({ kind: "password", start: end - password.length, end });
  }
}

/** Runs only the searches for which the text has an announcing word. */
function addBesideWords(text: string, words: number, found: FoundSecret[]): void {
  const has = (kinds: number) => (words & kinds) !== 0;
  if (has(HOOK)) eachMatch(HOOKS, text, (match) => addLastGroup(match, "webhook", found));
  if (has(OF_NAME | SIGNATURE)) {
    eachMatch(PARAMETER, text, (match) => addLastGroup(match, "signature or token", found));
  }
  if (has(CURL)) addFromLines(CURL_LINE, CURL_USER, text, found);
  if (has(MYSQL)) addFromLines(MYSQL_LINE, MYSQL_PASSWORD, text, found);
  if (has(SSHPASS))
    eachMatch(SSHPASS_CALL, text, (match) => addLastGroup(match, "password", found));
  if (has(OF_NAME | AUTHORIZATION)) addFromHeaders(text, found);
  if (has(BEARER)) {
    eachMatch(BEARER_TOKEN, text, (match) => {
      if (/\d/.test(match[1] ?? "")) addLastGroup(match, "authorization", found);
    });
  }
  if (has(COOKIE)) eachMatch(COOKIES, text, (match) => addLastGroup(match, "cookie", found));
}

/** Adds the password of each line that calls a program. */
function addFromLines(lines: RegExp, password: RegExp, text: string, found: FoundSecret[]): void {
  eachMatch(lines, text, (line) => {
    const given = password.exec(line[0]);
    if (!given) return;
    given.index += line.index;
    addLastGroup(given, "password", found);
  });
}

/** Adds the last group of a match, which ends where the match does. */
function addLastGroup(match: RegExpExecArray, kind: string, found: FoundSecret[]): void {
  const value = match.at(-1) ?? "";
  if (isPlaceholder(value)) return;
  const end = match.index + match[0].length;
  found.push({ kind, start: end - value.length, end });
}

const HEADER =
  /(?:(?:proxy-)?authorization|x-(?:[a-z]{1,20}-)?(?:api-?key|token)|api-key|private-token|x-auth-key)\\{0,2}["'`]?\s{0,3}[:=]\s{0,3}\\{0,2}["'`]?(?:(bearer|basic|token|digest|negotiate|apikey)\s{1,3})?([^\s"'`\\,;<>(){}]{8,4000})/gi;
const BEARER_TOKEN = /bearer\s{1,3}([\w.~+/-]{16,4000}={0,2})/gi;
const COOKIES =
  /(?:set-)?cookie\\{0,2}["']?\s{0,3}:\s{0,3}\\{0,2}["']?([\w.-]{1,80}=[^\n"'\\]{8,4000})/gi;

function addFromHeaders(text: string, found: FoundSecret[]): void {
  eachMatch(HEADER, text, (match) => {
    const [, scheme, value = ""] = match;
    if (scheme) addLastGroup(match, "authorization", found);
    else if (isSecretValue(value, false, "tight")) addLastGroup(match, "API key", found);
  });
}

/** Names whose value is a credential. A prefix such as `DB_` or `staging` does not matter. */
const NAMES =
  "(?:(pass(?:word|wd|phrase)|pwd|[_-]pass(?![a-z]))|(?:api|access|account|auth|client|consumer|encryption|license|master|private|secret|service|shared|signing|storage|subscription)[_ -]?(?:access[_ -]?)?(?:key|secret|token)|secret|token(?!s)|credential|identified by|recovery[_ -]code|seed[_ -]phrase|mnemonic)s?(?![a-z])(?:_?\\d{1,2})?";
const NAME = new RegExp(NAMES, "gi");
/** A part of each name, so a text without a match has no name. */
const MAY_NAME =
  /pass|pwd|key|secret|token|credential|identified by|recovery.code|seed.phrase|mnemonic/i;
/**
 * A name, and the signs or words between it and its value in code, settings, JSON, XML and prose.
 * The groups are: a name that means a password, a sign.
 */
const ASSIGNMENT = new RegExp(
  `${NAMES}(?:\\\\{0,2}["'\`\\])]){0,2}(?:${[
    "(\\s{0,3}(?::=|=>|==?|:|\\|)\\s{0,3}|>|[\"']\\s{1,3}value\\s?=\\s?)",
    "\\s{1,3}(?:is|was|are|to|should be|must be|now)\\s{1,3}:?\\s{0,2}",
    "\\s{1,2}(?=[\"'`])",
  ].join("|")})`,
  "gi",
);
/** `--password hunter2`, and `login ada password hunter2` in a netrc file: a space separates name and value. */
const ARGUMENT = new RegExp(
  `(?:(?<![\\w-])--?[a-z-]{0,30}?${NAMES}|\\blogin\\s\\S{1,60}\\spassword)(\\s)(?=[^\\s-])`,
  "gi",
);

function addNamed(text: string, found: FoundSecret[]): void {
  const named: NamedText = { text, hasNote: text.includes(NOTE), bareStart: 0, bareEnd: 0 };
  eachMatch(ARGUMENT, text, (match) => {
    const secret = valueAfter(named, match, match[1] !== undefined || LOGIN.test(match[0]));
    if (secret) found.push(secret);
  });
  ASSIGNMENT.lastIndex = 0;
  let runEnd = 0;
  let looks = 0;
  for (let match = ASSIGNMENT.exec(text); match; match = ASSIGNMENT.exec(text)) {
    const secret = valueAfter(named, match, match[1] !== undefined);
    if (secret) {
      found.push(secret);
      ASSIGNMENT.lastIndex = secret.end;
      continue;
    }
    // In a run full of names (`token=token=…`), only the first few look for the end of the run.
    looks = match.index < runEnd ? looks + 1 : 0;
    if (looks === 0) runEnd = endOfWord(text, match.index);
    if (looks > LOOKS_MAX) ASSIGNMENT.lastIndex = Math.max(runEnd, ASSIGNMENT.lastIndex);
  }
}

const LOGIN = /^login/i;
const LOOKS_MAX = 2;

/** The place of the next white space, or the end of the longest value. */
function endOfWord(text: string, start: number): number {
  const last = Math.min(text.length, start + BARE.max);
  let end = start;
  while (end < last && !isSpace(text.charCodeAt(end))) end += 1;
  return end;
}

/** How a quoted value begins, also inside JSON. */
const IS_QUOTE = asciiSet(/["'`\\]/);
const QUOTED = /\\{0,2}(["'`])([^"'`\n\\]{4,400})/y;
/** The size of a value without quotes. */
const BARE = { min: 4, max: 400 } as const;
const OPENS = asciiSet(/[([{<]/);
const TAG = "<".charCodeAt(0);
const ENDS_BARE = spacedTable((character) => Number(/[\s"'`,;&<>(){}[\]|\\]/.test(character)));

/** A text whose names are read. */
interface NamedText {
  readonly text: string;
  /** Whether it has a note such as `[redacted password]`. */
  readonly hasNote: boolean;
  /** A part without a sign that ends a bare value. Names in one run of characters share it. */
  bareStart: number;
  bareEnd: number;
}

/** The value that a name announces, if it is a credential. */
function valueAfter(
  named: NamedText,
  match: RegExpExecArray,
  isPassword: boolean,
): FoundSecret | undefined {
  const { text } = named;
  const announced = match[0];
  const sign = match[2];
  const start = match.index + announced.length;
  const quoted = IS_QUOTE[text.charCodeAt(start)] === 1 ? matchAt(QUOTED, text, start) : null;
  if (quoted?.[2] !== undefined) {
    const value = quoted[2];
    const style: ValueStyle = sign === undefined ? "loose" : "quoted";
    const isSecret = isPhrase(announced, value) || isSecretValue(value, isPassword, style);
    if (!isSecret || isInNote(named, match.index)) return undefined;
    const end = start + quoted[0].length;
    return { kind: kindOf(announced, isPassword), start: end - value.length, end };
  }
  const bareEnd = endOfBare(named, start);
  if (bareEnd - start < BARE.min) return undefined;
  // A bracket after it makes it a call or a template.
  const next = text.charCodeAt(bareEnd);
  if (sign === ">" ? next !== TAG : OPENS[next] === 1) return undefined;
  const end = withoutStops(text, bareEnd);
  const value = text.slice(start, end);
  const style: ValueStyle = sign === "=" || sign === ">" || sign === " " ? "tight" : "loose";
  if (!isSecretValue(value, isPassword, style) || isInNote(named, match.index)) return undefined;
  return { kind: kindOf(announced, isPassword), start, end };
}

/** The end of a bare value. Text that the previous name has read is not read again. */
function endOfBare(named: NamedText, start: number): number {
  const { text, bareStart, bareEnd } = named;
  const last = Math.min(text.length, start + BARE.max);
  let end = bareStart <= start && start < bareEnd ? bareEnd : start;
  while (end < last && ENDS_BARE[text.charCodeAt(end)] !== 1) end += 1;
  named.bareStart = start;
  named.bareEnd = end;
  return end;
}

/** The end of a value without up to three signs that end a sentence. */
function withoutStops(text: string, end: number): number {
  let before = end;
  while (before > end - 3 && IS_STOP[text.charCodeAt(before - 1)] === 1) before -= 1;
  return before;
}

const IS_STOP = asciiSet(/[.,:!?]/);

/** Whether a name is part of a note such as `[redacted password]`. */
function isInNote({ text, hasNote }: NamedText, at: number): boolean {
  if (!hasNote) return false;
  const from = Math.max(0, at - 40);
  for (let place = at - 1; place >= from; place -= 1) {
    const code = text.charCodeAt(place);
    if (code === CLOSING) return false;
    if (code === OPENING && place + NOTE.length <= at && text.startsWith(NOTE, place)) return true;
  }
  return false;
}

const NOTE = "[redacted ";
const OPENING = NOTE.charCodeAt(0);
const CLOSING = "]".charCodeAt(0);

/** Words that restore a wallet or an account. */
function isPhrase(name: string, value: string): boolean {
  return /phrase|mnemonic/i.test(name) && /^(?:[a-z]{2,12} ){3,23}[a-z]{2,12}$/.test(value);
}

/** A run that may be random is so long, without the `=` at its end. A longer one is cut. */
const RUN = { min: 20, max: 400 } as const;
const IN_RUN = asciiSet(/[\w+/.~-]/);
/** How many characters a name may stand before its run, on the same line. */
const NEAR = 60;

function addRandomNearNames(text: string, found: FoundSecret[]): void {
  for (let start = 0; start < text.length; start += 1) {
    let end = start;
    while (end < text.length && IN_RUN[text.charCodeAt(end)] === 1) end += 1;
    const size = end - start;
    if (size >= RUN.min && text[start - 1] !== "=") {
      const runEnd = size > RUN.max ? start + RUN.max : withPadding(text, end);
      const name = isRandomRun(text.slice(start, runEnd)) ? nameNear(text, start) : undefined;
      if (name) found.push({ kind: kindOf(name), start, end: runEnd });
    }
    start = end;
  }
}

/** The end of a run with up to two `=`, which end base64. */
function withPadding(text: string, end: number): number {
  if (!text.startsWith("=", end)) return end;
  return text.startsWith("==", end) ? end + 2 : end + 1;
}

function isRandomRun(run: string): boolean {
  return isRandom(run) && !isPlaceholder(run);
}

/** The last name that stands closely before a place, on its line. */
function nameNear(text: string, at: number): string | undefined {
  const before = text.slice(Math.max(0, at - NEAR), at);
  // A name before a note has its value there, so it does not count for the text after the note.
  const line = before.slice(Math.max(before.lastIndexOf("\n"), before.lastIndexOf("]")) + 1);
  return line.match(NAME)?.at(-1);
}

function kindOf(name: string, isPassword = false): string {
  if (isPassword || /pass|pwd/i.test(name)) return "password";
  if (/token/i.test(name)) return "token";
  return /key/i.test(name) ? "key" : "secret";
}
