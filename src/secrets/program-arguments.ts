import { matchAt } from "../text/character-kinds.ts";
import { isKeyLike } from "./addresses.ts";
import { type FoundSecret, isPlaceholder, isRandom } from "./secret-values.ts";

/** Where a program takes a password: the last group of a pattern is it. */
interface Arguments {
  /** The text at the place of the program's word, and the text that must follow on its line. */
  readonly program: RegExp;
  readonly passwords: readonly RegExp[];
}

/** A value, in quotes or up to a space. */
const VALUE = "(?:\"([^\"\\n]{3,200})\"?|'([^'\\n]{3,200})'?|([^\\s\"'`|;&<>()]{3,200}))";
const argument = (flag: string) => new RegExp(`\\s${flag}${VALUE}`);
/** `user:password`, also in quotes. */
const PAIR =
  /\s(?:-u|-U|--(?:proxy-)?user|--(?:src-|dest-)?creds|--auth|-a)[ =]{0,2}(?:"[^":\n]{0,60}:([^"\n]{3,200})"?|'[^':\n]{0,60}:([^'\n]{3,200})'?|[\w.@+-]{0,60}:([^\s"'`]{3,200}))/;
const ALONE = /\s(?:-u|--user)[ =]{0,2}["']?([\w.-]{16,200})(?=:?(?:["'`\\\s]|$))/;
const SPACED = "-p[ =]\\s{0,3}";

const PROGRAMS: readonly Arguments[] = [
  { program: /(?:curl|https?|wget|skopeo|crane|oras)\s/iy, passwords: [PAIR, ALONE] },
  {
    // This program takes no space there. `-P` is the port, and `-p3306:3306` one of a container.
    program:
      /(?:mysql(?:dump|admin|import|show|check|pump|sh)?|mariadb(?:-dump|-admin|-import)?)\s/iy,
    passwords: [
      argument("password "),
      /\s-p(?!(?:[\d.]+:)?\d+:\d+)(?:"([^"\n]{3,200})"?|'([^'\n]{3,200})'?|([^\s"'|;&]{3,200}))/,
    ],
  },
  { program: /sshpass\s/iy, passwords: [argument("-p\\s{0,3}")] },
  {
    program:
      /(?:(?:docker|podman|nerdctl|helm(?: registry)?|oras|crane)(?: auth)? login|mongo(?:sh|dump|restore|export|import|stat|top)?|twine)\s/iy,
    passwords: [argument(SPACED)],
  },
  { program: /(?:az|oc|cf) login\s/iy, passwords: [argument(SPACED)] },
  { program: /mosquitto_\w{3}\s/iy, passwords: [argument("-P[ =]")] },
  { program: /redis-cli\s/iy, passwords: [argument("-a ")] },
  {
    program: /(?:smbclient|rpcclient|net (?:rpc|ads))\s/iy,
    passwords: [/\s-U[ =]{0,2}["']?[\w.\\/@-]{1,60}%([^\s"']{3,200})/],
  },
  {
    program: /ldap(?:search|add|modify|delete|whoami|passwd)\s/iy,
    passwords: [argument("-[ws] ")],
  },
  {
    program: /openssl\s/iy,
    passwords: [argument("-(?:k|K|passin pass:|passout pass:|pass pass:) ?")],
  },
  { program: /7z[arx]?\s/iy, passwords: [argument("-p")] },
  { program: /zip\s/iy, passwords: [argument("-P ?")] },
  {
    program: /htpasswd\s/iy,
    passwords: [
      /\s-\w{0,4}b\w{0,4}\s(?:\S{1,200}\s)?\S{1,60}\s["']?([^\s"'|;&-][^\s"'|;&]{2,200})/,
    ],
  },
  { program: /keytool\s/iy, passwords: [argument("-storepass "), argument("-keypass ")] },
  {
    program: /rabbitmqctl\s/iy,
    passwords: [
      new RegExp(`\\s(?:add_user|change_password|authenticate_user)\\s\\S{1,60}\\s${VALUE}`),
    ],
  },
  { program: /sqlcmd\s/iy, passwords: [argument("-P ?")] },
  { program: /freerdp\s/iy, passwords: [argument("/p:")] },
  { program: /ssh-keygen\s/iy, passwords: [argument("-[NP] ")] },
  { program: /cmdkey\s/iy, passwords: [argument("/pass(?:word)?:")] },
  { program: /lftp\s/iy, passwords: [/\s(?:-u|--user)[ =][\w.@-]{1,60},([^\s"']{3,200})/] },
  {
    program: /wpa_passphrase\s/iy,
    passwords: [new RegExp(`\\s(?:"[^"\\n]{1,40}"|'[^'\\n]{1,40}'|\\S{1,40})\\s${VALUE}`)],
  },
  {
    program: /net us(?:e|er)\s/iy,
    passwords: [
      /\s(?:\\\\\S{1,100}|[a-z]: \\\\\S{1,100}|[\w.-]{1,40})\s([^\s\\/"'*-][^\s"']{3,100})(?=\s\/)/i,
    ],
  },
  {
    program: /securestring\s/iy,
    passwords: [/\s(?:-String\s)?(?:"([^"\n]{3,200})"|'([^'\n]{3,200})')/i],
  },
  { program: /psexec\S{0,9}\s/iy, passwords: [argument("-p ")] },
  { program: /schtasks\S{0,9}\s/iy, passwords: [argument("/rp ")] },
  { program: /kubeadm\s/iy, passwords: [argument("--token[ =]")] },
  { program: /rar\s/iy, passwords: [argument("-h?p")] },
  { program: /pdftk\s/iy, passwords: [argument("user_pw "), argument("owner_pw ")] },
  {
    program: /(?:cargo login|shodan init|ngrok authtoken|bw unlock)\s/iy,
    passwords: [
      argument("(?:login|init|authtoken|unlock) "),
      new RegExp(`^(?:cargo login|shodan init|ngrok authtoken|bw unlock) ${VALUE}`, "i"),
    ],
  },
  { program: /bw login\s/iy, passwords: [new RegExp(`^bw login \\S{1,60} ${VALUE}`, "i")] },
  { program: /security add-/iy, passwords: [argument("-w ")] },
  {
    program: /mc alias set\s/iy,
    passwords: [new RegExp(`^mc alias set \\S{1,60} \\S{1,200} \\S{1,100} ${VALUE}`, "i")],
  },
  {
    program: /http-basic\.\S{1,100}\s/iy,
    passwords: [new RegExp(`^\\S{1,120} \\S{1,60} ${VALUE}`)],
  },
  {
    program: /bundle config\s/iy,
    passwords: [/\s[\w.-]{1,60}\.[a-z]{2,10} [\w.@-]{1,60}:([^\s"']{4,200})/],
  },
  { program: /rclone config\s/iy, passwords: [argument("pass(?:word)?[ =]")] },
  { program: /keyvault secret set\s/iy, passwords: [argument("--value[ =]")] },
  {
    program: /put-parameter\s(?=[^\n]{0,300}SecureString)/iy,
    passwords: [argument("--value[ =]")],
  },
  { program: /secretsmanager\s/iy, passwords: [argument("--secret-string[ =](?![\"']?\\{)")] },
  { program: /nickserv\s/iy, passwords: [/\sidentify\s(?:\S{1,40}\s)?([^\s"'<>]{4,100})/i] },
  // Lines of files of settings, which have no sign between a name and its value.
  {
    program: /rootpw\s/iy,
    passwords: [/^rootpw\s(?:--(?:plaintext|iscrypted)\s)?([^\s-][^\s]{3,200})\s*$/],
  },
  { program: /bindpw\s/iy, passwords: [/^bindpw\s{1,20}([^\s]{4,200})\s*$/] },
  {
    program: /passwd\/(?:root|user)-password\spassword\s/iy,
    passwords: [/\spassword\s([^\s]{4,200})/],
  },
  {
    program: /community\s/iy,
    passwords: [
      /\s(?!public\b|private\b|string\b)(?=\S*\d)([^\s,.;:()]{6,60})(?=\s(?:RO|RW|view)\b|\s*(?:["'\\]|$))/,
    ],
  },
  {
    program: /createUser\s/iy,
    passwords: [
      /\s(?:SHA|MD5)\S{0,4}\s"?([^\s"]{8,100})/,
      /\s(?:AES|DES)\S{0,4}\s"?([^\s"]{8,100})/,
    ],
  },
  { program: /(?:tacacs|radius)-server\s/iy, passwords: [/\skey\s(?:\d\s)?([^\s]{6,100})/] },
  {
    program: /isakmp key\s/iy,
    passwords: [/\skey\s(?:\d\s)?([^\s]{6,100})\s(?:address|hostname)\b/],
  },
  {
    program: /enable (?:password|secret)\s/iy,
    passwords: [/\s(?:password|secret)\s(?:\d\s|level \d{1,2} )?(?=\S*\d)([^\s]{6,100})/],
  },
  {
    program: /snmp(?:walk|(?:bulk)?get(?:next)?|bulkwalk|set|table|trap|df|netstat)\s/iy,
    passwords: [argument("-c ?(?!public\\b|private\\b)"), argument("-A ?"), argument("-X ?")],
  },
  { program: /gh secret set\s/iy, passwords: [argument("(?:-b|--body)[ =]")] },
  { program: /sqlplus\s/iy, passwords: [/\s[\w.-]{1,40}\/([^\s@/"']{3,100})(?=[@\s]|$)/] },
];

/** Programs that read a secret from their input: `echo "ada:…" | chpasswd`. */
const FED =
  /(?:echo|printf)\s(?:-\w\s)?(?:["']?(?:[\w.-]{1,40}:)?([^\s"':|]{4,200})["']?)\s{0,3}\|\s{0,3}(?:sudo\s)?(?:chpasswd|sudo\s{1,3}-\w{0,3}S|(?:docker|podman) (?:login|secret)|passwd --stdin|smbpasswd|cryptsetup|kinit|gcloud secrets|gh secret)\b/g;

const LINE_MAX = 500;

/** Finds the passwords that programs take on their command line. `places` are where their names are. */
export function addFromPrograms(
  text: string,
  places: readonly number[],
  found: FoundSecret[],
): void {
  let done = 0;
  for (const place of places) {
    // One line is looked at a few times at most, whatever it repeats.
    if (place < done) continue;
    const called = PROGRAMS.find(({ program }) => matchAt(program, text, place) !== null);
    if (!called) continue;
    const line = /^[^\n]*/.exec(text.slice(place, place + LINE_MAX))?.[0] ?? "";
    for (const password of called.passwords) addArgument(line, password, place, found);
    done = place + Math.min(line.length, 60);
  }
  if (text.includes("|")) {
    FED.lastIndex = 0;
    for (let match = FED.exec(text); match; match = FED.exec(text)) add(match, 0, found);
  }
}

function addArgument(line: string, password: RegExp, place: number, found: FoundSecret[]): void {
  const match = password.exec(line);
  if (!match) return;
  if (password === ALONE && !isKeyLike(match[1] ?? "") && !isRandom(match[1] ?? "")) return;
  add(match, place, found);
}

function add(match: RegExpExecArray, place: number, found: FoundSecret[]): void {
  const value = match.slice(1).find((part) => part !== undefined) ?? "";
  if (isPlaceholder(value) || /^(?:[\d.]+:)?\d+(?::\d+)?$|^[-/]|^\\?$/.test(value)) return;
  const start = place + match.index + match[0].lastIndexOf(value);
  found.push({ kind: "password", start, end: start + value.length });
}
