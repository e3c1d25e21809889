import { SessionError } from "../core/errors.ts";
import { matchAt } from "../text/character-kinds.ts";
import type { FoundSecret } from "./secret-values.ts";

/**
 * Finds numbers of cards and bank accounts that their own checksums confirm:
 *
 *     4111 1111 1111 1111             a card: an issuer's first digits, its length, Luhn's sum
 *     DE89 3704 0044 0532 0130 00     an IBAN: the length of its country, a rest of 1 modulo 97
 *
 * A number stands alone, or in the groups in which people write it. Each place is looked at once, within the length of
 * the longest number.
 */
export function addPaymentNumbers(text: string, found: FoundSecret[]): void {
  addCards(text, found);
  addAccounts(text, found);
}

/** The first digits of issuers, as their networks publish them, and how many digits their numbers have. */
const ISSUERS =
  // Visa, Mastercard, American Express, Diners Club, Discover
  (
    "4:13,16,19 51-55:16 2221-2720:16 34:15 37:15 300-305:14-19 3095:14-19 36:14-19 38-39:14-19 6011:16-19 644-649:16-19 " +
    // Discover, UnionPay, JCB, Maestro
    "65:16-19 62:16-19 81:16-19 3528-3589:16-19 5018:13-19 5020:13-19 5038:13-19 5893:13-19 6304:13-19 6759:13-19 " +
    // Maestro, Mir, Dankort, Troy, RuPay, InterPayment
    "6761-6763:13-19 2200-2204:16-19 5019:16 9792:16 60:16 508:16 82:16 636:16-19"
  )
    .split(" ")
    .map((issuer) => {
      const [first = "", lengths = ""] = issuer.split(":");
      const [from = 0, to = from] = first.split("-").map(Number);
      const ranges = lengths.split(",").map((range) => {
        const [least = 0, most = least] = range.split("-").map(Number);
        return { least, most };
      });
      return { digits: String(from).length, from, to, ranges };
    });

/** Characters between groups: a space of any width, a hyphen or a dash. */
const BETWEEN = "[ \\u00a0\\u2007\\u2009\\u202f\\u2010-\\u2013-]";
/** How cards are written: without groups, by four, as American Express, as Diners Club. The longest form comes first. */
const CARD_FORMS = [
  /\d{13,19}(?!\d)/y,
  new RegExp(`\\d{4}(${BETWEEN})\\d{4}\\1\\d{4}\\1\\d{4}\\1\\d{1,3}(?!\\d)`, "y"),
  new RegExp(`\\d{4}(${BETWEEN})\\d{4}\\1\\d{4}\\1\\d{1,4}(?!\\d)`, "y"),
  new RegExp(`\\d{4}(${BETWEEN})\\d{6}\\1\\d{4,5}(?!\\d)`, "y"),
];
const CARD_LENGTH_MIN = 13;

function addCards(text: string, found: FoundSecret[]): void {
  let at = isDigit(text, 0) ? 0 : nextNumber(text, 0);
  while (at + CARD_LENGTH_MIN <= text.length) {
    const end = beginsNumber(text, at) ? endOfCard(text, at) : undefined;
    if (end !== undefined) found.push({ kind: "card number", start: at, end });
    at = nextNumber(text, end ?? at);
  }
}

/** The first digit behind a place and the run of digits there. */
function nextNumber(text: string, from: number): number {
  let at = from;
  while (isDigit(text, at)) at += 1;
  while (at < text.length && !isDigit(text, at)) at += 1;
  return at;
}

function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 48 && code <= 57;
}

function endOfCard(text: string, at: number): number | undefined {
  for (const form of CARD_FORMS) {
    const match = matchAt(form, text, at)?.[0];
    if (match === undefined || continues(text, at + match.length)) continue;
    if (isCard(match.replaceAll(/\D/g, ""))) return at + match.length;
  }
  return undefined;
}

/** Whether a letter or a fraction follows: then it is a part of something else. */
function continues(text: string, end: number): boolean {
  return /^(?:[A-Za-z]|\.\d)/.test(text.slice(end, end + 2));
}

/** Behind letters there is the middle of a name or a hash, unless they are the escape of a new line; behind `0.`, a fraction. */
function beginsNumber(text: string, at: number): boolean {
  const before = text.slice(Math.max(0, at - 2), at);
  return /(?:^|[^A-Za-z\d.]|[^\d]\.|^\.|\\[nrt])$/.test(before);
}

/** Whether digits are the number of a card: an issuer gives such numbers, and Luhn's sum fits. */
function isCard(digits: string): boolean {
  const isIssued = ISSUERS.some((issuer) => {
    const first = Number(digits.slice(0, issuer.digits));
    const { length } = digits;
    return (
      first >= issuer.from &&
      first <= issuer.to &&
      issuer.ranges.some(({ least, most }) => length >= least && length <= most)
    );
  });
  return isIssued && luhnSum(digits) % 10 === 0;
}

/** Every second digit from the end counts twice; of two digits, both are added. */
function luhnSum(digits: string): number {
  let sum = 0;
  for (let place = 0; place < digits.length; place += 1) {
    const digit = Number(digits[digits.length - 1 - place]);
    const counted = place % 2 === 1 ? digit * 2 : digit;
    sum += counted > 9 ? counted - 9 : counted;
  }
  return sum;
}

/** The characters of an IBAN in each country that has them, by the registry of IBANs. */
const IBAN_LENGTHS: Readonly<Record<string, number>> = Object.fromEntries(
  (
    "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 " +
    "ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 " +
    "LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 " +
    "PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30"
  )
    .split(" ")
    .map((each) => [each.slice(0, 2), Number(each.slice(2))]),
);

const IBAN_START = /[A-Za-z]{2}\d{2}/g;
const BEFORE_IBAN = /(?:^|[^A-Za-z\d]|\\[nrt])$/;
const IBAN_BETWEEN = new RegExp(BETWEEN);

function addAccounts(text: string, found: FoundSecret[]): void {
  IBAN_START.lastIndex = 0;
  for (let match = IBAN_START.exec(text); match; match = IBAN_START.exec(text)) {
    const start = match.index;
    // The letter of an escape, as in `\nDE89…`, may look like a part of the country.
    IBAN_START.lastIndex = start + 1;
    if (!BEFORE_IBAN.test(text.slice(Math.max(0, start - 2), start))) continue;
    const end = endOfAccount(text, start);
    if (end === undefined) continue;
    found.push({ kind: "IBAN", start, end });
    IBAN_START.lastIndex = end;
  }
}

/** Reads as many characters as the country's accounts have: together, or in groups of four. */
function endOfAccount(text: string, start: number): number | undefined {
  const length = IBAN_LENGTHS[text.slice(start, start + 2).toUpperCase()] ?? 0;
  let account = "";
  let at = start;
  while (account.length < length) {
    const isBetween = account.length > 0 && account.length % 4 === 0;
    if (isBetween && IBAN_BETWEEN.test(text[at] ?? "")) at += 1;
    const next = text[at] ?? "";
    if (!/[A-Za-z\d]/.test(next)) return undefined;
    account += next;
    at += 1;
  }
  return length > 0 && isAccount(account) && !/[A-Za-z\d]/.test(text[at] ?? "") ? at : undefined;
}

/** Whether the characters are an IBAN: the first four at the end, letters as numbers from 10, and a rest of 1 modulo 97. */
function isAccount(account: string): boolean {
  let rest = 0;
  for (const character of (account.slice(4) + account.slice(0, 4)).toUpperCase()) {
    const value = Number.parseInt(character, 36);
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest === 1;
}

let isOn = false;

/**
 * From now on, numbers of cards and IBANs are secrets in this process, wherever a credential is one. One decision for a
 * process: were it one of each service, a text that two of them share would be kept by the one that does not look.
 *
 * @throws SessionError `INVALID_PARAMS` when it is neither true nor false
 */
export function redactPayments(on = true): void {
  if (typeof on !== "boolean") {
    throw new SessionError("INVALID_PARAMS", {
      message: "redactPayments takes true or false.",
      hint: "`redactPayments()` switches it on.",
    });
  }
  isOn = on;
}

export function redactsPayments(): boolean {
  return isOn;
}
