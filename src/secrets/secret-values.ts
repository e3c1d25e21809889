import { spacedTable } from "../text/character-kinds.ts";

/** The ways in which a value stands beside the name of its kind. */
export type ValueStyle =
  /** `DB_PASSWORD=swordfish`, `--password swordfish`: nothing but a value can stand there. */
  | "tight"
  /** `password: "swordfish"` */
  | "quoted"
  /** `password: swordfish`, `the password is swordfish`: prose looks the same. */
  | "loose";

/** Whether the value beside a name such as `password` is a credential, not a placeholder, code or prose. */
export function isSecretValue(value: string, isPassword: boolean, style: ValueStyle): boolean {
  if (value.length < (isPassword ? 4 : 8)) return false;
  const kinds = kindsIn(value);
  if (!mayBeSecret(value, kinds, isPassword, style) || isPlaceholder(value)) return false;
  return (kinds & REFERS) === 0 || !isReference(value);
}

/** The same, without the checks for placeholders and references. Cheap checks come first. */
function mayBeSecret(
  value: string,
  kinds: number,
  isPassword: boolean,
  style: ValueStyle,
): boolean {
  if ((kinds & SPACE) !== 0) return false;
  const hasDigit = (kinds & DIGIT) !== 0;
  if ((kinds & (LOWER | UPPER)) === 0) {
    return hasDigit && isPassword && value.length >= 6 && !DATE.test(value);
  }
  if (style === "loose") {
    if (value.length < 6 || !(hasDigit || (kinds & SYMBOL) !== 0)) return false;
    return !VERSION.test(value) && !isWords(value);
  }
  if (hasDigit) return !VERSION.test(value) && (isPassword || !isWords(value));
  // Letters alone: a password may be a word. A key is random, or it is the name of something.
  if (isPassword) return value.length >= 5 && !TELLING.test(value) && !VARIABLE.test(value);
  return isRandom(value, kinds);
}

/** Whether a value with spaces is a password: a few words or signs, and no sentence that a program shows. */
export function isPassPhrase(value: string, isVariable: boolean): boolean {
  if (value.length < 8 || value.length > 200 || !/\S\s+\S/.test(value) || /^[<[{$%(]/.test(value))
    return false;
  const words = value.trim().split(/\s+/);
  if (words.length > 12 || /[$#]\{|\$\(|\{\{|%[sd]\b|<\w+>/.test(value)) return false;
  const hasDigit = /\d/.test(value);
  const isPlain = words.every((word) => /^[a-z]{2,}$/.test(word));
  if (isVariable) return hasDigit || words.length > 2 ? !SENTENCE.test(value) : isPlain;
  if (SENTENCE.test(value)) return false;
  return isPlain ? words.length > 2 : hasDigit || (/[!@#$%^&*~+=]/.test(value) && words.length < 5);
}

/** Words of a sentence, or of the label of a field. */
const SENTENCE =
  /\b(?:must|should|please|enter|your|required|invalid|is|are|was|be|the|least|characters?|chars|minimum|forgot|reset|confirm|repeat|change|show|hide|wrong|incorrect|missing|and|or|for|of|to|with|from|not|does|match|field|cannot|can|will|if|use|used|user|new|old|current|type|password|passwords|token|secret|example|string|bitte|eingeben|votre|here|goes|todo|optional|lorem|default)\b/i;

/** Whether a value is a long row of all kinds of characters, as generators make for settings. */
export function isNoise(value: string): boolean {
  if (value.length < 32 || /^[<[{$%(]{2}/.test(value)) return false;
  const symbols = value.match(/[^A-Za-z0-9\s]/g)?.length ?? 0;
  const isMixed = /[a-z]/.test(value) && /[A-Z]/.test(value) && /\d/.test(value);
  return (
    isMixed &&
    symbols >= 3 &&
    entropy(value.slice(0, ENTROPY_CHARACTERS)) >= 3.7 &&
    value.split(/\s/).length <= value.length / 10
  );
}

/** Twelve to 24 words that restore a wallet or an account, or a few that restore an account. */
export function isSeedPhrase(value: string): boolean {
  if (!/^(?:[a-z]{2,12} ){3,23}[a-z]{2,12}$/.test(value)) return false;
  return /^(?:\S{1,12} ){11}/.test(value) || !SENTENCE.test(value);
}

/** Whether a value is Base64 of a user and a password, or has both as they are. */
export function isEncodedLogin(value: string): boolean {
  if (/^[\w.@-]{1,60}:[^\s:/]{4,100}$/.test(value))
    return !isPlaceholder(value.slice(value.indexOf(":") + 1));
  if (!/^[A-Za-z0-9+/_-]{8,400}={0,2}$/.test(value)) return false;
  return /^[\x21-\x39\x3b-\x7e]{1,100}:[\x20-\x7e]{3,300}$/.test(
    Buffer.from(value, "base64").toString("latin1"),
  );
}

/** Whether a value is a placeholder of documentation or templates. */
export function isPlaceholder(value: string): boolean {
  const match = PLACEHOLDER.exec(value);
  if (!match) return false;
  const { variable = "", named = "" } = match.groups ?? {};
  return !SIGNED.test(variable) && !isRandom(named);
}

/**
 * Whether a run of characters looks random: at least 3.5 bits of Shannon entropy per character,
 * in mixed case with digits. Base64 of 20 random bytes has about 4.3 bits, English 2 to 3.
 * Hexadecimal is not enough: hashes and ids look the same.
 */
export function isRandom(run: string, kinds = kindsIn(run)): boolean {
  if (run.length < 20) return false;
  const mixed = kinds & (LOWER | UPPER | DIGIT);
  if (mixed === 0 || (mixed & (mixed - 1)) === 0) return false;
  if (run.length < 32 && mixed !== (LOWER | UPPER | DIGIT)) return false;
  if (entropy(run.slice(0, ENTROPY_CHARACTERS)) < 3.5) return false;
  return !/^[a-f0-9-]+$/i.test(run) && !isWords(run) && !isDotted(run);
}

const LOWER = 1;
const UPPER = 2;
const DIGIT = 4;
const SYMBOL = 8;
const SPACE = 16;
/** A sign that each reference has. */
const REFERS = 32;
const KIND = spacedTable((character) => {
  if (/[a-z]/.test(character)) return LOWER;
  if (/[A-Z]/.test(character)) return UPPER;
  if (/\d/.test(character)) return DIGIT;
  if (/\s/.test(character)) return SPACE;
  const symbol = /[!@#$%^&*+=?~]/.test(character) ? SYMBOL : 0;
  return /[./~[:]/.test(character) ? symbol | REFERS : symbol;
});

/** The flags of a text, among `LOWER`, `UPPER`, `DIGIT`, `SYMBOL`, `SPACE` and `REFERS`. */
function kindsIn(text: string): number {
  let kinds = 0;
  for (let at = 0; at < text.length; at += 1) {
    kinds |= KIND[text.charCodeAt(at)] as number;
  }
  return kinds;
}

/** Shannon entropy of a short ASCII text, in bits per character. */
function entropy(text: string): number {
  COUNTS.fill(0);
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at) & 127;
    COUNTS[code] = (COUNTS[code] as number) + 1;
  }
  let bits = 0;
  for (let at = 0; at < text.length; at += 1) {
    bits += LOG2[COUNTS[text.charCodeAt(at) & 127] as number] as number;
  }
  return Math.log2(text.length) - bits / text.length;
}

/** Counts of one call of `entropy`, reused: a new array takes as long as counting. */
const COUNTS = new Uint8Array(128);

/** The characters looked at: the beginning of a run shows whether it is random. */
const ENTROPY_CHARACTERS = 64;
const LOG2 = Float64Array.from({ length: ENTROPY_CHARACTERS + 1 }, (_, count) => Math.log2(count));

const PLACEHOLDER = new RegExp(
  `^(?:${[
    "(?<variable>[<[{$%].*)",
    "[*.•…#-]+",
    "![A-Za-z]{2,20}",
    "[xX0]+",
    "(?:your|the|some|insert|enter|(?:in)?valid|expired|test|fake)[-_ ](?<named>.*)",
    "my[-_ ][a-z_-]*",
    "your[a-z]*",
    "change[-_]?(?:me|it|this)?",
    "(?:an?[-_])?(?:example|sample|dummy|fake|placeholder|mock).*",
    "redacted|forgotten|hidden|masked|none|null|nil|undefined|true|false|yes|no|string|text|number",
    "str|bytes|secretstr|hashed|hash|encrypted|plain(?:text)?|prompt|sensitive|writeonly|boolean|any|unknown|required|optional|default|empty|missing|invalid|expired|wrong|correct",
    "incorrect|bearer|basic|digest|tokens?|secrets?|passwords?|passwd|keys?|user(?:name)?|env|varchar.*",
    "(?:sha-?(?:1|224|256|384|512)|md5|bcrypt|argon2\\w*)(?:[-:=].*)?",
  ].join("|")})$`,
  "i",
);
/** A password that begins as a variable or a template does. These have no digits with signs beside them, or something that ends them. */
const SIGNED =
  /^.(?=[^\s()[\]{}<>'"`$%\\]{7,}$)(?=.*[A-Za-z])(?=.*\d)(?!.*(?:a-z|A-Z|0-9)).*[!@#^*+~]/;
const DATE = /^\d{4}-\d{2}-\d{2}/;
const VERSION = /^v?\d+(?:\.\d+){1,3}(?:[-+][\w.]{1,20})?$/;
/** A value that repeats its name: `password=db_password`. */
const TELLING = /pass|pwd|secret|token|cred|prompt|input|field|value/i;
/** snake_case or camelCase without digits. */
const VARIABLE = /^(?:[A-Za-z]+(?:_[A-Za-z]+)+|[a-z]+(?:[A-Z][a-z]+)+)$/;

/** Code that reads the value from somewhere, a path, or an address. */
function isReference(value: string): boolean {
  if (REFERENCE_IN_ANY_CASE.test(value)) return true;
  return REFERENCE.test(value) && !value.split(".").some(isScattered);
}

/** Whether a part between dots has digits among its letters again and again, as no name in code has. */
function isScattered(part: string): boolean {
  return isRandom(part) && /\d[a-z]+\d+[a-z]+\d/i.test(part);
}

const REFERENCE = new RegExp(
  `^(?:${[
    "[A-Za-z_$][\\w$]{0,30}(?:[?!]?\\.[A-Za-z_$][\\w$]{0,30})+$",
    "(?:~|\\.{1,2}|[A-Za-z]:\\\\|/(?:etc|run|var|home|usr|opt|tmp|root|mnt|srv|app|secrets?)\\b)[\\w./\\\\@-]*$",
    "[a-z][a-z0-9+.-]{1,20}://",
  ].join("|")})`,
);
const REFERENCE_IN_ANY_CASE = new RegExp(
  `^(?:${[
    "(?:process|os|env|config|settings|self|this|options|opts|req|request|args|ctx|secrets|vault|var|local|data|module)[.[]",
    "[\\w./-]{1,100}\\.(?:pem|key|json|ya?ml|toml|txt|env|ts|js|py|go|rs|md)$",
  ].join("|")})`,
  "i",
);

/** Words joined by dashes, dots or camel case, perhaps with numbers after them: a name, not a key. */
function isWords(value: string): boolean {
  return WORDS.test(value);
}

/** `//api.example.org/data/2.5/weather`, `utils.encode.toBase64`: short parts between dots and slashes. */
function isDotted(run: string): boolean {
  return (
    run.startsWith("//") ||
    (run.includes(".") && run.split(/[./]/).every((part) => part.length < 24))
  );
}

const WORDS =
  /^(?:[A-Z]?[a-z]{2,20}|[A-Z]{2,20})\d{0,2}(?:[-_./:](?:[A-Z]?[a-z]{2,20}|[A-Z]{2,20}|v?\d{1,4})|[A-Z](?:[a-z]{2,20}|\d{1,2})){1,20}$/;

/** A credential in a text: from the character `start` up to `end`. */
export interface FoundSecret {
  /** The kind in words: `GitHub token`, `password`. */
  readonly kind: string;
  readonly start: number;
  readonly end: number;
}

/**
 * When findings overlap, the first one counts, and of those that begin together the longest. What another one has behind
 * its end stays found.
 */
export function apart(found: FoundSecret[]): FoundSecret[] {
  found.sort((one, other) => one.start - other.start || other.end - one.end);
  const kept: FoundSecret[] = [];
  let end = 0;
  for (const secret of found) {
    if (secret.end <= end) continue;
    kept.push(secret.start < end ? { ...secret, start: end } : secret);
    end = secret.end;
  }
  return kept;
}

/** Calls `see` with each match of a global pattern, in order. */
export function eachMatch(
  pattern: RegExp,
  text: string,
  see: (match: RegExpExecArray) => void,
): void {
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) see(match);
}
