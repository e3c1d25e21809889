import { asciiSet, matchAt } from "../text/character-kinds.ts";
import { type CredentialName, nameAt } from "./credential-names.ts";
import { type FoundSecret, isPlaceholder, isRandom, isSecretValue } from "./secret-values.ts";
import { addCodes, cardCode, isStrong, toldBefore } from "./told-logins.ts";
import { type NamedText, OPENS, secretOf, valueAt, withoutStops } from "./value-at.ts";

/**
 * Finds what stands beside the name of a credential: in code, settings, JSON, XML, SQL, commands and prose. `places` are
 * where names may begin. Returns the names that it saw.
 */
export function addNamed(
  text: string,
  places: readonly number[],
  found: FoundSecret[],
): readonly CredentialName[] {
  const named: NamedText = { text, hasNote: text.includes(NOTE), bareStart: 0, bareEnd: 0 };
  const names: CredentialName[] = [];
  let end = 0;
  let looks = 0;
  for (const place of places) {
    if (place < end) continue;
    // In a run full of names (`token=token=…`), only the first few look for a value.
    looks = place >= named.bareStart && place < named.bareEnd ? looks + 1 : 0;
    if (looks > LOOKS_MAX) continue;
    const name = nameAt(text, place);
    if (!name || isInNote(named, name.start)) continue;
    names.push(name);
    addCodes(text, name, found);
    const secret = before(named, name) ?? behind(named, name) ?? toldBefore(text, name);
    if (!secret) continue;
    found.push(secret);
    end = Math.max(end, secret.end);
  }
  return names;
}

const LOOKS_MAX = 2;

/** Closing quotes, brackets and emphasis behind a name. */
const CLOSERS = /(?:\\{0,3}["'`\])*”»」]){0,4}/y;
const SIGN =
  /(?:(?::\s?(?:string|str|String|&(?:'static )?str)|\s[Aa]s\s[Ss]tring)\s{0,3}=\s{0,3}|\s{0,8}(?:::?=|=>|\\=|={1,3}|\|\||\?\?|:-(?=\S)|[:：＝→|]|->|–|—)[*_]{0,3}\s{0,24}|\s-\s|["']\s{1,3}value\s?=\s?|>(?:\s{0,20}<(?:[Vv]alue>|!\[CDATA\[))?)(?:[bBNLru@](?=["'])|&\w{1,30}\s|qq?[{(/|]|(?:Sensitive|Secret(?:Str)?|SecureString|new String|String|Some)\((?=["']))?/y;
/** `Password</td><td>`, `<key>password</key><string>`, and a name and its value as two fields. */
const FIELDS =
  /(?:<\/[\w:]{1,20}>\s{0,40}<[\w:]{1,20}[^<>]{0,60}>|["']?(?:\s{0,3},\s{0,20}|\s{1,20})["']?(?:v|V|ParameterV)alue["']?\s{0,3}[:=]\s{0,3}|["']\s{0,3},\s{0,3}["']?value["']?\s{0,3}[:=]\s{0,3}|,ParameterValue=|\s{0,3}\{[^{}]{0,200}?\bdefault\s{0,3}=\s{0,3}(?="))/y;
const POSSESSIVE =
  /['’]s\s{1,2}(?=\S{0,40}(?:[a-z]\d{1,9}[a-z]|\d[!@#$%^&*]|[!@#$%^&*]\S{0,20}\d))/iy;
/** A field of a form that is sent in parts. */
const PART =
  /\]?(?:"|&quot;)(?:\r?\n[ \t]{0,40}[\w-]{3,40}:[^\r\n]{1,100}){0,3}\r?\n[ \t]{0,40}\r?\n[ \t]{0,40}(?=\S)/y;
/** The value that a script types when it was asked: `expect "password:"`, and on the next line `send "…"`. */
const SENT = /:?\s?["']\s{0,9}\{?\s{0,9}(?:exp_)?send\s(?:--\s)?(?=")/y;
/** `type="password" name="pw" value="…"` */
const ATTRIBUTE = /\s{1,3}[^<>\n]{0,80}?\bvalue=/y;
const CALL = /\((?=["'])/y;
const VERB =
  /\s{1,3}(?:(?:is|was|are|equals|reads|should be|must be|(?:has been |was |is )?(?:now |set |changed |reset )?to|now|(?:got|was|has been) [a-z]{4,12},? it['’]s(?: now)?)\b|ist|lautet|war|est|es|è|é|är|er)(?::\s{0,3}|\s{1,3}(?:now |still )?:?\s{0,2})/iy;
const QUOTE_NEXT = /\s{1,2}(?=["'`“„«「])/y;
const COMMA = /,[ \t]{0,3}(?=["'])/y;
/** `"--api-key",` and its value on the next line, as formatters write a list of arguments. */
const NEXT_LINE = /,[ \t]{0,3}\r?\n[ \t]{0,40}(?=["'])/y;
/** `for the staging server`, `(staging)`: what the credential is for. */
const PURPOSE =
  /(?:\s(?:for|of|to|on|at|in|from|für|vom|zum|von|de|del|para|pour|du|della|per|di|do|da|voor|van|för|til|do|от|для|к)\s(?:[^\n:=.;,!?|"'`(){}<>]|\.(?=\w)){1,50}?|,\s[^\n,:;.]{1,30},|\s?[([][^)\]\n]{1,40}[)\]])(?=\s{0,3}(?:[:=：—–→]|->|=>)\s|\s{0,3}[:：]|\s(?:is|was|ist|lautet|est|es|è|é|är)\s)/iy;
/** The text between a name of another language and its value. */
const FOREIGN =
  /\s{0,3}(?:(?:[:：=＝→—–|-]|是|为|為|は|が|는|은|이|を|(?:is|ist|lautet|est|es|è|é|är|er|je|to|jest|on|e|este|είναι|היא|هي|है|là|adalah|dır|és|е|є|је)(?![\p{L}])|คือ)\s{0,3}:?){0,2}\s{0,3}["'`“„«「]?/iuy;

/** The value that a name announces, if it is a credential. */
function behind(named: NamedText, name: CredentialName): FoundSecret | undefined {
  const { text } = named;
  const closed = name.end + (matchAt(CLOSERS, text, name.end)?.[0].length ?? 0);
  if (name.isForeign) return foreignValue(text, name, closed);
  if (name.kind === "card code") return cardCode(text, name);
  if (name.kind === "login") {
    const pair = matchAt(PAIR, text, closed);
    if (pair) return pairValue(name, pair);
  }
  const possessive = matchAt(POSSESSIVE, text, name.end);
  if (possessive) return valueAt(named, name, name.end + possessive[0].length, "is");
  const part = matchAt(PART, text, name.end);
  if (
    part &&
    /name=(?:"|&quot;)[\w.[\]-]{0,40}$/.test(text.slice(Math.max(0, name.start - 50), name.start))
  )
    return valueAt(named, name, name.end + part[0].length, "=");
  const sent = matchAt(SENT, text, name.end);
  if (sent) return valueAt(named, name, name.end + sent[0].length, ":");
  const sign = matchAt(SIGN, text, closed) ?? matchAt(FIELDS, text, closed);
  if (sign) return valueAt(named, name, closed + sign[0].length, sign[0].trim());
  const next = text.charCodeAt(closed);
  if (next === COMMA_CODE && (closed > name.end || text[name.start - 1] === "{")) {
    const isFlag = /["']--?[\w-]{0,30}$/.test(text.slice(Math.max(0, name.start - 34), name.start));
    const comma =
      matchAt(COMMA, text, closed) ?? (isFlag ? matchAt(NEXT_LINE, text, closed) : null);
    if (comma) return argument(named, name, closed + comma[0].length);
  }
  if (next === SPACE) return spacedValue(named, name, closed);
  const end = matchAt(PURPOSE, text, closed) ?? matchAt(CALL, text, closed);
  return end ? valueBehind(named, name, closed + end[0].length) : undefined;
}

function spacedValue(named: NamedText, name: CredentialName, at: number): FoundSecret | undefined {
  const { text } = named;
  const verb = matchAt(VERB, text, at);
  const said = verb ? valueAt(named, name, at + verb[0].length, "is") : undefined;
  // `the passcode to the door is …`: the verb is not the one that it looks like.
  if (said || (verb && !/\sto\s/.test(verb[0]))) return said;
  if (takesSpace(text, name)) {
    return valueAt(named, name, at + (matchAt(TYPE_OF_CISCO, text, at) ?? " ")[0].length, " ");
  }
  const quote = matchAt(QUOTE_NEXT, text, at);
  if (quote) {
    const isStatement = /\b(?:with|encrypted)\s$/i.test(
      text.slice(Math.max(0, name.start - 12), name.start),
    );
    return valueAt(named, name, at + quote[0].length, isStatement ? "=" : "");
  }
  if (
    name.kind === "password" &&
    TAKES_LOOSE.test(text.slice(Math.max(0, name.start - 70), name.start))
  ) {
    return valueAt(named, name, at + 1, "");
  }
  const attribute = at > name.end ? matchAt(ATTRIBUTE, text, at) : null;
  if (attribute) return valueAt(named, name, at + attribute[0].length, "value=");
  const purpose = matchAt(PURPOSE, text, at);
  if (purpose) return valueBehind(named, name, at + purpose[0].length);
  return name.kind === "password" ? valueAlone(text, name, at + 1) : undefined;
}

/** `the p12 password …`: what ends a clause and can be nothing else. */
const ALONE =
  /([^\s"'`,;<>(){}]{8,64}?)(?=[.,;:!?]{0,2}(?:$|[\r\n"'`)]|\s{1,3}(?:$|[\r\n])|[.,;!?]\s))/y;

function valueAlone(text: string, name: CredentialName, at: number): FoundSecret | undefined {
  const value = matchAt(ALONE, text, at)?.[1];
  return value !== undefined && isStrong(value) ? secretOf(name, at, at + value.length) : undefined;
}

function valueBehind(named: NamedText, name: CredentialName, at: number): FoundSecret | undefined {
  const { text } = named;
  if (text[at - 1] === "(") return valueAt(named, name, at, "");
  const said = matchAt(SIGN, text, at) ?? matchAt(VERB, text, at);
  return said ? valueAt(named, name, at + said[0].length, "") : undefined;
}

/** `password 7 …` */
const TYPE_OF_CISCO = / [0-9] /y;
/** `Login: ada / swordfish7` */
const PAIR =
  /(?:\s(?:with|as|is|are|using|data))?\s{0,2}:?\s{0,2}["'`]?[\w.@+-]{2,60}["'`]?(?:\s{1,2}[/|]\s{1,2}|:|(,?\s(?:and|und|et|y|with)\s))["'`]?([^\s"'`,;<>()[\]]{6,100})/y;

function pairValue(name: CredentialName, pair: RegExpExecArray): FoundSecret | undefined {
  const [whole, and, found = ""] = pair;
  const value = found.replace(/[.!?]$/, "");
  const end = pair.index + whole.length - found.length + value.length;
  if (and !== undefined)
    return isStrong(value) ? secretOf(name, end - value.length, end) : undefined;
  if (
    !/[a-z]/i.test(value) ||
    /^[a-z]+\d{0,2}$/i.test(value) ||
    value.includes("/") ||
    !isSecretValue(value, true, "loose")
  )
    return undefined;
  return secretOf(name, end - value.length, end);
}

const SPACE = 32;
/** `masterauth`, in the settings of Redis. */
const SMALL_M = "m".charCodeAt(0);
const COMMA_CODE = 44;

/** `'DB_PASSWORD', 'swordfish'`: what a function sets, or a default. */
function argument(named: NamedText, name: CredentialName, at: number): FoundSecret | undefined {
  const before = named.text.slice(Math.max(0, name.start - 60), name.start);
  const sets =
    /(?:define|set\w{0,20}|put\w{0,9}|add\w{0,9}|header)\(\s{0,2}["'][\w.-]{0,40}$/i.test(before);
  return valueAt(named, name, at, sets ? ":" : "");
}

/** Whether a space separates a name and its value: a flag, a statement of a shell, a line of a file. */
function takesSpace(text: string, { start, end, kind }: CredentialName): boolean {
  const from = Math.max(0, start - 90);
  const before = text.slice(from, start);
  if (/(?:^|[\s"'`])--?[a-z][a-z-]{0,30}$|(?:^|[\s"'`])--?$/.test(before)) return true;
  if (text.charCodeAt(start) === SMALL_M || /^identified/i.test(text.slice(start, end)))
    return true;
  const line = before.slice(before.lastIndexOf("\n") + 1);
  if (
    /\b(?:[sS]et[eE]nv|fastcgi_param|passenger_env_var|ENV|ARG|set -g?x|config(?:ure)? set)\s[\w./:-]{0,40}$/.test(
      line,
    )
  )
    return true;
  if (kind !== "password") return false;
  if (/(?:^|["'])[\s>|#*+/→\d-]{0,40}set\s[\w:.-]{0,40}$/.test(line)) return true;
  if (/^ 7 [\dA-F]{6}/.test(text.slice(end, end + 12))) return true;
  return TAKES_SPACE.test(before) || (line.trim() === "" && TAKES_LINE.test(before));
}

const TAKES_SPACE =
  /(?:\b(?:login|machine)[ \t]{1,9}[^\s(]{1,60}[ \t]{1,9}|\bprivilege \d{1,3} |\b(?:require|primary))$/;
/** `user ada, password …`: prose looks the same. */
const TAKES_LOOSE =
  /\b(?:user(?:name)?|connect|ssh|log ?in(?: with| as)?|account)[ :][ ]?\S{1,40}[ ,/(]{1,3}(?:with |and |und )?$/i;
const TAKES_LINE = /\b(?:login|machine|account|user)\s[\w.@-]{1,60}\s{1,40}$/;

/** Behind a name of another language, a value is a run of visible ASCII. */
const FOREIGN_VALUE = /[!-~]{6,100}/y;

function foreignValue(text: string, name: CredentialName, at: number): FoundSecret | undefined {
  const link = matchAt(FOREIGN, text, at)?.[0] ?? "";
  // A paragraph of its own is not what the name announces.
  if (/\n\s*\n/.test(link)) return undefined;
  const purpose = link.trim() === "" ? matchAt(FOREIGN_PURPOSE, text, at) : null;
  const start = at + (purpose?.[0].length ?? link.length);
  const run = matchAt(FOREIGN_VALUE, text, start)?.[0] ?? "";
  if (run === "" || (start === at && !/^[^\0-\x7f]/.test(text.slice(at - 1, at)))) return undefined;
  let end = start;
  while (end < start + run.length && !/["'`,;<>()[\]{}|\\]/.test(text[end] ?? "")) end += 1;
  end = withoutStops(text, end);
  if (OPENS[text.charCodeAt(end)] === 1) return undefined;
  const value = text.slice(start, end);
  return isSecretValue(value, true, "loose") ? secretOf(name, start, end) : undefined;
}

const FOREIGN_PURPOSE =
  /[^\n:=.;,!?|"'`(){}<>]{1,50}?\s{0,2}(?:[:：=—–]|\s(?:ist|lautet|est|este|es|è|é|är|er|jest|je|to|on|là|adalah|is))\s{1,3}["'`“„«「]?/y;

/** `"value": "…", "name": "DB_PASSWORD"` */
const FIELD_BEFORE =
  /"value"\s{0,3}:\s{0,3}"([^"\n]{4,200})",\s{0,20}"(?:name|key|Name|Key)"\s{0,3}:\s{0,3}"[\w.-]{0,40}$/i;
/** `Use swordfish7 as the password`. */
const BEFORE =
  /(?:^|[\s("'`“„«「])([^\s"'`“„«「”»」()[\]]{4,64})["'`”»」]?\s{1,2}(?:as|als|comme|como|come|som|jako|как)\s(?:[\p{L}]{1,12}\s){0,3}$/iu;

function before({ text }: NamedText, name: CredentialName): FoundSecret | undefined {
  const { start, kind } = name;
  if (kind !== "password" && kind !== "token" && kind !== "secret") return undefined;
  const field = text.charCodeAt(name.end) === QUOTE ? fieldBefore(text, name) : undefined;
  if (field) return field;
  const space = text.charCodeAt(start - 1);
  if (space !== SPACE || text.charCodeAt(name.end) === COLON) return undefined;
  const from = Math.max(0, start - 110);
  const words = text.slice(from, start);
  if (!/\s(?:as|als|com[eo]|comme|som|jako|как)\s/i.test(words)) return undefined;
  const match = BEFORE.exec(words);
  const value = match?.[1];
  if (!match || value === undefined || isPlaceholder(value)) return undefined;
  if (!isSecretValue(value, kind === "password", "loose")) return undefined;
  const at = from + match.index + match[0].indexOf(value);
  return secretOf(name, at, at + value.length);
}

const QUOTE = '"'.charCodeAt(0);

function fieldBefore(text: string, name: CredentialName): FoundSecret | undefined {
  const near = text.slice(Math.max(0, name.start - 60), name.start);
  if (!/"(?:name|key)"\s{0,3}:\s{0,3}"[\w.-]{0,40}$/i.test(near)) return undefined;
  const from = Math.max(0, name.start - 300);
  const field = FIELD_BEFORE.exec(text.slice(from, name.start));
  const value = field?.[1];
  if (!field || value === undefined) return undefined;
  if (!isSecretValue(value, name.kind === "password", "quoted")) return undefined;
  const at = from + field.index + field[0].indexOf(value, 7);
  return secretOf(name, at, at + value.length);
}

const COLON = ":".charCodeAt(0);

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

/** A run that may be random is so long, without the `=` at its end. A longer one is cut. */
const RUN = { min: 20, max: 400 } as const;
const IN_RUN = asciiSet(/[\w+/.~-]/);
/** How many characters a name may stand before its run, on the same line. */
const NEAR = 60;

/** Adds what looks random closely behind a name, on its line. */
export function addRandomNear(
  text: string,
  names: readonly CredentialName[],
  found: FoundSecret[],
): void {
  let done = 0;
  for (const [index, name] of names.entries()) {
    const { start, end, isForeign, kind } = name;
    if (isForeign || kind === "pin" || kind === "login" || kind === "card code" || name.isStrict)
      continue;
    const until = Math.min(end + NEAR, names[index + 1]?.start ?? text.length, text.length);
    for (let at = Math.max(done, end); at < until; at += 1) {
      const code = text.charCodeAt(at);
      // A name before a note has its value there, so it does not count for the text after the note.
      if (code === NEWLINE || code === CLOSING) break;
      if (IN_RUN[code] !== 1) continue;
      let runEnd = at;
      while (runEnd < text.length && IN_RUN[text.charCodeAt(runEnd)] === 1) runEnd += 1;
      const size = runEnd - at;
      const to = size > RUN.max ? at + RUN.max : withPadding(text, runEnd);
      if (
        size >= RUN.min &&
        at >= start &&
        text[at - 1] !== "=" &&
        isRandomRun(text.slice(at, to))
      ) {
        found.push(secretOf(name, at, to));
      }
      at = runEnd;
      done = runEnd;
    }
  }
}

const NEWLINE = "\n".charCodeAt(0);

/** The end of a run with up to two `=`, which end base64. */
function withPadding(text: string, end: number): number {
  if (!text.startsWith("=", end)) return end;
  return text.startsWith("==", end) ? end + 2 : end + 1;
}

function isRandomRun(run: string): boolean {
  return isRandom(run) && !isPlaceholder(run);
}
