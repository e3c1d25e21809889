import { requireArgument, someText } from "../core/options.ts";
import { matchAt } from "../text/character-kinds.ts";
import { addFromAddresses, isKeyLike } from "./addresses.ts";
import { addFromColumns, addFromPasswordFiles } from "./columns.ts";
import { CALL, identifyingWords } from "./credential-names.ts";
import { eachDecoded, eachUnquoted, type PlaceOf } from "./inner-texts.ts";
import { findIssuedSecrets } from "./issued-secrets.ts";
import { addNamed, addRandomNear } from "./named-values.ts";
import { addPaymentNumbers, redactsPayments } from "./payment-numbers.ts";
import { addPrivateKeys } from "./private-keys.ts";
import { addFromPrograms } from "./program-arguments.ts";
import { apart, eachMatch, type FoundSecret, isSecretValue } from "./secret-values.ts";
import { addToldLogins } from "./told-logins.ts";
import { addSeedPhrases } from "./wallet-keys.ts";

/** Called with the kind of each replaced credential. */
export type OnRedacted = (kind: string) => void;

/**
 * The text with a note in the place of each credential: `[redacted GitHub token]`. Redacting twice
 * changes nothing more.
 */
export function redactSecrets(text: string, onRedacted?: OnRedacted): string {
  if (typeof text !== "string") requireArgument("redactSecrets", someText, text);
  let redacted = text;
  // In a damaged text, what is left of a credential may look like one only when its other part is gone.
  for (let pass = 0; pass < PASSES_MAX; pass += 1) {
    const before = redacted;
    redacted = redactOnce(before, onRedacted);
    if (redacted === before) break;
  }
  return redacted;
}

const PASSES_MAX = 4;

function redactOnce(text: string, onRedacted: OnRedacted | undefined): string {
  const found = findSecrets(text);
  if (found.length === 0) return text;
  const parts: string[] = [];
  let at = 0;
  for (const { kind, start, end } of found) {
    parts.push(text.slice(at, start), `[redacted ${kind}]`);
    onRedacted?.(kind);
    at = end;
  }
  return parts.join("") + text.slice(at);
}

/** The entries of memory with a note in the place of each credential. */
export function redactEntries<Entry extends RedactedEntry>(
  entries: readonly Entry[],
): readonly Entry[] {
  return entries.map((entry) => {
    const content = redactSecrets(entry.content);
    const redacted = content === entry.content ? entry : { ...entry, content };
    const { earlier } = entry;
    return earlier ? { ...redacted, earlier: redactEntries(earlier) } : redacted;
  });
}

interface RedactedEntry {
  readonly content: string;
  readonly earlier?: readonly RedactedEntry[];
}

/** How many credentials of each kind are in the texts. */
export function countSecrets(texts: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { kind } of texts.flatMap(findSecrets)) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

/**
 * Finds the credentials of a text, in order, without overlaps:
 *
 *     -----BEGIN PRIVATE KEY-----…     a block
 *     ghp_…, sk-ant-…, AKIA…           a form that an issuer publishes (`SECRET_FORMS`)
 *     postgres://user:…@host           the password of an address
 *     …?X-Amz-Signature=…              what signs a URL
 *     Authorization: Bearer …          a header
 *     docker login -p …                an argument of a program
 *     root:$6$…:19000:0:99999:7:::     a line of a file of passwords
 *     legal winner thank year …        a phrase that restores a wallet
 *     DB_PASSWORD=…, "apiKey": "…"     a value beside a name that says what it is
 *     | user | password |              the column below such a name
 *     das Passwort lautet …            what somebody says
 *     u: ada p: …                      and says in short
 *     the secret is wJalr…             what looks random after such a name
 *     4111 1111 1111 1111              a card or an account, if `redactPayments` asked for them
 *
 * Commit hashes, UUIDs, checksums, placeholders, code that reads a secret, and talk about
 * passwords are left alone. What is escaped, as in JSON, or quoted is looked at without that too. The time is linear in
 * the text: every repetition is bounded, and no step looks again at what the previous one has looked at.
 */
export function findSecrets(text: string): FoundSecret[] {
  const found: FoundSecret[] = [];
  addAll(text, found);
  eachDecoded(text, (decoded, placeOf) => addPlaced(decoded, placeOf, addAll, found));
  return found.length > 1 ? apart(found) : found;
}

/** Adds what is in a text that stands otherwise in another one. */
function addPlaced(
  inner: string,
  placeOf: PlaceOf,
  add: (text: string, found: FoundSecret[]) => void,
  found: FoundSecret[],
): void {
  const inside: FoundSecret[] = [];
  add(inner, inside);
  for (const { kind, start, end } of inside) {
    found.push({ kind, start: placeOf(start), end: placeOf(end - 1) + 1 });
  }
}

function addAll(text: string, found: FoundSecret[]): void {
  findIssuedSecrets(text, (kind, start, end) => {
    found.push({ kind, start, end });
    if (kind === "AWS key") addBesideId(text, end, found);
  });
  if (redactsPayments()) addPaymentNumbers(text, found);
  const words = identifyingWords(text);
  addWithTellingPrefix(text, words.names.length > 0 ? TELLING : TELLING_WITHOUT_NAME, found);
  addFromAddresses(text, words.kinds, found);
  if (words.programs.length > 0) addFromPrograms(text, words.programs, found);
  if ((words.kinds & CALL) !== 0) addFromCalls(text, found);
  addOfLines(text, found, words.names);
  if (words.names.length === 0) return;
  eachUnquoted(text, words.names, (inner, placeOf) => addPlaced(inner, placeOf, addOfLines, found));
}

/** Adds what several lines have together, and what stands beside names. */
function addOfLines(
  text: string,
  found: FoundSecret[],
  names = identifyingWords(text).names,
): void {
  addPrivateKeys(text, found);
  addFromPasswordFiles(text, found);
  addSeedPhrases(text, found);
  addToldLogins(text, found);
  if (names.length === 0) return;
  const seen = addNamed(text, names, found);
  addRandomNear(text, seen, found);
  addFromColumns(text, seen, found);
}

/** A secret of AWS, closely behind its id. */
const BESIDE_ID = /^[^\n]{0,60}?(?:\n[^\n]{0,60}?)?(?<![\w/+])([A-Za-z0-9/+]{40})(?![\w/+=])/;

function addBesideId(text: string, end: number, found: FoundSecret[]): void {
  const match = BESIDE_ID.exec(text.slice(end, end + 180));
  const secret = match?.[1];
  const isMixed = secret && /[a-z]/.test(secret) && /[A-Z]/.test(secret) && /\d/.test(secret);
  if (!match || !isMixed) return;
  const to = end + match.index + match[0].length;
  found.push({ kind: "AWS secret key", start: to - secret.length, end: to });
}

/** Parts of a key's beginning by which issuers say what it is. */
const TELLING_WITHOUT_NAME = ["_live_", "_sk_", "_pat_"];
const TELLING = [...TELLING_WITHOUT_NAME, "_secret_", "_token_", "_key_", "-key-", "-token-"];
const BEGINNING = /(?:^|[^\w-])([A-Za-z][\w-]{0,30})$/;
const RANDOM_REST = /[A-Za-z0-9]{24,200}(?![\w-])/y;

/** Keys of issuers that no table has: a beginning that tells, and then what looks random. */
function addWithTellingPrefix(text: string, signs: readonly string[], found: FoundSecret[]): void {
  for (const sign of signs) {
    for (let at = text.indexOf(sign); at >= 0; at = text.indexOf(sign, at + 1)) {
      const rest = matchAt(RANDOM_REST, text, at + sign.length)?.[0];
      if (rest === undefined || !isKeyLike(rest)) continue;
      const beginning = BEGINNING.exec(text.slice(Math.max(0, at - 32), at))?.[1];
      if (!beginning) continue;
      found.push({
        kind: "key",
        start: at - beginning.length,
        end: at + sign.length + rest.length,
      });
    }
  }
}

/** A function or a setting that takes a user and a password, or a key: `auth=(`, `getConnection(`, `basic_auth `. */
const LOGIN_CALL =
  /(auth(?:entication)?|log_?in|sign|hmac|credentials?|connect(?:ion)?|pdo|mysqli|database|wifi\.begin)\s?(?:=\s?)?[( ]\s{0,3}(?=[^\n]{0,200}["'])/gi;
const ARGUMENT =
  /\s{0,3}(?:"((?:[^"\\\n]|\\.){0,200})"|'((?:[^'\\\n]|\\.){0,200})'|[\w$.:>@-]{1,60}(?:\([^()\n]{0,60}\))?)\s{0,3}/y;
const ARGUMENTS_MAX = 5;
/** An address, a path or a file, which stand beside them. */
const PLACE = /^[^@\s]+@[\w.-]+\.\w+$|:\/\/|^[/.~]|^[\w.-]+:\d+$|\.[a-z]{2,4}$/i;

/** Finds passwords among the arguments of functions: `login("ada", "…")`, `getConnection(url, "app", "…")`. */
function addFromCalls(text: string, found: FoundSecret[]): void {
  eachMatch(LOGIN_CALL, text, (call) => {
    // Behind a host or an address stands the user first.
    const first = /^(?:connect|pdo|mysqli|database)/i.test(call[1] ?? "") ? 2 : 1;
    let at = call.index + call[0].length;
    for (let index = 0; index < ARGUMENTS_MAX; index += 1) {
      const argument = matchAt(ARGUMENT, text, at);
      if (!argument) return;
      const value = argument[1] ?? argument[2];
      if (index >= first && value !== undefined && isPassword(value)) {
        const start = at + argument[0].indexOf(value);
        found.push({ kind: "password", start, end: start + value.length });
      }
      at += argument[0].length;
      if (text[at] !== ",") return;
      at += 1;
    }
  });
}

function isPassword(value: string): boolean {
  return isSecretValue(value, true, "loose") && !PLACE.test(value);
}
