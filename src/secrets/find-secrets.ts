import { SECRET_FORMS } from "./secret-forms.ts";
import { isPlaceholder, isRandom, isSecretValue, type ValueStyle } from "./secret-values.ts";

/** A credential in a text: from the character `start` up to `end`. */
export interface FoundSecret {
  /** What it is, in words: `GitHub token`, `password`. */
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
  const found = [
    ...privateKeys(text),
    ...issued(text),
    ...inAddresses(text),
    ...inHeaders(text),
    ...named(text),
    ...randomNearNames(text),
  ].sort((one, other) => one.start - other.start || other.end - one.end);
  const apart: FoundSecret[] = [];
  let end = 0;
  for (const secret of found) {
    if (secret.start < end) continue;
    apart.push(secret);
    end = secret.end;
  }
  return apart;
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
/** A line of the body, and the line break before it, also as JSON has it: `\n`. */
const KEY_LINE =
  /(?:\s|\\[nr]|["'+,]){0,8}(?:[A-Za-z0-9+/=]{1,200}(?=["'\\\s-]|$)(?! [A-Za-z])|(?:Proc-Type|DEK-Info|Version|Comment): [^\n\\]{1,200}|-{1,5}(?:END [A-Z0-9 ]{0,60})?-{0,5})/y;

function* privateKeys(text: string): Generator<FoundSecret> {
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
    if (at - body >= BODY_MIN) yield { kind: "private key", start, end: at };
  }
}

/** The forms that begin with a character, as one pattern with a group for each. */
interface IssuedPattern {
  readonly expression: RegExp;
  readonly kinds: readonly string[];
}

/** Patterns by the code of the first character, so that few forms are tried at a place. */
type IssuedPatterns = readonly (IssuedPattern | undefined)[];

const MARKS = SECRET_FORMS.flatMap(({ mark }) => mark ?? []);
const EVERY_FORM = patternsOf(SECRET_FORMS);
const FORMS_WITHOUT_MARK = patternsOf(SECRET_FORMS.filter(({ mark }) => mark === undefined));

function patternsOf(forms: typeof SECRET_FORMS): IssuedPatterns {
  const beginnings = forms.map(({ form }) => beginningOf(form));
  return Array.from({ length: 128 }, (_, code) => {
    const first = String.fromCharCode(code);
    const some = forms.filter((_, index) => beginnings[index]?.test(first));
    if (some.length === 0) return undefined;
    const expression = new RegExp(some.map(({ form }) => `(${form})`).join("|"), "y");
    return { expression, kinds: some.map(({ kind }) => kind) };
  });
}

/** The first character of a form: a literal, a class, or those of its alternatives. */
function beginningOf(form: string): RegExp {
  const alternatives = /^\(\?:([^()]+)\)/.exec(form)?.[1]?.split("|") ?? [form];
  const firsts = alternatives.map((one) => /^(?:\[[^\]]+\]|\\?.)/.exec(one)?.[0]);
  return new RegExp(firsts.join("|"));
}

function* issued(text: string): Generator<FoundSecret> {
  const patterns = MARKS.some((mark) => text.includes(mark)) ? EVERY_FORM : FORMS_WITHOUT_MARK;
  let at = 0;
  while (at < text.length) {
    const pattern = patterns[text.charCodeAt(at)];
    const match = pattern && !endsWord(text, at) ? matchAt(pattern.expression, text, at) : null;
    if (!pattern || !match) {
      at += 1;
      continue;
    }
    const start = at;
    at += match[0].length;
    const group = match.findIndex((part, index) => index > 0 && part !== undefined);
    const kind = pattern.kinds[group - 1] ?? "secret";
    // `sk-learn-and-more-words` has the form of a key and is none.
    if (kind === "OpenAI key" && !/[A-Z\d]/.test(match[0])) continue;
    yield { kind, start, end: at };
  }
}

/** Whether a letter, digit or underscore stands before a place. */
function endsWord(text: string, at: number): boolean {
  return at > 0 && IN_WORD[text.charCodeAt(at - 1)] === 1;
}

const IN_WORD = Uint8Array.from({ length: 128 }, (_, code) =>
  Number(/\w/.test(String.fromCharCode(code))),
);

const USER_AND_PASSWORD = /[^\s/:@'"<>]{0,100}:([^\s/'"<>]{1,200})@[\w[]/y;
/** Web hooks: the address is the credential. */
const HOOK =
  /(?:hooks\.slack\.com\/(?:services|workflows|triggers)|discord(?:app)?\.com\/api\/webhooks\/\d{10,25}|\.webhook\.office\.com\/webhookb2)\/([\w@/+-]{20,300})/g;
const PARAMETER =
  /[?&#;](?:X-(?:Amz|Goog)-(?:Signature|Credential|Security-Token)|Signature|sig|(?:access_|id_|refresh_|auth_|oauth_)?token|api_?key|client_secret|secret|password|passwd|pwd)=([\w%.~+/-]{8,2000}={0,2})/gi;
const CURL_LINE = /\bcurl\s[^\n]{0,500}/g;
const CURL_USER = /\s(?:-u|--user)[ =]{0,2}["']?[\w.@-]{1,60}:([^\s"']{3,200})/;

function* inAddresses(text: string): Generator<FoundSecret> {
  let sign = text.indexOf("@");
  for (let at = text.indexOf("://"); at >= 0; at = text.indexOf("://", at + 3)) {
    if (sign >= 0 && sign < at) sign = text.indexOf("@", at);
    if (sign < 0) break;
    const [whole, password] = matchAt(USER_AND_PASSWORD, text, at + 3) ?? [];
    if (whole === undefined || password === undefined || isPlaceholder(password)) continue;
    const end = at + 3 + whole.lastIndexOf("@");
    yield { kind: "password", start: end - password.length, end };
  }
  for (const match of text.matchAll(HOOK)) yield* lastGroup(match, 1, "webhook");
  for (const match of text.matchAll(PARAMETER)) yield* lastGroup(match, 1, "signature or token");
  for (const line of text.matchAll(CURL_LINE)) {
    const user = CURL_USER.exec(line[0]);
    if (user) user.index += line.index;
    if (user) yield* lastGroup(user, 1, "password");
  }
}

/** The end of a match, where its last group ends too. */
function* lastGroup(match: RegExpMatchArray, group: number, kind: string): Generator<FoundSecret> {
  const value = match[group] ?? "";
  if (isPlaceholder(value)) return;
  const end = (match.index ?? 0) + match[0].length;
  yield { kind, start: end - value.length, end };
}

const HEADER =
  /\b(?:(?:proxy-)?authorization|x-(?:[a-z]{1,20}-)?(?:api-?key|token)|api-key|private-token|x-auth-key)\\{0,2}["'`]?\s{0,3}[:=]\s{0,3}\\{0,2}["'`]?(?:(bearer|basic|token|digest|negotiate|apikey)\s{1,3})?([^\s"'`\\,;<>(){}]{8,4000})/gi;
const BEARER = /\bbearer\s{1,3}([\w.~+/-]{16,4000}={0,2})/gi;
const COOKIE =
  /\b(?:set-)?cookie\\{0,2}["']?\s{0,3}:\s{0,3}\\{0,2}["']?([\w.-]{1,80}=[^\n"'\\]{8,4000})/gi;

function* inHeaders(text: string): Generator<FoundSecret> {
  for (const match of text.matchAll(HEADER)) {
    const [, scheme, value = ""] = match;
    if (scheme || isSecretValue(value, false, "tight")) {
      yield* lastGroup(match, 2, `${scheme ? "authorization" : "API key"}`);
    }
  }
  for (const match of text.matchAll(BEARER)) {
    if (/\d/.test(match[1] ?? "")) yield* lastGroup(match, 1, "authorization");
  }
  for (const match of text.matchAll(COOKIE)) yield* lastGroup(match, 1, "cookie");
}

/** Names whose value is a credential. A prefix such as `DB_` or `staging` does not matter. */
const NAMES =
  "(?:(pass(?:word|wd|phrase)|pwd|[_-]pass(?![a-z]))|(?:api|access|account|auth|client|consumer|encryption|license|master|private|secret|service|shared|signing|storage|subscription)[_ -]?(?:access[_ -]?)?(?:key|secret|token)|secret|token(?!s)|credential|identified by|recovery[_ -]code|seed[_ -]phrase|mnemonic)s?(?![a-z])(?:_?\\d{1,2})?";
const NAME = new RegExp(NAMES, "gi");
/**
 * A name, and the signs or words between it and its value in code, settings, JSON, XML and prose.
 * The groups are: a name that means a password, a sign, a verb.
 */
const ASSIGNMENT = new RegExp(
  `${NAMES}(?:\\\\{0,2}["'\`\\])]){0,2}(?:${[
    "(\\s{0,3}(?::=|=>|==?|:|\\|)\\s{0,3}|>|[\"']\\s{1,3}value\\s?=\\s?)",
    "(\\s{1,3}(?:is|was|are|to|should be|must be|now)\\s{1,3}:?\\s{0,2})",
    "\\s{1,2}(?=[\"'`])",
  ].join("|")})`,
  "gi",
);
/** `--password hunter2`, and `login ada password hunter2` in a netrc file: a space separates name and value. */
const ARGUMENT = new RegExp(
  `(?:(?<![\\w-])--?[a-z-]{0,30}?${NAMES}|\\blogin\\s\\S{1,60}\\spassword)(\\s)(?=[^\\s-])`,
  "gi",
);

function* named(text: string): Generator<FoundSecret> {
  for (const match of text.matchAll(ARGUMENT)) {
    const secret = valueAfter(text, match);
    if (secret) yield secret;
  }
  ASSIGNMENT.lastIndex = 0;
  let runEnd = 0;
  let looks = 0;
  for (let match = ASSIGNMENT.exec(text); match; match = ASSIGNMENT.exec(text)) {
    const secret = valueAfter(text, match);
    if (secret) {
      yield secret;
      ASSIGNMENT.lastIndex = secret.end;
      continue;
    }
    // In a run full of names (`token=token=…`), only the first few look for the end of the run.
    looks = match.index < runEnd ? looks + 1 : 0;
    if (looks === 0) runEnd = match.index + (matchAt(NO_SPACE, text, match.index)?.[0].length ?? 0);
    if (looks > LOOKS_MAX) ASSIGNMENT.lastIndex = Math.max(runEnd, ASSIGNMENT.lastIndex);
  }
}

const NO_SPACE = /\S{1,400}/y;
const LOOKS_MAX = 2;
/** How a quoted value begins, also inside JSON. */
const IN_QUOTE = "\"'`\\";
const QUOTED = /\\{0,2}(["'`])([^"'`\n\\]{4,400})/y;
const BARE = /[^\s"'`,;&<>(){}[\]|\\]{4,400}/y;

/** The value that a name announces, if it is a credential. */
function valueAfter(text: string, match: RegExpExecArray): FoundSecret | undefined {
  const [announced, password, sign, verb] = match;
  const start = match.index + announced.length;
  const isPassword = password !== undefined || /^login/i.test(announced);
  const quoted = IN_QUOTE.includes(text.charAt(start)) ? matchAt(QUOTED, text, start) : null;
  if (quoted?.[2] !== undefined) {
    const value = quoted[2];
    const style: ValueStyle = sign === undefined ? "loose" : "quoted";
    const isSecret = isPhrase(announced, value) || isSecretValue(value, isPassword, style);
    if (isSecret && !isInNote(text, match.index)) {
      const end = start + quoted[0].length;
      return { kind: kindOf(announced), start: end - value.length, end };
    }
    return undefined;
  }
  const bare = matchAt(BARE, text, start)?.[0];
  if (bare === undefined || (sign === undefined && verb === undefined)) return undefined;
  // A bracket after it makes it a call or a template.
  const next = text[start + bare.length] ?? "";
  if (sign === ">" ? next !== "<" : "([{<".includes(next) && next !== "") return undefined;
  const value = bare.replace(/[.,:!?]{1,3}$/, "");
  const style: ValueStyle = sign === "=" || sign === ">" || sign === " " ? "tight" : "loose";
  if (!isSecretValue(value, isPassword, style) || isInNote(text, match.index)) return undefined;
  return { kind: kindOf(announced), start, end: start + value.length };
}

/** Whether a name is part of a note such as `[redacted password]`. */
function isInNote(text: string, at: number): boolean {
  return /\[redacted [^\]]*$/.test(text.slice(Math.max(0, at - 40), at));
}

/** Words that restore a wallet or an account. */
function isPhrase(name: string, value: string): boolean {
  return /phrase|mnemonic/i.test(name) && /^(?:[a-z]{2,12} ){3,23}[a-z]{2,12}$/.test(value);
}

/** A run that may be random. */
const RUN = /(?<![\w+/=.~-])[\w+/.~-]{20,400}={0,2}/g;
/** How many characters a name may stand before its run, on the same line. */
const NEAR = 60;

function* randomNearNames(text: string): Generator<FoundSecret> {
  for (const match of text.matchAll(RUN)) {
    const [run] = match;
    if (!isRandom(run) || isPlaceholder(run)) continue;
    const before = text.slice(Math.max(0, match.index - NEAR), match.index);
    // A name before a note has its value there, so it does not count for what follows the note.
    const line = before.slice(Math.max(before.lastIndexOf("\n"), before.lastIndexOf("]")) + 1);
    const name = line.match(NAME)?.at(-1);
    if (name) yield { kind: kindOf(name), start: match.index, end: match.index + run.length };
  }
}

function kindOf(name: string): string {
  if (/pass|pwd/i.test(name)) return "password";
  if (/token/i.test(name)) return "token";
  return /key/i.test(name) ? "key" : "secret";
}
