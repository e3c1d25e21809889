import { codesOf, matchAt } from "../text/character-kinds.ts";

/** The name of a credential in a text: `DB_PASSWORD`, `apiKey`, `mot de passe`. */
export interface CredentialName {
  readonly start: number;
  readonly end: number;
  readonly kind: "password" | "token" | "key" | "secret" | "pin" | "login" | "card code";
  /** Words restore what it is for. */
  readonly isPhrase?: boolean;
  /** The name says little, so its value has to look random. */
  readonly isStrict?: boolean;
  readonly isForeign?: boolean;
}

/** The end of a name that belongs to it: a number, or where it is used. */
const SUFFIX =
  "(?:_?\\d{1,2})?(?:[_-](?:prod|production|stag(?:e|ing)|dev|test|live|old|new|main|base|default|local|master|primary|root|admin|user|db|value|plain|b64|base64)(?![a-z]))?";
const END = `s?(?![a-z])${SUFFIX}`;

interface Form {
  readonly behind: RegExp;
  /** The text that has to stand before it, at the end of a few characters. */
  readonly before?: RegExp;
  readonly name: Omit<CredentialName, "start" | "end">;
}

const PASSWORD = { kind: "password" } as const;
const CARD_CODE = { kind: "card code" } as const;
const FOREIGN = { kind: "password", isForeign: true } as const;
const sticky = (source: string) => new RegExp(source, "iy");
/** The beginning of a word, also in camel case: `dbPassword` is caught by the word itself. */
const NO_WORD = /(?:^|[^a-z])$/i;

/** "X_KEY", "stripeKey": any word but those that say that it is no secret. */
const GENERIC_KEY =
  /(?<!(?:public|primary|foreign|cache|sort|partition|idempotency|row|index|object|group|map|dict|translation|unique|event|lookup|storage|sub|site)[_-]?)(?<=[a-z0-9][_-])$/i;

/** "my openai key". */
const SAID_KEY =
  /(?<!(?:public|primary|foreign|cache|sort|partition|row|index|object|storage|s3) )(?:^|[^\w-])$/i;

/** A shape that no word of a language has. */
const MIXED = "\\S{0,40}?(?:[a-z]\\d{1,9}[a-z]|\\d[!@#$%^&*]|[!@#$%^&*]\\S{0,20}\\d)";

/** A prefix such as `DB_` or `staging` does not matter. */
const FORMS: Readonly<Record<string, readonly Form[]>> = {
  pas: [
    { behind: sticky(`pass(?:wort|ord)(?:e[st]?)?(?![a-z])`), name: FOREIGN },
    {
      behind: sticky(`passe(?![a-z])`),
      before: /(?:mot de |mot-de-|motde|mots de )$/i,
      name: FOREIGN,
    },
    { behind: sticky(`pass(?:word|wd|phrase|code)${END}`), name: { ...PASSWORD, isPhrase: true } },
    { behind: sticky("pass(?![a-z])"), before: /[_-]$/, name: PASSWORD },
    { behind: sticky("pass(?=[\"']?\\s?[:=])(?!: ?Test)"), before: NO_WORD, name: PASSWORD },
    { behind: /PASS(?==)/y, before: /[A-Z]$/, name: PASSWORD },
    { behind: sticky("pass(?=\\s)"), before: /(?:^|[^a-z])require$/i, name: PASSWORD },
    {
      behind: sticky(`pass(?=\\s["']?${MIXED})`),
      before: /(?:@[\w.-]{1,20}|user\s\S{1,14})[, ]{1,3}$|[(/,]\s?$/i,
      name: PASSWORD,
    },
    {
      behind: sticky("pass(?=[ \\t|]{0,20}(?:$|[\\n\\r,;|\\t]))"),
      before: /[,;|\t][ \t]{0,9}$/,
      name: PASSWORD,
    },
    { behind: sticky(`pasw(?:or|ro|r)d${END}`), name: { ...PASSWORD, isPhrase: true } },
  ],
  pwd: [{ behind: sticky(`pwd${END}`), name: PASSWORD }],
  psw: [{ behind: sticky(`psw(?:d|rd)?${END}`), name: PASSWORD }],
  "pw ": [
    { behind: sticky("pw(?=\\s(?:is|on|for|of|at|in|was)\\b)"), before: NO_WORD, name: PASSWORD },
    { behind: sticky(`pw(?=\\s["']?${MIXED})`), before: /[(/,]\s?$/, name: PASSWORD },
    { behind: sticky("pw(?=\\s(?:[:=]|->|=>|→)\\s?\\S)"), before: NO_WORD, name: PASSWORD },
    {
      behind: sticky("pw(?=\\s\\S{6})"),
      before: /(?:user(?:name)?|usr|login|account)[ :]{1,2}\S{1,14}[ ,/]{1,3}$/i,
      name: PASSWORD,
    },
  ],
  psk: [{ behind: sticky(`psk${END}`), before: NO_WORD, name: PASSWORD }],
  "pw:": [{ behind: sticky("pw(?=\\s?[:=])"), before: NO_WORD, name: PASSWORD }],
  "pw=": [{ behind: sticky("pw(?=\\s?[:=])"), before: NO_WORD, name: PASSWORD }],
  _pw: [{ behind: sticky(`_pw${END}`), name: PASSWORD }],
  _pa: [{ behind: sticky(`_pat(?![a-z])${SUFFIX}`), name: { kind: "token", isStrict: true } }],
  mas: [{ behind: sticky("masterauth(?=\\s)"), name: PASSWORD }],
  key: [
    {
      behind: sticky(`keys?(?:[_-]?base)?(?![a-z])${SUFFIX}`),
      before:
        /(?:api|access|account|auth|client|consumer|(?:en|de)cryption|validation|license|master|private|preshared|secret|service|shared|signing|storage|subscription|application)[_ -]?(?:access[_ -]?)?$/i,
      name: { kind: "key" },
    },
    { behind: sticky("key(?: \\d{1,2})?(?=:)"), before: /unseal $/i, name: { kind: "key" } },
    { behind: sticky(`key${END}`), before: GENERIC_KEY, name: { kind: "key", isStrict: true } },
    {
      behind: sticky(
        `key(?=(?::? (?:is|was) |[:=] ?)["'\`]?\\S{0,40}\\d[a-z]{1,9}\\d{1,9}[a-z]{1,9}\\d)`,
      ),
      before: SAID_KEY,
      name: { kind: "key", isStrict: true },
    },
    { behind: sticky("key(?=[\"'] ?=> ?[\"']base64:)"), name: { kind: "key", isStrict: true } },
  ],
  sal: [
    { behind: sticky("salasana(?![a-z])"), name: FOREIGN },
    { behind: sticky(`salt${END}`), before: /[_-]$/, name: { kind: "key", isStrict: true } },
  ],
  sec: [
    { behind: sticky(`secret${END}`), before: /(?<!existing_?)$/i, name: { kind: "secret" } },
    { behind: sticky("security code(?![\\w-])"), before: NO_WORD, name: CARD_CODE },
  ],
  cvv: [{ behind: sticky("cvv2?(?![a-z])"), before: NO_WORD, name: CARD_CODE }],
  cvc: [{ behind: sticky("cvc2?(?![a-z])"), before: NO_WORD, name: CARD_CODE }],
  tok: [{ behind: sticky(`token(?!s)(?![a-z])${SUFFIX}`), name: { kind: "token" } }],
  cre: [
    { behind: sticky("creds?(?![a-z])"), before: NO_WORD, name: { kind: "login" } },
    { behind: sticky(`credential${END}`), name: { kind: "secret" } },
  ],
  ide: [
    { behind: sticky("identified by(?: password)?"), name: { kind: "secret" } },
    { behind: sticky("identitytoken"), name: { kind: "token" } },
  ],
  rec: [
    {
      behind: sticky(`recovery[_ -]?(?:code|phrase|key|words?)${END}`),
      name: { kind: "secret", isPhrase: true },
    },
  ],
  see: [
    {
      behind: sticky(`seed(?:[_ -]?(?:phrase|words?))?${END}`),
      name: { kind: "secret", isPhrase: true },
    },
  ],
  mne: [
    {
      behind: sticky(`mnemonic(?:[_ -]?(?:phrase|words?))?${END}`),
      name: { kind: "secret", isPhrase: true },
    },
  ],
  wal: [
    {
      behind: sticky("wallet(?: (?:phrase|words|seed))?(?![a-z])"),
      name: { kind: "secret", isPhrase: true, isStrict: true },
    },
  ],
  bac: [
    {
      behind: sticky(`backup[_ -]?(?:code|phrase|key)${END}`),
      name: { kind: "secret", isPhrase: true },
    },
  ],
  aut: [
    {
      behind: sticky("auth(?:ident)?(?=\\\\{0,3}[\"']?\\s{0,3}[:=])"),
      before: /[^a-z]$|npm$/i,
      name: { kind: "login" },
    },
  ],
  log: [{ behind: sticky("login(?:s|data)?(?![\\w-])"), before: NO_WORD, name: { kind: "login" } }],
  pin: [
    {
      behind: sticky("pin(?:[ -]?(?:code|nummer))?(?![\\w-])"),
      before: NO_WORD,
      name: { kind: "pin" },
    },
  ],
  ken: [{ behind: sticky("kennw(?:ort|örter)(?:e?s)?(?![a-z])"), name: FOREIGN }],
  con: [{ behind: sticky("contrase(?:ñ|ny?)as?(?![a-z])"), name: FOREIGN }],
  mdp: [{ behind: sticky("mdp(?![a-z])"), before: NO_WORD, name: FOREIGN }],
  wif: [{ behind: sticky("wifi(?![\\w-]|:[a-z]:)"), before: NO_WORD, name: { kind: "login" } }],
  lal: [{ behind: sticky("laluan(?![a-z])"), before: /kata $/i, name: FOREIGN }],
  รหั: [{ behind: /รหัสผ่าน/y, name: FOREIGN }],
  رمز: [{ behind: /رمز(?: عبور)?/y, name: FOREIGN }],
  گذر: [{ behind: /گذرواژه/y, name: FOREIGN }],
  پاس: [{ behind: /پاس ?ورڈ/y, name: FOREIGN }],
  পাস: [{ behind: /পাসওয়ার্ড|পাসওয়ার্ড/y, name: FOREIGN }],
  கடவ: [{ behind: /கடவுச்சொல்/y, name: FOREIGN }],
  პარ: [{ behind: /პაროლი?/y, name: FOREIGN }],
  գաղ: [{ behind: /գաղտնաբառ[ըն]?/y, name: FOREIGN }],
  비번: [{ behind: /비번/y, name: FOREIGN }],
  sla: [{ behind: /slaptažod(?:is|į)/iy, name: FOREIGN }],
  lyk: [{ behind: /lykilorð(?:ið)?/iy, name: FOREIGN }],
  fja: [{ behind: /fjalëkalimi?/iy, name: FOREIGN }],
  nen: [{ behind: sticky("nenosiri(?![a-z])"), name: FOREIGN }],
  wag: [{ behind: sticky("wagwoord(?![a-z])"), name: FOREIGN }],
  ala: [{ behind: sticky("alarm code(?![\\w-])"), name: { kind: "pin" } }],
  doo: [{ behind: sticky("door code(?![\\w-])"), name: { kind: "pin" } }],
  gat: [{ behind: sticky("gate code(?![\\w-])"), name: { kind: "pin" } }],
  tim: [
    { behind: sticky("time (?:pass)?code(?![\\w-])"), before: /one[- ]$/i, name: { kind: "pin" } },
  ],
  otp: [{ behind: sticky("otp(?![\\w-])"), before: NO_WORD, name: { kind: "pin" } }],
  cla: [{ behind: sticky("clave(?![a-z])"), before: NO_WORD, name: FOREIGN }],
  sen: [{ behind: sticky("senhas?(?![a-z])"), before: NO_WORD, name: FOREIGN }],
  wac: [{ behind: sticky("wachtwoord(?:en)?(?![a-z])"), name: FOREIGN }],
  has: [{ behind: sticky("has(?:ł|l)[oa](?![a-z])"), before: NO_WORD, name: FOREIGN }],
  lös: [{ behind: sticky("lösenord(?:et)?(?![a-z])"), name: FOREIGN }],
  hes: [{ behind: sticky("hesl[oa](?![a-z])"), before: NO_WORD, name: FOREIGN }],
  şif: [{ behind: sticky("şifr[eə](?:m|si|niz|n)?(?![a-zə])"), name: FOREIGN }],
  sif: [{ behind: sticky("sifre(?![a-z])"), before: NO_WORD, name: FOREIGN }],
  par: [
    {
      behind: sticky("par(?:ola|ool|ole)(?: d['’]ordine)?(?![a-z])"),
      before: NO_WORD,
      name: FOREIGN,
    },
  ],
  пар: [{ behind: /парол[а-я]{0,4}/iy, name: FOREIGN }],
  sch: [{ behind: sticky("schlüssel(?![a-zäöü])"), name: FOREIGN }],
  κωδ: [{ behind: /κωδικ[όο]ς?(?: πρόσβασης)?/iy, name: FOREIGN }],
  khẩ: [{ behind: /khẩu/iy, before: /mật $/i, name: FOREIGN }],
  san: [{ behind: sticky("sandi(?:nya)?(?![a-z])"), before: /kata $/i, name: FOREIGN }],
  jel: [{ behind: sticky("jelsz(?:ó|o)(?![a-z])"), name: FOREIGN }],
  adg: [{ behind: sticky("adgangskoden?(?![a-z])"), name: FOREIGN }],
  loz: [{ behind: sticky("lozink[ae](?![a-z])"), name: FOREIGN }],
  ges: [{ behind: sticky("geslo(?![a-z])"), before: NO_WORD, name: FOREIGN }],
  密码: [{ behind: /密码/y, name: FOREIGN }],
  密碼: [{ behind: /密碼/y, name: FOREIGN }],
  口令: [{ behind: /口令/y, name: FOREIGN }],
  パス: [{ behind: /パスワード/y, name: FOREIGN }],
  비밀: [{ behind: /비밀번호/y, name: FOREIGN }],
  암호: [{ behind: /암호/y, name: FOREIGN }],
  كلم: [{ behind: /كلمة (?:المرور|السر)/y, name: FOREIGN }],
  סיס: [{ behind: /סיסמ[הא]/y, name: FOREIGN }],
  पास: [{ behind: /पासवर्ड/y, name: FOREIGN }],
};

/** The name at a place, or undefined when the word there is no name. */
export function nameAt(text: string, place: number): CredentialName | undefined {
  const letters = text.slice(place, place + 3).toLowerCase();
  const forms = BY_LETTERS.get(letters) ?? BY_LETTERS.get(letters.slice(0, 2));
  if (!forms) return undefined;
  let before: string | undefined;
  for (const form of forms) {
    const match = matchAt(form.behind, text, place);
    if (!match) continue;
    if (form.before) {
      before ??= text.slice(Math.max(0, place - 24), place);
      if (!form.before.test(before)) continue;
    }
    return { ...form.name, start: place, end: place + match[0].length };
  }
  return undefined;
}

const BY_LETTERS = new Map(Object.entries(FORMS));

/** The name of a credential, or a part of it. */
export const NAME = 1;
/** A program that takes a password as an argument. */
const PROGRAM = 2;
export const SIGNATURE = 4;
export const AUTHORIZATION = 8;
export const BEARER = 16;
export const COOKIE = 32;
export const HOOK = 64;
/** A function that takes a password among its arguments. */
export const CALL = 128;
/** The places of these are kept. */
const PLACED = NAME | PROGRAM;

const WORDS: Readonly<Record<string, number>> = {
  ...ofKind(NAME, "pass pwd psw psk key secret token identified recovery seed mnemonic"),
  ...ofKind(NAME, "salt pin pw: pw= pw_ _pw _pat wallet dsn backup masterauth otp pasw"),
  ...ofKind(
    NAME,
    "mdp,creds,pw ,alarm code,door code,gate code,time code,security code,cvv,cvc",
    ",",
  ),
  ...ofKind(NAME | CALL, "auth login credential wifi"),
  // Passwords in other languages.
  ...ofKind(NAME, "kennwort contrase clave senha wachtwoord hasł haslo lösenord heslo şifre Şifre"),
  ...ofKind(
    NAME,
    "sifre parola парол schlüssel 密码 密碼 口令 パスワード 비밀번호 암호 كلمة סיסמ पासवर्ड",
  ),
  ...ofKind(
    NAME,
    "κωδικ khẩu sandi salasana jelsz adgangskode lozinka geslo laluan পাস รหัสผ่าน رمز گذر",
  ),
  ...ofKind(
    NAME,
    "비번 slaptažod parool parole lykilorð fjalëkalim nenosiri wagwoord şifrə پاس கடவுச் პაროლ գաղտն",
  ),
  ...ofKind(PROGRAM, "curl wget mysql mariadb sshpass docker podman nerdctl helm mongo redis-cli"),
  ...ofKind(PROGRAM, "smbclient ldap openssl 7z zip htpasswd keytool chpasswd rabbitmqctl sqlcmd"),
  ...ofKind(PROGRAM, "freerdp ssh-keygen cmdkey lftp sudo twine skopeo mosquitto_ wpa_passphrase"),
  ...ofKind(PROGRAM, "securestring sqlplus crane oras http snmp"),
  ...ofKind(
    PROGRAM,
    "psexec schtasks kubeadm rar pdftk rclone keyvault put-parameter secretsmanager nickserv",
  ),
  ...ofKind(
    PROGRAM,
    "rootpw bindpw community createuser tacacs radius- isakmp http-basic passwd cryptsetup kinit rpcclient",
  ),
  ...ofKind(CALL, "connect( connection( pdo( mysqli( .sign( hmac( database("),
  ...ofKind(
    PROGRAM,
    "cargo login,shodan init,ngrok auth,bw login,bw unlock,security add-,mc alias",
    ",",
  ),
  ...ofKind(
    PROGRAM,
    "bundle config,enable password,enable secret,net rpc,net ads,secret create",
    ",",
  ),
  ...ofKind(PROGRAM, "gcloud secrets,gh secret", ","),
  // `net use` and `net user`
  "net us": PROGRAM,
  sig: SIGNATURE,
  "az login": PROGRAM,
  "oc login": PROGRAM,
  "cf login": PROGRAM,
  authorization: AUTHORIZATION,
  bearer: BEARER,
  cookie: COOKIE,
  session: COOKIE,
  sessid: COOKIE,
  "connect.sid": COOKIE,
  hook: HOOK,
  ifttt: HOOK,
  workflows: HOOK,
};

function ofKind(kind: number, words: string, between = " "): Record<string, number> {
  return Object.fromEntries(words.split(between).map((word) => [word, kind]));
}

/** The result of `identifyingWords`. */
interface WordsFound {
  /** The kinds of all words, a bit for each. */
  readonly kinds: number;
  /** Where names begin, in order. */
  readonly names: readonly number[];
  /** Where programs begin, in order. */
  readonly programs: readonly number[];
}

/**
 * Finds these words in a text, in any case and also inside longer words. Most texts have few of them, and one look for all
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
  readonly codes: Uint16Array;
  readonly kind: number;
}

/** Words by their first three characters as one number. The five bits of a letter are the same in both cases. */
const WORDS_BY_START: (Word[] | undefined)[] = new Array(0x8000).fill(undefined);
const KINDS_BY_START = new Uint16Array(0x8000);
for (const [text, kind] of Object.entries(WORDS)) {
  const codes = codesOf(text);
  const word = { text: text.toLowerCase(), codes, kind };
  for (const start of startsOf(codes)) {
    KINDS_BY_START[start] = (KINDS_BY_START[start] ?? 0) | kind;
    WORDS_BY_START[start] = [...(WORDS_BY_START[start] ?? []), word];
  }
}

/** A word of two characters may go on with anything. */
function startsOf([first = 0, second = 0, third]: Uint16Array): readonly number[] {
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
