import { matchAt } from "../text/character-kinds.ts";
import type { CredentialName } from "./credential-names.ts";
import { eachMatch, type FoundSecret, isPlaceholder, isSecretValue } from "./secret-values.ts";

/**
 * What people tell in short, where no name of a credential stands before its value:
 *
 *     u: ada p: …                 a user, and a password behind one letter
 *     log in as ada with …
 *     ada / … is the login        the value stands before its name
 *     WIFI:S:home;P:…;;           what a QR code of a network says
 */
export function addToldLogins(text: string, found: FoundSecret[]): void {
  for (const sign of SIGNS_OF_P) addShortLogins(text, sign, found);
  if (LOG_IN.some((words) => text.includes(words))) {
    eachMatch(LOGGED_IN, text, (match) => {
      const value = match[1] ?? "";
      const end = match.index + match[0].length;
      if (isStrong(value)) found.push({ kind: "password", start: end - value.length, end });
    });
  }
  if (text.includes("WIFI:")) {
    eachMatch(NETWORK, text, (match) => {
      const value = match[1] ?? "";
      const end = match.index + match[0].length - 1;
      found.push({ kind: "password", start: end - value.length, end });
    });
  }
}

const SIGNS_OF_P = ["p:", "p=", "P:", "P="];
/** A user, and what separates it from a password. */
const SHORT_USER =
  /(?:^|[^\w.-])(?:u|usr|user(?:name)?|login|e-?mail|benutzer)["'`*]{0,2}\s?[:=]\s{0,2}["'`*]{0,2}(?=[^\s"'`,;|]{0,60}[a-z])[^\s"'`,;|]{2,60}["'`*]{0,2}(?:[\s,;|/>#*+&-]{1,12}|\n\s{0,6}\d{1,6}[\t→|:]\s?)["'`*]{0,2}$/i;
const SHORT_VALUE = /\s{0,2}["'`*]{0,2}([^\s"'`,;|<>(){}]{6,100})/y;

function addShortLogins(text: string, sign: string, found: FoundSecret[]): void {
  for (let at = text.indexOf(sign); at >= 0; at = text.indexOf(sign, at + 2)) {
    if (!SHORT_USER.test(text.slice(Math.max(0, at - 100), at))) continue;
    const match = matchAt(SHORT_VALUE, text, at + 2);
    const value = (match?.[1] ?? "").replace(/[.,!?]$/, "");
    if (!match || !/[a-z]/i.test(value) || !isSecretValue(value, true, "loose")) continue;
    const start = at + 2 + match[0].length - (match[1] ?? "").length;
    found.push({ kind: "password", start, end: start + value.length });
  }
}

const LOG_IN = ["og in ", "ogged in ", "ign in ", "ogin as ", "ogin with "];
const LOGGED_IN =
  /(?:log(?:ged)? ?in|sign in)\s(?:there\s)?(?:as|with)\s["'`]?[\w.@+-]{2,60}["'`]?\s?(?:\s(?:with|and|using)|[,/])\s{1,2}(?:the )?["'`]?([^\s"'`,;<>()]{6,100})/gi;
const NETWORK = /WIFI:[^\n]{0,200}?[:;]P:((?:[^;\\\n]|\\.){4,100});/g;

/** `ada / … is the login for staging`, `… is my password`: what stands before its name. */
const TOLD_BEFORE =
  /(?:^|[\s("'`“„«「>→+])(["'`]?[\w.@+-]{2,60}["'`]?(?::|\s[/|]\s|,?\s(?:and|und|et|y)\s))?["'`“„«「]?([^\s"'`“„«「”»」()[\],;→]{4,64})["'`”»」]?\s{1,2}(?:is|are|was|were|ist|sind|war|est|sont|es|son|è|é|är)\s(?:the|my|our|your|his|her|their|das|der|die|mein|unser|dein|le|les|mon|la|las|mi|o|il|ett)\s(?:[\p{L}\d-]{1,14}\s){0,2}$/iu;
/** A phrase that goes on with another noun is no credential: `Auth0 is our login provider`. */
const ENDS_HERE =
  /\s?(?:[.,;:!?)\]\n\r"'`]|$|[-–—]\s|\s?(?:for|of|to|on|at|in|now|and|but|so|there|here|von|für|vom|zum|auf|pour|para|del|do|di)\b)/iy;

export function toldBefore(text: string, name: CredentialName): FoundSecret | undefined {
  if (name.kind === "pin" || name.kind === "card code" || name.kind === "key") return undefined;
  if (!matchAt(ENDS_HERE, text, name.end)) return undefined;
  const from = Math.max(0, name.start - 160);
  const match = TOLD_BEFORE.exec(text.slice(from, name.start));
  const [, user, value = ""] = match ?? [];
  if (!match || isPlaceholder(value) || !/[a-z]/i.test(value)) return undefined;
  const isPair = name.kind === "login" || /^cred/i.test(text.slice(name.start, name.end));
  if (isPair ? user === undefined : name.kind !== "password" && !isStrong(value)) return undefined;
  if (!isSecretValue(value, true, "loose")) return undefined;
  const at = from + match.index + match[0].indexOf(value, user?.length ?? 0);
  return { kind: "password", start: at, end: at + value.length };
}

/** Whether a value can be nothing but a password or a key: letters with digits inside, or with signs. */
export function isStrong(value: string): boolean {
  if (value.length < 8 || !/[a-z]/i.test(value) || !/\d/.test(value)) return false;
  const isMixed = /[a-z]/.test(value) && /[A-Z]/.test(value) && /\d[^.]{0,60}\d/.test(value);
  return (isMixed || /[!@#$%^&*]/.test(value)) && isSecretValue(value, true, "loose");
}

const CARD_CODE =
  /["'`*)\]]{0,4}(?:\s?\/\s?cv[vc]2?)?["'`*]{0,2}\s?(?:code|number|nr\.?)?\s{0,3}(?:[:=#–—-]|is|was|ist|est|es|è)?\s{0,3}["'`*]{0,3}(\d{3,4})(?![\w%]|[.,]\d)/iy;
/** `security code`: a number that follows at once may be of something else. */
const SAID_CODE =
  /["'`*)\]]{0,4}(?:\s(?:on|of|from|for)\s[^\n:=.;]{1,40}?(?=\s?[:=]|\sis))?\s{0,3}(?:[:=]|is|was)\s{0,3}["'`*]{0,3}(\d{3,4})(?![\w%]|[.,]\d)/iy;

/** The number of a card that is on its back. */
export function cardCode(text: string, name: CredentialName): FoundSecret | undefined {
  const isWord = text.slice(name.start, name.end).includes(" ");
  const match = matchAt(isWord ? SAID_CODE : CARD_CODE, text, name.end);
  if (!match) return undefined;
  const end = name.end + match[0].length;
  return { kind: "card code", start: end - (match[1] ?? "").length, end };
}

const CODES_BEGIN =
  /["'`*)]{0,4}(?:\s?\([^)\n]{0,60}\))?\s?:?["'`*]{0,4}[ \t]{0,3}(?:\r?\n[ \t]{0,12}){0,2}/y;
const CODE =
  /[ \t]{0,8}(?:[-*•]\s|\d{1,2}[.)]\s)?["'`*]{0,2}(\d{4}[ -]\d{4}|(?=[a-z-]{0,40}\d)[a-z\d]{4,12}(?:-[a-z\d]{4,12}){0,3})["'`*]{0,2}(?=[\s,;]|$)[ \t]{0,4}[,;]?[ \t]{0,4}(?:\r?\n)?/iy;
const CODES_MAX = 40;

/** Adds the codes that restore an account, which stand in a list behind `recovery codes`. */
export function addCodes(text: string, name: CredentialName, found: FoundSecret[]): void {
  if (!/^(?:recovery|backup)[_ -]?codes$/i.test(text.slice(name.start, name.end))) return;
  let at = name.end + (matchAt(CODES_BEGIN, text, name.end)?.[0].length ?? 0);
  if (at === name.end) return;
  for (let count = 0; count < CODES_MAX; count += 1) {
    const match = matchAt(CODE, text, at);
    const value = match?.[1];
    if (!match || value === undefined || !isCode(value)) return;
    const start = at + match[0].indexOf(value);
    found.push({ kind: "secret", start, end: start + value.length });
    at += match[0].length;
  }
}

/** Six letters and digits at least, and no date. */
function isCode(value: string): boolean {
  return value.replace(/[ -]/g, "").length >= 6 && !/^\d{4}-\d\d-/.test(value);
}
