import { matchAt } from "../text/character-kinds.ts";
import type { CredentialName } from "./credential-names.ts";
import {
  eachMatch,
  type FoundSecret,
  isPlaceholder,
  isRandom,
  isSecretValue,
} from "./secret-values.ts";
import { secretOf } from "./value-at.ts";

/** A row is no longer, and a table has no more. */
const ROW_MAX = 2_000;
const ROWS_MAX = 5_000;

interface Cell {
  readonly start: number;
  readonly text: string;
}

/**
 * Finds the passwords below a name at the head of a column: in tables of Markdown, of databases, in CSV, and in what SQL
 * inserts and copies.
 */
export function addFromColumns(
  text: string,
  names: readonly CredentialName[],
  found: FoundSecret[],
): void {
  let done = 0;
  for (const name of names) {
    if (
      name.start < done ||
      name.kind === "login" ||
      name.kind === "pin" ||
      name.kind === "card code"
    )
      continue;
    const inserted = matchAt(INSERTED, text, name.end);
    if (inserted) addInserted(text, name, name.end + inserted[0].length, found);
    const copied = matchAt(COPIED, text, name.end);
    if (copied) addCopied(text, name, name.end + copied[0].length, found);
    const next = text[skipClosers(text, name.end)] ?? "";
    if (!/[|,;\t\n\r]/.test(next)) continue;
    const end = endOfLine(text, name.end);
    const start = startOfLine(text, name.start);
    if (start < done || end === text.length || end - start > ROW_MAX) continue;
    done = addTable(text, start, end, name, found);
  }
}

function skipClosers(text: string, from: number): number {
  let at = from;
  while (at < from + 6 && /["'`* ]/.test(text[at] ?? "")) at += 1;
  return at;
}

function endOfLine(text: string, from: number): number {
  const window = text.slice(from, from + ROW_MAX + 1);
  const at = window.search(/[\r\n]/);
  return at < 0 ? (window.length <= ROW_MAX ? text.length : from + ROW_MAX + 1) : from + at;
}

function startOfLine(text: string, at: number): number {
  const first = Math.max(0, at - ROW_MAX);
  return first + text.slice(first, at).lastIndexOf("\n") + 1;
}

/** The cells of a row with `|` or a tab between them; for CSV, a comma or a semicolon that no quote encloses. */
function cellsOf(line: string, separator: string): readonly Cell[] {
  const cells: Cell[] = [];
  // A quote without another one is none.
  const hasQuotes = separator !== "|" && line.split('"').length % 2 === 1;
  let quote = false;
  let start = 0;
  for (let at = 0; at <= line.length; at += 1) {
    const sign = line[at];
    if (sign === '"' && hasQuotes) quote = !quote;
    if (at < line.length && (quote || sign !== separator)) continue;
    cells.push(trimmed(line, start, at));
    start = at + 1;
  }
  return cells;
}

/** A cell without the quotes and the emphasis around it. */
function trimmed(line: string, from: number, to: number): Cell {
  let [start, end] = [from, to];
  while (start < end && /[\s"'`*]/.test(line[start] ?? "")) start += 1;
  while (end > start && /[\s"'`*]/.test(line[end - 1] ?? "")) end -= 1;
  return { start, text: line.slice(start, end) };
}

/** The head of a column of credentials: the name, and a few words that say whose. */
const HEAD =
  /^(?:[\p{L}\d]{1,20}[ _-]?){0,3}(?:pass(?:word|wd|phrase|code|wort)?|pwd|psw|kennwort|contraseña|mot de passe|senha|wachtwoord|hasło|пароль|密码|密碼|パスワード|secret|secret (?:access )?key|(?:api|access)[ _-]?(?:key|token|secret)|token|private key|pin|pw)s?$/iu;
/** The head of a column that says whose the credentials are. */
const OWNER =
  /user|name|login|e-?mail|account|host|server|service|system|benutzer|utilisateur|usuario|usuário|utente|пользов|用户|用戶|ユーザ|url|env|db|database|role|site/i;

/** The head of a table that has a column of credentials. */
function headsOf(head: string) {
  for (const separator of ["|", "\t", ";", ","]) {
    if (!head.includes(separator)) continue;
    const heads = cellsOf(head, separator);
    if (heads.some(({ text }) => /[(){}=:<>[\]]/.test(text))) continue;
    const columns = heads.flatMap(({ text }, index) => (HEAD.test(text) ? [index] : []));
    if (columns.length > 0) return { separator, heads, columns };
  }
  return undefined;
}

function addTable(
  text: string,
  start: number,
  end: number,
  name: CredentialName,
  found: FoundSecret[],
): number {
  const head = text.slice(start, end);
  const table = headsOf(head);
  if (!table) return 0;
  const { separator, heads, columns } = table;
  const isOwned = heads.some(({ text: cell }) => OWNER.test(cell) && !HEAD.test(cell));
  let at = end;
  for (let row = 0; row < ROWS_MAX && at < text.length; row += 1) {
    while (text[at] === "\r") at += 1;
    if (text[at] !== "\n") break;
    at += 1;
    const rowEnd = endOfLine(text, at);
    const line = text.slice(at, rowEnd);
    if (rowEnd - at > ROW_MAX || line.trim() === "") break;
    if (/^[\s>|+:=-]+$/.test(line)) {
      at = rowEnd;
      continue;
    }
    const cells = cellsOf(line, separator);
    if (cells.length !== heads.length) break;
    for (const column of columns) addCell(cells[column], at, { separator, isOwned }, name, found);
    at = rowEnd;
  }
  return at;
}

function addCell(
  cell: Cell | undefined,
  lineStart: number,
  { separator, isOwned }: { readonly separator: string; readonly isOwned: boolean },
  name: CredentialName,
  found: FoundSecret[],
): void {
  if (!cell || cell.text.length < 4 || isPlaceholder(cell.text)) return;
  const isPassword = name.kind === "password";
  const isPhrase = /\s/.test(cell.text);
  const isSecret = isPhrase
    ? isOwned && separator !== "|" && isPassword && /\d/.test(cell.text) && cell.text.length < 60
    : isSecretValue(cell.text, isPassword, isOwned ? "tight" : "loose") || isRandom(cell.text);
  if (!isSecret) return;
  const start = lineStart + cell.start;
  found.push({
    kind: name.kind === "pin" || name.kind === "login" ? "password" : name.kind,
    start,
    end: start + cell.text.length,
  });
}

/** `(name, password) VALUES (`, from behind the name. */
const INSERTED = /["'`\]]?\s{0,3}(?:,[\w\s"'`[\],]{1,300})?\)\s{0,9}values\s{0,9}(?=\()/iy;
const TUPLE = /\s{0,9},?\s{0,9}\(/y;
const ITEM =
  /\s{0,9}(?:[nN]?'((?:[^'\n]|''){0,400})'|"([^"\n]{0,400})"|([^,'"()\n]{0,100}(?:\([^()\n]{0,200}\))?))\s{0,9}([,)])/y;

function addInserted(text: string, name: CredentialName, from: number, found: FoundSecret[]): void {
  const column = columnOf(text, name);
  for (let at = from, rows = 0; rows < ROWS_MAX; rows += 1) {
    const tuple = matchAt(TUPLE, text, at);
    if (!tuple) return;
    at += tuple[0].length;
    for (let index = 0; ; index += 1) {
      const item = matchAt(ITEM, text, at);
      if (!item) return;
      const value = item[1] ?? item[2];
      if (index === column && value !== undefined && isSecretValue(value, true, "quoted")) {
        const start = at + item[0].indexOf(value);
        found.push({ kind: "password", start, end: start + value.length });
      }
      at += item[0].length;
      if (item[4] === ")") break;
    }
  }
}

/** The place of a name among the columns that SQL lists in brackets, counted from 0. */
function columnOf(text: string, name: CredentialName): number {
  const before = text.slice(Math.max(0, name.start - 300), name.start);
  return before.slice(before.lastIndexOf("(") + 1).split(",").length - 1;
}

/** `(name, password) FROM stdin;`, from behind the name: a dump of PostgreSQL. Its rows have tabs between the values. */
const COPIED =
  /["]?\s{0,3}(?:,[\w\s",]{1,300})?\)\s{1,9}from\s{1,9}stdin(?:\s[^;\n]{0,60})?;[ \t]{0,9}\r?\n/iy;

function addCopied(text: string, name: CredentialName, from: number, found: FoundSecret[]): void {
  const column = columnOf(text, name);
  const indent = /^[ \t]*/.exec(text.slice(startOfLine(text, name.start), name.start))?.[0] ?? "";
  for (let at = from, rows = 0; rows < ROWS_MAX && at < text.length; rows += 1) {
    if (text.startsWith(indent, at)) at += indent.length;
    const end = endOfLine(text, at);
    const line = text.slice(at, end);
    if (end - at > ROW_MAX || line.startsWith("\\.") || !line.includes("\t")) return;
    const cell = cellsOf(line, "\t")[column];
    if (cell && isSecretValue(cell.text, true, "tight")) {
      const start = at + cell.start;
      found.push(secretOf(name, start, start + cell.text.length));
    }
    at = end;
    while (text[at] === "\r" || text[at] === "\n") at += 1;
  }
}

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
  if (text.includes("grub."))
    eachMatch(GRUB_HASH, text, (match) => add(match, "password hash", found));
  if (text.includes(":")) {
    eachMatch(DIGEST, text, (match) => {
      const before = text.slice(Math.max(0, match.index - 110), match.index);
      if (DIGEST_USER.test(before)) add(match, "password hash", found);
    });
    eachMatch(MAIL, text, (match) => {
      if (isSecretValue(match[1] ?? "", true, "loose")) add(match, "password", found);
    });
  }
  if (/PSK|EAP|XAUTH|NTLM/.test(text))
    eachMatch(IPSEC, text, (match) => add(match, "password", found));
  if (text.includes("chpasswd:")) eachMatch(USERS_BELOW, text, (match) => addUsers(match, found));
  if (text.includes('" *')) eachMatch(CHAP, text, (match) => add(match, "password", found));
}

function add(match: RegExpExecArray, kind: string, found: FoundSecret[]): void {
  const value = match[1] ?? match[0];
  if (isPlaceholder(value) && value === match[1]) return;
  const start = match.index + match[0].indexOf(value);
  found.push({ kind, start, end: start + value.length });
}

/** Hashes of passwords, as `crypt` writes them: in `/etc/shadow`, Apache, web frameworks. With one, anybody can try passwords. */
const CRYPT =
  /\$(?:1|2[abxy]?|[5-9]|y|gy|P|H|S|sha1|md5|apr1|argon2(?:id|i|d)|scrypt|pbkdf2(?:-sha\d{1,3})?)\$[\w./+=,-]{1,60}(?:\$[\w./+=,-]{0,130}){0,4}(?<=[\w./+=,$-]{24})/g;
const NAMED_HASH =
  /(?:pbkdf2_sha\d{1,3}|pbkdf2:sha\d{1,3}:\d{1,9}|scrypt:\d{1,9}:\d{1,3}:\d{1,3}|bcrypt_sha256|argon2|SCRAM-SHA-\d{1,3})\$[\w$./+=:,-]{20,300}/g;
const BRACED_KINDS = ["{S", "{MD5", "{CRYPT", "{PBKDF2", "{crypt", "{ssha", "{sha"];
const BRACED = /\{(?:S?SHA\d{0,3}|S?MD5|CRYPT|PBKDF2[\w-]{0,12})\}([\w+/$.=-]{16,200})/gi;
/** GRUB's hashes. Their parts have dots between them. */
const GRUB_HASH = /grub\.pbkdf2\.sha\d{3}\.\d{1,9}\.[A-F0-9]{32,600}\.[A-F0-9]{32,600}/gi;
/** `ada:Private Area:…`, as `htdigest` writes it. */
const DIGEST = /:(?!md5\b|sha)[A-Za-z][\w .@-]{1,60}:([a-f0-9]{32})(?![\w:])/gi;
const DIGEST_USER = /(?:^|[\n"'])[ \t>|+#*/→\d-]{0,40}[\w.@-]{1,60}$/;
/** `[smtp.example.com]:587 ada@example.com:…`, of a mail server. */
const MAIL =
  /:\d{2,5}[ \t]{1,20}[^\s:@"']{1,60}@[\w.-]{1,60}:([^\s:"'\\]{4,100})(?=[ \t]{0,20}(?:[\r\n"'\\]|$))/g;
/** `: PSK "…"` and `ada : EAP "…"`, of IPsec. */
const IPSEC = /[\s%]:[ \t]{1,9}(?:PSK|EAP|XAUTH|NTLM|PIN)[ \t]{1,9}"([^"\n]{4,200})"/g;
/** Users and passwords below `chpasswd:` of cloud-init. */
const USERS_BELOW =
  /\bchpasswd:[ \t]{0,9}\r?\n(?:[ \t]{1,20}expire:[^\n]{0,20}\r?\n)?[ \t]{1,20}list:[ \t]{0,9}[|>]?[+-]?[ \t]{0,9}\r?\n((?:[ \t]{1,20}(?:- )?[\w.-]{1,40}:[^\s:]{4,100}[ \t]{0,9}(?:\r?\n|$)){1,40})/g;

/** `"ada" * "swordfish"`, in the file of PPP. */
const CHAP = /"[\w.@\\-]{1,60}"\s{1,9}\*\s{1,9}"([^"\s]{4,100})"/g;

/** `host:port:database:user:password`, alone on its line. */
const PGPASS = /:(?:\d{4,5}|\*):[\w*$-]{1,64}:[\w*.@-]{1,64}:([^\s:"'`\\]{4,200})(?=[\s"'`\\]|$)/g;
const PGPASS_HOST = /(?:^|[\s"'`|])(?:\s{0,20}\d{1,6}[\t→]|[\s>|#*+/-]{0,60})[\w.*-]{1,100}$/;

function addUsers(match: RegExpExecArray, found: FoundSecret[]): void {
  const lines = match[1] ?? "";
  const from = match.index + match[0].length - lines.length;
  for (const { 0: all, 1: value = "", index } of lines.matchAll(/:([^\s:]{4,100})/g)) {
    if (isPlaceholder(value)) continue;
    const end = from + index + all.length;
    found.push({ kind: "password", start: end - value.length, end });
  }
}

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
