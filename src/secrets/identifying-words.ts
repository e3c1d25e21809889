/** The name of a credential, or a part of it. */
export const NAME = 1;
/** A program that takes a password as an argument. */
const PROGRAM = 2;
export const SIGNATURE = 4;
export const AUTHORIZATION = 8;
export const BEARER = 16;
export const COOKIE = 32;
export const HOOK = 64;
/** The places of these are kept. */
const PLACED = NAME | PROGRAM;

const WORDS: Readonly<Record<string, number>> = {
  ...ofKind(NAME, "pass pwd psw psk key secret token credential identified recovery seed mnemonic"),
  ...ofKind(NAME, "salt auth pin login pw: pw= pw_ _pw wallet dsn backup masterauth"),
  // Passwords in other languages.
  ...ofKind(NAME, "kennwort contrase clave senha wachtwoord hasł haslo lösenord heslo şifre Şifre"),
  ...ofKind(
    NAME,
    "sifre parola парол schlüssel 密码 密碼 口令 パスワード 비밀번호 암호 كلمة סיסמ पासवर्ड",
  ),
  ...ofKind(NAME, "κωδικ khẩu sandi salasana jelsz adgangskode lozinka geslo"),
  ...ofKind(PROGRAM, "curl wget mysql mariadb sshpass docker podman nerdctl helm mongo redis-cli"),
  ...ofKind(PROGRAM, "smbclient ldap openssl 7z zip htpasswd keytool chpasswd rabbitmqctl sqlcmd"),
  ...ofKind(PROGRAM, "freerdp ssh-keygen cmdkey lftp sudo twine skopeo mosquitto_ wpa_passphrase"),
  ...ofKind(PROGRAM, "securestring sqlplus crane oras http"),
  // `net use` and `net user`
  "net us": PROGRAM,
  sig: SIGNATURE,
  authorization: AUTHORIZATION,
  bearer: BEARER,
  cookie: COOKIE,
  session: COOKIE,
  hook: HOOK,
  workflows: HOOK,
};

function ofKind(kind: number, words: string): Record<string, number> {
  return Object.fromEntries(words.split(" ").map((word) => [word, kind]));
}

/** What `identifyingWords` found. */
export interface WordsFound {
  /** The kinds of all words, a bit for each. */
  readonly kinds: number;
  /** Where names begin, in order. */
  readonly names: readonly number[];
  /** Where programs begin, in order. */
  readonly programs: readonly number[];
}

/**
 * These words in a text, in any case and also inside longer words. Most texts have few of them, and one look for all
 * costs less than a pattern for each.
 */
export function identifyingWords(text: string): WordsFound {
  let kinds = 0;
  const names: number[] = [];
  const programs: number[] = [];
  let letters = 0;
  for (let at = 0; at < text.length; at += 1) {
    letters = ((letters << 5) | (text.charCodeAt(at) & 31)) & 0x7fff;
    const possible = KINDS_BY_START[letters] as number;
    if (possible === 0 || (possible & (~kinds | PLACED)) === 0) continue;
    const here = kindsAt(text, at - 2, letters);
    kinds |= here;
    if ((here & NAME) !== 0) names.push(at - 2);
    if ((here & PROGRAM) !== 0) programs.push(at - 2);
  }
  return { kinds, names, programs };
}

interface Word {
  readonly text: string;
  readonly codes: readonly number[];
  readonly kind: number;
}

/** Words by their first three characters as one number. The five bits of a letter are the same in both cases. */
const WORDS_BY_START: (Word[] | undefined)[] = new Array(0x8000).fill(undefined);
const KINDS_BY_START = new Uint16Array(0x8000);
for (const [text, kind] of Object.entries(WORDS)) {
  const codes = Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));
  const word = { text: text.toLowerCase(), codes, kind };
  for (const start of startsOf(codes)) {
    KINDS_BY_START[start] = (KINDS_BY_START[start] ?? 0) | kind;
    WORDS_BY_START[start] = [...(WORDS_BY_START[start] ?? []), word];
  }
}

/** A word of two characters may go on with anything. */
function startsOf([first = 0, second = 0, third]: readonly number[]): readonly number[] {
  const start = ((first & 31) << 10) | ((second & 31) << 5);
  if (third !== undefined) return [start | (third & 31)];
  return Array.from({ length: 32 }, (_, bits) => start | bits);
}

function kindsAt(text: string, at: number, letters: number): number {
  let kinds = 0;
  for (const word of WORDS_BY_START[letters] ?? []) if (isAt(word, text, at)) kinds |= word.kind;
  return kinds;
}

function isAt({ text: word, codes }: Word, text: string, at: number): boolean {
  for (let index = 0; index < codes.length; index += 1) {
    const code = codes[index] as number;
    const there = text.charCodeAt(at + index);
    if (there === code) continue;
    if (code >= 128) return text.slice(at, at + word.length).toLowerCase() === word;
    if (!(code >= 97 && code <= 122 && (there | 32) === code)) return false;
  }
  return true;
}
