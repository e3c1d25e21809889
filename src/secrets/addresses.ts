import { matchAt } from "../text/character-kinds.ts";
import { AUTHORIZATION, BEARER, COOKIE, HOOK, NAME, SIGNATURE } from "./credential-names.ts";
import {
  eachMatch,
  type FoundSecret,
  isPlaceholder,
  isRandom,
  isSecretValue,
} from "./secret-values.ts";

/** Finds the passwords of addresses, what signs them, and the headers of requests. `kinds` are the words that the text has. */
export function addFromAddresses(text: string, kinds: number, found: FoundSecret[]): void {
  addUserInfo(text, found);
  addShortAddresses(text, found);
  const has = (some: number) => (kinds & some) !== 0;
  if (has(HOOK)) eachMatch(HOOKS, text, (match) => addLastGroup(match, "webhook", found));
  if (
    text.includes("=") &&
    (text.includes("?") || text.includes("&") || text.includes("#") || has(SIGNATURE))
  ) {
    eachMatch(PARAMETER, text, (match) => addLastGroup(match, "signature or token", found));
    eachMatch(SHORT_PARAMETER, text, (match) => {
      const value = match[1] ?? "";
      if (isKeyLike(value)) addLastGroup(match, "signature or token", found);
    });
  }
  if (has(AUTHORIZATION | NAME)) addFromHeaders(text, found);
  if (has(AUTHORIZATION))
    eachMatch(SIGNED, text, (match) => addLastGroup(match, "authorization", found));
  if (has(BEARER)) {
    eachMatch(BEARER_TOKEN, text, (match) => {
      if (/\d/.test(match[1] ?? "")) addLastGroup(match, "authorization", found);
    });
  }
  if (has(COOKIE)) {
    eachMatch(COOKIES, text, (match) => addLastGroup(match, "cookie", found));
    eachMatch(SESSION, text, (match) => {
      if (isKeyLike(match[1] ?? "")) addLastGroup(match, "cookie", found);
    });
  }
}

const USER_AND_PASSWORD = /[^\s/:@'"<>]{0,100}:([^\s/'"<>]{1,200})@[\w[]/y;
/** A password with a slash, before a host with a port or a dot. */
const SLASHED = /[^\s/:@'"<>]{1,60}:([^\s@'"<>?#]{4,100})@[\w.-]{1,100}[:/]/y;
/** A token in the place of the user. */
const USER_ALONE = /([\w.~%+-]{16,300})@[\w.-]{1,100}/y;

function addUserInfo(text: string, found: FoundSecret[]): void {
  let sign = text.indexOf("@");
  for (let at = text.indexOf("://"); at >= 0; at = text.indexOf("://", at + 3)) {
    if (sign >= 0 && sign < at) sign = text.indexOf("@", at);
    if (sign < 0) break;
    const start = at + 3;
    if (sign - start > 400) continue;
    const [whole, password] =
      matchAt(USER_AND_PASSWORD, text, start) ?? matchAt(SLASHED, text, start) ?? [];
    if (whole !== undefined && password !== undefined) {
      if (isPlaceholder(password) || /^\d{2,5}\//.test(password)) continue;
      const end = start + whole.lastIndexOf("@");
      found.push({ kind: "password", start: end - password.length, end });
      continue;
    }
    const user = matchAt(USER_ALONE, text, start)?.[1];
    if (user && isKeyLike(user)) found.push({ kind: "token", start, end: start + user.length });
  }
}

/** `app:…@tcp(host:3306)/`, `app:…@host:5432/`, `jdbc:oracle:thin:scott/…@`: addresses without a scheme. */
const SHORT =
  /@(?:(?:tcp|unix)\(|\/\/[\w.-]{1,100}[:/]|[\w-]{1,60}(?:\.[\w-]{1,60}){0,5}:\d{2,5}(?:\/|\b))/g;
const SHORT_USER =
  /(?:^|[\s"'`=(+→])(?:[\w.-]{1,60}:|jdbc:oracle:\w{1,9}:[\w.-]{1,60}\/|[\w.-]{1,40}\/)([^\s:@/"'`<>()]{4,80})$/;

function addShortAddresses(text: string, found: FoundSecret[]): void {
  if (!text.includes("@")) return;
  eachMatch(SHORT, text, ({ index }) => {
    const from = Math.max(0, index - 150);
    const match = SHORT_USER.exec(text.slice(from, index));
    const value = match?.[1];
    if (!value || !isSecretValue(value, true, "tight")) return;
    found.push({ kind: "password", start: index - value.length, end: index });
  });
}

/** A key that no word explains: random, or 32 digits of hexadecimal. */
export function isKeyLike(value: string): boolean {
  if (isRandom(value) || /^[a-f0-9]{32,128}$/i.test(value))
    return (/\d/.test(value) && /[a-z]/i.test(value)) || isRandom(value);
  return (
    value.length >= 20 &&
    /^[a-z0-9]+$/.test(value) &&
    (value.match(/\d/g)?.length ?? 0) >= 3 &&
    (value.match(/[a-z]/g)?.length ?? 0) >= 6
  );
}

/** Web hooks: the address is the credential. */
const HOOKS =
  /(?:hooks\.slack(?:-gov)?\.com\/(?:services|workflows|triggers)|discord(?:app)?\.com\/api\/webhooks\/\d{10,25}|\.webhook\.office\.com\/webhookb2|hooks\.zapier\.com\/hooks\/catch|hook\.\w{2,4}\d?\.make\.com|maker\.ifttt\.com\/trigger\/[\w-]{1,60}\/with\/key)\/([\w@/+-]{12,300})/g;
const PARAMETER =
  /[?&#;](?:X-(?:Amz|Goog)-(?:Signature|Credential|Security-Token)|Signature|sig|(?:[a-z]{2,12}_)?token|api_?key|app_?key|access_?key|subscription-key|client_secret|secret|password|passwd|pwd|pass)=([\w%.~+/-]{8,2000}={0,2})/gi;
const SHORT_PARAMETER =
  /[?&#](?:key|auth|code|k|hash|sid|session|jwt|apikey|signature)=([\w%.~+/-]{16,2000}={0,2})/gi;

/** Adds the last group of a match, which ends where the match does. */
function addLastGroup(match: RegExpExecArray, kind: string, found: FoundSecret[]): void {
  const value = match.at(-1) ?? "";
  if (isPlaceholder(value)) return;
  const end = match.index + match[0].length;
  found.push({ kind, start: end - value.length, end });
}

const HEADER =
  /(?:(?:proxy-)?authorization|x-(?:[a-z]{1,20}-){0,2}(?:api-?key|token|auth)|api-?key|(?:application|subscription)-key|private-token|x-auth-key)\\{0,3}["'`]?\s{0,3}[:=]\s{0,3}\\{0,3}["'`]?(?:(bearer|basic|token|negotiate|apikey|key)\s{1,3}|([a-z][\w-]{1,20})\s{1,3}(?=[^\s"'`\\,;<>(){}=]{16}))?([^\s"'`\\,;<>(){}]{8,4000})/gi;
const BEARER_TOKEN = /bearer\s{1,3}([\w.~+/-]{16,4000}={0,2})/gi;
/** `Signature=…` of AWS, `response="…"` of a digest. */
const SIGNED = /[\s,](?:signature|response|oauth_signature)=\\{0,3}["']?([\w%+/-]{16,400}={0,2})/gi;
const COOKIES =
  /(?:set-)?cookie\\{0,2}["']?\s{0,3}:\s{0,3}\\{0,2}["']?([\w.-]{1,80}=[^\n"'\\]{8,4000})/gi;
const SESSION =
  /(?:session_?id|phpsessid|jsessionid|connect\.sid|_?session)=([\w%.+/-]{16,1000})/gi;

function addFromHeaders(text: string, found: FoundSecret[]): void {
  eachMatch(HEADER, text, (match) => {
    const [, scheme, other, value = ""] = match;
    if (scheme || (other && isKeyLike(value.replaceAll("-", ""))))
      addLastGroup(match, "authorization", found);
    else if (isSecretValue(value, false, "tight") && !/^(?:Digest|AWS4|OAuth|Hawk)/.test(value))
      addLastGroup(match, "API key", found);
  });
}
