import { asciiSet, matchAt, spacedTable } from "../text/character-kinds.ts";
import type { CredentialName } from "./credential-names.ts";
import {
  type FoundSecret,
  isEncodedLogin,
  isNoise,
  isPassPhrase,
  isRandom,
  isSecretValue,
  isSeedPhrase,
  type ValueStyle,
} from "./secret-values.ts";

/** A text whose names are read. */
export interface NamedText {
  readonly text: string;
  /** Whether it has a note such as `[redacted password]`. */
  readonly hasNote: boolean;
  /** A part without a sign that ends a bare value. Names in one run of characters share it. */
  bareStart: number;
  bareEnd: number;
}

/** How a quoted value begins and ends, also inside JSON. */
const QUOTED =
  /(?:(?:"""|''')([^"'\n]{4,400})|"((?:[^"\\\n]|\\.){4,400})"?|'((?:[^'\\\n]|\\.){4,400})'?|`{1,3}([^`\n]{4,400})`?|\\{1,3}["'`]([^"'`\n\\]{4,400})|[“„«「]([^\n”“»」]{4,200}))/y;
const IS_QUOTE = asciiSet(/["'`\\]/);
const BRACED = /\{([^{}\n]{4,100})(?=\}\s{0,2}(?:;|$))/y;
/** A block of YAML, or a fence of Markdown, begins on the next line. */
const REST = /[^\n"'`]{1,300}/y;
const BLOCK =
  /(?:[|>][+-]?\s{0,3}\n\s{1,20}|<<[-~]?["']?\w{2,12}["']?\r?\n\s{0,20}|```[a-z]{0,12}\s{0,2}\n\s{0,8})/y;
/** The size of a value without quotes. */
const BARE = { min: 4, max: 400 } as const;
export const OPENS = asciiSet(/[([{<]/);
const TAG = "<".charCodeAt(0);
const ENDS_BARE = spacedTable((character) => Number(/[\s"'`,;&<>(){}[\]|\\]/.test(character)));

export function valueAt(
  named: NamedText,
  name: CredentialName,
  from: number,
  sign: string,
): FoundSecret | undefined {
  const { text } = named;
  const block = sign !== "" ? matchAt(BLOCK, text, from - (text[from - 1] === "|" ? 1 : 0)) : null;
  const start = block ? block.index + block[0].length : from;
  if (block) {
    const line = matchAt(REST, text, start)?.[0].trimEnd() ?? "";
    const isSecret = line.length >= BARE.min && isQuotedSecret(text, name, line, sign);
    return isSecret ? secretOf(name, start, start + line.length) : undefined;
  }
  const code = text.charCodeAt(start);
  const quoted = IS_QUOTE[code] === 1 || code > 127 ? matchAt(QUOTED, text, start) : null;
  const value = quoted?.slice(1).find((part) => part !== undefined);
  if (quoted && value !== undefined) {
    const at = start + quoted[0].indexOf(value);
    return isQuotedSecret(text, name, value, sign)
      ? secretOf(name, at, at + value.length)
      : undefined;
  }
  if (sign.startsWith("||") || sign.startsWith("??") || sign === "(") return undefined;
  const braced = code === BRACE ? matchAt(BRACED, text, start)?.[1] : undefined;
  if (braced !== undefined && isSecretValue(braced, true, "loose")) {
    return secretOf(name, start + 1, start + 1 + braced.length);
  }
  const element = sign.endsWith(">") ? matchAt(ELEMENT, text, start)?.[0] : undefined;
  if (element !== undefined && isSecretValue(element.replace(ENTITY, ""), true, "loose")) {
    return secretOf(name, start, start + element.length);
  }
  return bareValue(named, name, start, sign);
}

/** A value of XML with `&` in it, written right or not. Elsewhere, `&` ends a value. */
const ELEMENT = /[^\s<>"'`&]{0,100}&[^\s<>"'`]{1,100}(?=<\/)/y;
const ENTITY = /&(?:[a-z]{2,8}|#x?[0-9a-f]{1,6});/gi;

const BRACE = "{".charCodeAt(0);

function isQuotedSecret(text: string, name: CredentialName, value: string, sign: string): boolean {
  if (name.kind === "login") return isEncodedLogin(value);
  if (isSeedPhrase(value)) return name.isPhrase === true;
  const isPassword = name.kind === "password";
  const isVariable = /^[A-Z0-9_]+$/.test(text.slice(name.start, name.end)) && sign === "=";
  // In a sentence, words in quotes alone may be a label or a message.
  const isPhrase = /phrase/i.test(text.slice(name.start, name.end));
  const mayBePhrase = sign === "is" || (sign === "" && isPhrase) ? /\d/.test(value) : sign !== "";
  const isWorded = isPassword || (name.kind === "secret" && /\d/.test(value));
  if (isWorded && mayBePhrase && isPassPhrase(value, isVariable)) return true;
  if (!isPassword && isNoise(value)) return true;
  if (name.isStrict)
    return (
      isRandom(value) ||
      isHexKey(text, name, value, sign) ||
      /^base64:[\w+/]{40,90}={0,2}$/.test(value)
    );
  return isSecretValue(value, isPassword, sign === "" ? "loose" : "quoted");
}

/** `X_KEY=0a1b…`: hexadecimal counts only beside a variable of the environment. */
function isHexKey(
  text: string,
  { start, end }: CredentialName,
  value: string,
  sign: string,
): boolean {
  return (
    sign === "=" &&
    /^[A-Z0-9_]+$/.test(text.slice(start, end)) &&
    /^[a-f0-9:-]{32,128}$/i.test(value)
  );
}

function bareValue(
  named: NamedText,
  name: CredentialName,
  start: number,
  sign: string,
): FoundSecret | undefined {
  const { text } = named;
  const isPassword = name.kind === "password";
  if (name.isPhrase) {
    const words = matchAt(WORDS, text, start)?.[0];
    if (words !== undefined) return secretOf(name, start, start + words.length);
  }
  const grouped = name.kind === "login" ? undefined : groups(text, name, start);
  if (grouped) return grouped;
  const bareEnd = endOfBare(named, start);
  if (bareEnd - start < BARE.min) return undefined;
  // A bracket after it makes it a call or a template.
  const next = text.charCodeAt(bareEnd);
  if (sign === ">" ? next !== TAG : OPENS[next] === 1 && next !== TAG) return undefined;
  const end = withoutStops(text, bareEnd);
  // On another line, a value stands alone.
  const isBelow = !sign.includes("value") && text.slice(name.end, start).includes("\n");
  // `TOKEN=` is empty, whatever the next line is.
  if (isBelow && sign === "=" && text[name.end] === "=") return undefined;
  if (isBelow && sign !== ">" && !sign.startsWith("<") && !/[\r\n]|^$/.test(text[bareEnd] ?? "")) {
    return undefined;
  }
  const value = text.slice(start, end);
  if (name.kind === "login") return isEncodedLogin(value) ? secretOf(name, start, end) : undefined;
  if (name.kind === "pin")
    return /^\d{4,8}#?$/.test(value) ? secretOf(name, start, end) : undefined;
  if (
    name.isStrict &&
    !isRandom(value) &&
    !isHexKey(text, name, value, sign) &&
    !/^base64:[\w+/]{40,90}={0,2}$/.test(value)
  )
    return undefined;
  let style: ValueStyle = sign === "=" || sign === ">" || sign === " " ? "tight" : "loose";
  if (sign.startsWith("<") || sign.includes("value")) style = "tight";
  if (style === "loose" && isPassword && isSetting(text, name, end)) style = "tight";
  return isSecretValue(value, isPassword, style) ? secretOf(name, start, end) : undefined;
}

/** A key in groups of four, for a person who types it: Base32, or an application's password. */
const BASE32 = /(?=[A-Z ]{0,80}[2-7])(?:[A-Z2-7]{4}[ -]){3,15}[A-Z2-7]{1,4}(?![\w-])/iy;
/** One of its groups has no vowel, or it may be four words. */
const OF_APPLICATION = /(?=[a-z ]{0,16}\b[^aeiou\W]{4}\b)(?:[a-z]{4} ){3}[a-z]{4}(?![\w-])/y;

function groups(text: string, name: CredentialName, start: number): FoundSecret | undefined {
  const isOfApplication =
    name.kind === "password" &&
    /app[ -]?$/i.test(text.slice(Math.max(0, name.start - 4), name.start));
  const match = matchAt(isOfApplication ? OF_APPLICATION : BASE32, text, start);
  return match ? secretOf(name, start, start + match[0].length) : undefined;
}

/** Words that restore a wallet. */
const WORDS = /(?:[a-z]{3,9}[ \t]){11,24}[a-z]{3,9}/y;
/** A line of a file of settings, which other such lines surround. */
const SETTING = /^[ \t-]{0,40}[\w."'-]{1,60}[ \t]{0,9}[:=][ \t]{0,9}[^\s;,(){}]{1,200}$/;

function isSetting(text: string, { start }: CredentialName, end: number): boolean {
  if (end < text.length && text[end] !== "\n" && text[end] !== "\r") return false;
  const window = text.slice(Math.max(0, start - 300), start);
  const next = text.slice(end, end + 300).split("\n", 3);
  const lines = window.split("\n");
  const own = lines.at(-1) ?? "";
  if (!/^[ \t-]{0,40}["']?[\w.-]{0,40}$/.test(own)) return false;
  return [lines.at(-2), next[1]].some(
    (line) =>
      line !== undefined &&
      (SETTING.test(line.trimEnd()) || /^\[[\w. -]{1,60}\]$/.test(line.trim())),
  );
}

export function secretOf(name: CredentialName, start: number, end: number): FoundSecret {
  const kind = name.kind === "pin" || name.kind === "login" ? "password" : name.kind;
  return { kind, start, end };
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
export function withoutStops(text: string, end: number): number {
  let before = end;
  while (before > end - 3 && IS_STOP[text.charCodeAt(before - 1)] === 1) before -= 1;
  return before;
}

const IS_STOP = asciiSet(/[.,:!?*_]/);
