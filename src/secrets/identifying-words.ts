/** A part of each name of a credential. */
export const OF_NAME = 1;
export const SIGNATURE = 2;
export const AUTHORIZATION = 4;
export const BEARER = 8;
export const COOKIE = 16;
export const CURL = 32;
export const MYSQL = 64;
export const SSHPASS = 128;
export const HOOK = 256;

const WORDS: Readonly<Record<string, number>> = {
  pass: OF_NAME,
  pwd: OF_NAME,
  key: OF_NAME,
  secret: OF_NAME,
  token: OF_NAME,
  credential: OF_NAME,
  identified: OF_NAME,
  recovery: OF_NAME,
  seed: OF_NAME,
  mnemonic: OF_NAME,
  sig: SIGNATURE,
  authorization: AUTHORIZATION,
  bearer: BEARER,
  cookie: COOKIE,
  curl: CURL,
  mysql: MYSQL,
  mariadb: MYSQL,
  sshpass: SSHPASS,
  hook: HOOK,
};

/**
 * The kinds of these words in a text, in any case and also inside longer words: a bit for each kind. Most texts have
 * few of them, and one look for all costs less than a pattern for each.
 */
export function identifyingWords(text: string): number {
  let found = 0;
  let letters = 0;
  for (let at = 0; at < text.length; at += 1) {
    letters = withLetter(letters, text.charCodeAt(at));
    const kinds = KINDS_BY_START[letters] as number;
    if ((kinds & ~found) !== 0) found |= kindsAt(text, at - 2, letters);
  }
  return found;
}

/** The last three characters as one number. The five bits of a letter are the same in both cases. */
function withLetter(letters: number, code: number): number {
  return ((letters << 5) | (code & 31)) & 0x7fff;
}

function startOf(word: string): number {
  let letters = 0;
  for (let at = 0; at < 3; at += 1) letters = withLetter(letters, word.charCodeAt(at));
  return letters;
}

const WORDS_BY_START = Map.groupBy(Object.keys(WORDS), startOf);
const KINDS_BY_START = new Uint16Array(0x8000);
for (const [word, kind] of Object.entries(WORDS)) {
  const start = startOf(word);
  KINDS_BY_START[start] = (KINDS_BY_START[start] ?? 0) | kind;
}

function kindsAt(text: string, at: number, letters: number): number {
  let kinds = 0;
  for (const word of WORDS_BY_START.get(letters) ?? []) {
    const isHere = text.slice(at, at + word.length).toLowerCase() === word;
    if (isHere) kinds |= WORDS[word] ?? 0;
  }
  return kinds;
}
