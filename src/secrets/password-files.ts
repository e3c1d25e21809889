import { eachMatch, type FoundSecret } from "./found-secret.ts";
import { isPlaceholder, isSecretValue } from "./secret-values.ts";

/** Finds what files of passwords have, by the form of their lines: hashes of passwords, `.pgpass`, secrets of Kubernetes. */
export function addFromPasswordFiles(text: string, found: FoundSecret[]): void {
  if (text.includes("$")) {
    eachMatch(CRYPT, text, (match) => add(match, "password hash", found));
    eachMatch(NAMED_HASH, text, (match) => add(match, "password hash", found));
  }
  if (BRACED_KINDS.some((kind) => text.includes(kind))) {
    eachMatch(BRACED, text, (match) => add(match, "password hash", found));
  }
  if (text.includes(":")) eachMatch(PGPASS, text, (match) => addFromPgpass(text, match, found));
  if (text.includes("Secret") && text.includes("kind")) addFromKubernetes(text, found);
  if (text.includes('" *')) eachMatch(CHAP, text, (match) => add(match, "password", found));
}

function add(match: RegExpExecArray, kind: string, found: FoundSecret[]): void {
  const value = match[1] ?? match[0];
  if (isPlaceholder(value) && value === match[1]) return;
  const start = match.index + match[0].indexOf(value);
  found.push({ kind, start, end: start + value.length });
}

/** As `crypt` writes them: in `/etc/shadow`, of Apache, of web frameworks. Who has one can try passwords. */
const CRYPT =
  /\$(?:1|2[abxy]?|5|6|7|y|gy|P|H|S|sha1|md5|apr1|argon2(?:id|i|d)|scrypt|pbkdf2(?:-sha\d{1,3})?)\$[\w./+=,-]{1,60}(?:\$[\w./+=,-]{0,130}){0,4}(?<=[\w./+=,$-]{24})/g;
const NAMED_HASH =
  /(?:pbkdf2_sha\d{1,3}|pbkdf2:sha\d{1,3}:\d{1,9}|scrypt:\d{1,9}:\d{1,3}:\d{1,3}|bcrypt_sha256|argon2|SCRAM-SHA-\d{1,3})\$[\w$./+=:,-]{20,300}/g;
const BRACED_KINDS = ["{S", "{MD5", "{CRYPT", "{PBKDF2", "{crypt", "{ssha", "{sha"];
const BRACED = /\{(?:S?SHA\d{0,3}|S?MD5|CRYPT|PBKDF2[\w-]{0,12})\}([\w+/$.=-]{16,200})/gi;
/** `"ada" * "swordfish"`, in the file of PPP. */
const CHAP = /"[\w.@\\-]{1,60}"\s{1,9}\*\s{1,9}"([^"\s]{4,100})"/g;

/** `host:port:database:user:password`, alone on its line. */
const PGPASS = /:(?:\d{4,5}|\*):[\w*$-]{1,64}:[\w*.@-]{1,64}:([^\s:"'`\\]{4,200})(?=[\s"'`\\]|$)/g;
const PGPASS_HOST = /(?:^|[\s"'`|])(?:\s{0,20}\d{1,6}[\t→]|[\s>|#*+/-]{0,60})[\w.*-]{1,100}$/;

function addFromPgpass(text: string, match: RegExpExecArray, found: FoundSecret[]): void {
  const before = text.slice(Math.max(0, match.index - 200), match.index);
  const host = before.slice(before.lastIndexOf("\n") + 1);
  const isFile =
    /\.[a-z]{1,4}$/.test(host) &&
    /\.(?:[cm]?[jt]sx?|py|go|rs|rb|java|php|c|h|cpp|cs|md|json|ya?ml)$/.test(host);
  if (isFile || !PGPASS_HOST.test(host) || !isSecretValue(match[1] ?? "", true, "tight")) return;
  add(match, "password", found);
}

const KIND_SECRET = /["']?kind["']?:\s{0,3}["']?Secret\b/g;
const DATA = /(?:^|[\s{,])["']?(?:data|stringData)["']?:\s{0,3}(\{|\n)/g;
const DATUM =
  /["']?[\w.-]{1,100}["']?:[ \t]{1,4}(?:"([^"\n]{4,2000})"|'([^'\n]{4,2000})'|([^\s"'{}[\],|>&*!%][^\s,}]{3,2000}))/y;
/** How far the data of an object may be from its kind. */
const OBJECT_MAX = 20_000;

/** All values of a secret of Kubernetes are secrets, whatever their names. */
function addFromKubernetes(text: string, found: FoundSecret[]): void {
  let done = 0;
  eachMatch(KIND_SECRET, text, ({ index }) => {
    if (index < done) return;
    const first = Math.max(done, index - OBJECT_MAX);
    const before = text.slice(first, index);
    const behind = text.slice(index, index + OBJECT_MAX);
    const from = first + Math.max(0, before.lastIndexOf("\n---"));
    const next = behind.indexOf("\n---");
    done = index + (next < 0 ? behind.length : next);
    const part = text.slice(from, done);
    eachMatch(DATA, part, (match) => addData(part, match, from, found));
  });
}

function addData(part: string, match: RegExpExecArray, from: number, found: FoundSecret[]): void {
  const isMap = match[1] === "{";
  let at = match.index + match[0].length;
  for (;;) {
    const gap = (isMap ? /^[\s,]{0,80}/ : /^(?:[ \t>|#*]{0,40}\n)?[ \t>|#*]{1,60}/).exec(
      part.slice(at, at + 100),
    )?.[0];
    if (gap === undefined) return;
    DATUM.lastIndex = at + gap.length;
    const datum = DATUM.exec(part);
    if (!datum) return;
    const value = datum.slice(1).find((one) => one !== undefined) ?? "";
    const end = datum.index + datum[0].length;
    const start = datum.index + datum[0].lastIndexOf(value);
    if (!isPlaceholder(value))
      found.push({ kind: "secret", start: from + start, end: from + start + value.length });
    at = end;
    if (!isMap && part[at] === "\n") at += 1;
    if (at >= part.length) return;
  }
}
