import { spacedTable } from "../text/character-codes.ts";

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

/** Whether a value is a placeholder of documentation or templates. */
export function isPlaceholder(value: string): boolean {
  return PLACEHOLDER.test(value);
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

/** Which of `LOWER`, `UPPER`, `DIGIT`, `SYMBOL`, `SPACE` and `REFERS` a text has. */
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
    "[<[{$%].*",
    "[*.•…#-]+",
    "[xX0]+",
    "(?:your|my|the|some|insert|enter|(?:in)?valid|expired|test|fake)[-_ ].*",
    "your[a-z]*",
    "change[-_]?(?:me|it|this)?",
    "(?:an?[-_])?(?:example|sample|dummy|fake|placeholder|mock).*",
    "redacted|forgotten|hidden|masked|none|null|nil|undefined|true|false|yes|no|string|text|number",
    "boolean|any|unknown|required|optional|default|empty|missing|invalid|expired|wrong|correct",
    "incorrect|bearer|basic|digest|tokens?|secrets?|passwords?|passwd|keys?|user(?:name)?|env|varchar.*",
    "(?:sha-?(?:1|224|256|384|512)|md5|bcrypt|argon2\\w*)(?:[-:=].*)?",
  ].join("|")})$`,
  "i",
);
const DATE = /^\d{4}-\d{2}-\d{2}/;
const VERSION = /^v?\d+(?:\.\d+){1,3}(?:[-+][\w.]{1,20})?$/;
/** A value that repeats its name: `password=db_password`. */
const TELLING = /pass|pwd|secret|token|cred|prompt|input|field|value/i;
/** snake_case or camelCase without digits. */
const VARIABLE = /^(?:[A-Za-z]+(?:_[A-Za-z]+)+|[a-z]+(?:[A-Z][a-z]+)+)$/;

/** Code that reads the value from somewhere, a path, or an address. */
function isReference(value: string): boolean {
  return REFERENCE.test(value) || REFERENCE_IN_ANY_CASE.test(value);
}

const REFERENCE = new RegExp(
  `^(?:${[
    "[A-Za-z_$][\\w$]{0,30}(?:\\.[A-Za-z_$][\\w$]{0,30})+$",
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
