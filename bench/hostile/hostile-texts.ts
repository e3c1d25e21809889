import { parse } from "smol-toml";
import { policyOf } from "../../src/agent/tool-policy.ts";
import { printable } from "../../src/cli/render/printable.ts";
import { renderCall } from "../../src/cli/render/render-call.ts";
import { PLAIN } from "../../src/cli/render/style.ts";
import { parseJsonText } from "../../src/coding-agents/json-text.ts";
import { anchorsIn } from "../../src/compaction/anchors.ts";
import { contentWords, namesIn } from "../../src/compaction/content-words.ts";
import { looksLikeError, worthlessness } from "../../src/compaction/worthless-text.ts";
import { ForgottenPhrases } from "../../src/forgetting/forgotten-phrases.ts";
import { inOneLine, quotable } from "../../src/handoff/handoff-source.ts";
import { indexedPassages } from "../../src/indexing/passages/indexed-passages.ts";
import { readQuestion } from "../../src/indexing/score/question.ts";
import { words } from "../../src/indexing/words/words.ts";
import { statementOf } from "../../src/knowledge/contradicts.ts";
import { preferencesIn } from "../../src/knowledge/lasting-wishes.ts";
import { isTrivial } from "../../src/knowledge/learned-entries.ts";
import { withoutVolatile } from "../../src/knowledge/without-volatile.ts";
import { providerFailure } from "../../src/models/provider-failure.ts";
import { findSecrets } from "../../src/secrets/redact-secrets.ts";
import { passage } from "../../src/stores/history/search-history.ts";
import { indexedText, searchWords, wordsOf } from "../../src/stores/history/search-words.ts";
import { brokenLimit } from "../../src/surfaces/http/body-reader.ts";
import { unclosable } from "../../src/text/quoting.ts";
import { textWeight } from "../../src/text/text-weight.ts";
import { visibleText } from "../../src/text/visible-text.ts";
import { promptText } from "../../src/transcripts/claude-code/prompt-text.ts";
import { promptInCodex } from "../../src/transcripts/codex/codex-lines.ts";
import { promptInGemini } from "../../src/transcripts/gemini-format.ts";
import { promptInPi } from "../../src/transcripts/pi-format.ts";
import { below, oneOf, type Random, randomFrom } from "../data/random.ts";

/** A reader of texts by others, and what to make its hostile texts of. */
interface HostileKind {
  readonly read: (text: string) => unknown;
  readonly pieces: HostilePieces;
  /** Whether it remembers the words that it has read. It is also timed on texts that are new at each reading. */
  readonly remembers?: true;
}

const SIGNS = [...'a A 1 _ - . / : @ + = , ~ " ` ( \\ é'.split(" "), " ", "\n"];
const PROSE = [..."a A e 1 . ? ! , ' - é 東 🎉".split(" "), " ", "\n"];
const HISTORY = ["getUser", "a_b-c", "it's", "aÉ", "東京", "ก", "1,000"];
const ASKED = searchWords("Which user gets the name 東京 of a b c?");
const forgotten = new ForgottenPhrases(["the number of the account at the bank is nine four two"]);

/** Everything with a pattern that reads what a model, a tool, a file or another user wrote. */
export const HOSTILE_TEXTS: Readonly<Record<string, HostileKind>> = {
  anchors: {
    read: anchorsIn,
    pieces: {
      openers: [
        ..."a+ a@b a@b. /a ~/a a/b/ @a/b http:// http://a:b@ C:\\ a.js a.tsx/ ECONN E1 0x SIGA AError".split(
          " ",
        ),
        ..."deadbeef- 0a a:: --a a_ aB AbC AB-1 a-v1 a.b a() v1. #1 1.1.1.1 `a 1:2 $1 1, 1% €1 1.2 12345".split(
          " ",
        ),
        ...["error 5", "exit code ", "2024-01-01T", "1 token", "C:\\a "],
      ],
      fillers: SIGNS,
    },
  },
  secrets: {
    read: findSecrets,
    pieces: {
      openers: [
        ...'password password= token= api_key" ://a: https://a:b@ ?token= &sig= sk- sk-ant- AKIA ghp_ xoxb-'.split(
          " ",
        ),
        ..."eyJ AccountKey= hooks.slack.com/services/ 1234567890:AA SG.aaaa. a-us1 <password> M key _pass Q~".split(
          " ",
        ),
        ...[
          "password: ",
          "token token",
          "secret is ",
          "--password ",
          "login a password ",
          "curl -u ",
        ],
        ...["Authorization: Bearer ", "bearer ", "x-api-key: ", "cookie: a=", "seed phrase: "],
        ...[
          "-----BEGIN ",
          "-----BEGIN PRIVATE KEY-----\n",
          "[redacted password]",
          "identified by '",
        ],
        ..."$6$ {SSHA} a:5432:b:c: LS0tLS1CRUdJTi Private-Lines:1 @a.b:5432/ 5Kabc xprv _live_ ?key= auth=".split(
          " ",
        ),
        ...[
          "PIN is ",
          "Login: a / ",
          "mật khẩu: ",
          "密码是",
          "пароль ",
          "mot de passe de a",
          "a as the password",
        ],
        ...[
          "| a | password |\n",
          "user,password\na,",
          "(a, password) values ('a', '",
          "kind: Secret\ndata:\n a: ",
        ],
        ...[
          "docker login -p ",
          "curl -u a:",
          "echo a | sudo -S",
          "password for a b ",
          'password" value="',
        ],
        ...[
          "legal winner thank year ",
          "1. legal 2. winner 3. ",
          "> password: a\n> ",
          "// password",
          '\\"password\\": \\"',
        ],
        ...[
          "-----END PRIVATE KEY-----",
          "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----",
          '"password", "',
          "\\n\\t",
          "&quot;",
        ],
      ],
      fillers: SIGNS,
    },
  },
  names: {
    read: (text) => [contentWords(text), namesIn(text)],
    pieces: { openers: ["a A", "a Ada", ", Ada", "東京", "1 ", "Ada Ada"], fillers: PROSE },
  },
  words: {
    read: words,
    remembers: true,
    pieces: {
      openers: ["a.", "a'", "getUser", "HTTPServer", "1,000", "it's", "a_b-c", "aÉ", "a🎉"],
      fillers: PROSE,
    },
  },
  questions: {
    // Another question comes after each, because the last one is kept.
    read: (text) => [readQuestion(text), readQuestion("")],
    remembers: true,
    pieces: {
      openers: ["when ", "you a ", "A ", "a A", "in may ", "2024-01-", "two days ", "last "],
      fillers: PROSE,
    },
  },
  passages: {
    read: (content) => indexedPassages({ content }),
    remembers: true,
    pieces: {
      openers: ["?", "a?", "a. ", "。", "?1", "A", "getUser", "1,000", "a_b-c", "it's"],
      fillers: PROSE,
    },
  },
  summaries: {
    read: (text) => [worthlessness(text, text, text), looksLikeError(text)],
    pieces: {
      openers: ["error(", "fatal [", "sorry ", "I cannot ", '{"error', "no text"],
      fillers: PROSE,
    },
  },
  wishes: {
    read: (text) => [preferencesIn(text), statementOf(text).no],
    pieces: {
      openers: ["always ", "do not ", "use a over ", "<a ", "</a>", ">", "```", "- ", "a:\n"],
      fillers: PROSE,
    },
  },
  results: {
    read: (text) => [withoutVolatile(text), isTrivial(text)],
    pieces: {
      openers: [
        "\u001b[",
        "0a0a0a0",
        "2024-01-01t1",
        "1.1",
        "done ",
        "the file ",
        "drwxr-xr-x ",
        "mon",
      ],
      fillers: PROSE,
    },
  },
  "provider errors": {
    read: (text) => providerFailure(new Error(text), { id: "a/b" }),
    pieces: {
      openers: [
        "sk-",
        "key_",
        "AIza",
        "bearer ",
        "://a",
        "input token count ",
        "n_keep ",
        "n_ctx",
        "exceeds ",
        "context window ",
        "exceeds the limit",
      ],
      fillers: SIGNS,
    },
  },
  "forgotten texts": {
    read: (text) => forgotten.removeFrom(text, "part"),
    pieces: { openers: ["\\", "\\n", "the number of the ", "account", "東"], fillers: PROSE },
  },
  policies: {
    read: (text) =>
      policyOf({ name: text, builtin: false }, { "*a*a*a*a*b": "deny", "a*1*_*!": "ask" }),
    pieces: { openers: ["a", "aa_", "a1_", "ab"], fillers: SIGNS },
  },
  records: {
    read: (text) => unclosable("record", text),
    pieces: {
      openers: ["<", "</", "</ ", "</record", "< /rec", "＜"],
      fillers: [" ", "\u200b", "/", "r", "<", "a"],
    },
  },
  "token weights": {
    read: textWeight,
    pieces: { openers: ["getUser", "HTTP2", "0a1B", "=====", "東京", "a  "], fillers: PROSE },
  },
  "visible texts": {
    read: visibleText,
    pieces: { openers: ["\u202e", "\u200b", "\u0301", "\ufeff", "a\u00ad"], fillers: PROSE },
  },
  "quotes in a handoff": {
    read: (text) => [quotable(text), inOneLine(text)],
    pieces: { openers: ["\r\n", "\u2028", "\u0085", "> ", "```", "\u0007"], fillers: PROSE },
  },
  "words of a history": {
    read: indexedText,
    pieces: { openers: HISTORY, fillers: PROSE },
  },
  "words of a searched event": {
    read: wordsOf,
    pieces: { openers: HISTORY, fillers: PROSE },
  },
  "commented JSON": {
    read: (text) => failing(() => parseJsonText(text)),
    pieces: {
      openers: ["//", "/*", "/* */", '"a":', "[", "{", '{"a":[', '"\\u0041"', "1e5,"],
      fillers: SIGNS,
    },
  },
  "prompts of other programs": {
    read: (text) => [promptText(text), promptInCodex(text), promptInGemini(text), promptInPi(text)],
    pieces: {
      openers: [
        ..."<system-reminder> </system-reminder> <command-name> <command-args> <a_b> </a_b> <user_memory>".split(
          " ",
        ),
        ...'# AGENTS.md |</INSTRUCTIONS>|# Context from my IDE setup:|<skill name="|<file name="a">|</file>'.split(
          "|",
        ),
        "Here is the user's editor context\n```json\n",
        "\n```",
      ],
      fillers: PROSE,
    },
  },
  "passages of a found event": {
    read: (text) => passage(text, ASKED),
    pieces: { openers: ["user", "getUser", "it", "a_b-c", "東", "東京", "ก", "1"], fillers: PROSE },
  },
  "calls that wait for approval": {
    read: (text) => [
      renderCall({ tool: text, args: { command: text } }, PLAIN),
      renderCall(
        { tool: "edit_file", args: { path: "a.ts", old_text: text, new_text: "" } },
        PLAIN,
      ),
    ],
    pieces: {
      openers: ["\r\n", "\u001b[2J", "\u202e", "\n\n", "rm -rf ", "a\u0301"],
      fillers: PROSE,
    },
  },
  "bodies of requests": {
    read: (text) => brokenLimit(Buffer.from(text), { depth: 100_000, values: 100_000 }),
    pieces: { openers: ["[", "{", '"', '\\"', '{"a":', "[[],", '"a",'], fillers: SIGNS },
  },
  settings: {
    read: (text) => failing(() => parse(text)),
    pieces: {
      openers: [
        "a = 1\n",
        "[a]\n",
        "[[a]]\n",
        "a.b = ",
        '"""',
        "'''",
        "a = [",
        "a = {",
        "# ",
        "1979-05-27T",
      ],
      fillers: SIGNS,
    },
  },
  "printed texts": {
    read: printable,
    pieces: { openers: ["\r\n", "\u001b[2J", "\u0007", "\r"], fillers: PROSE },
  },
};

/** Hostile text may be no valid text. That is found out as slowly as the reader can be made to. */
function failing(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    return error;
  }
}

/** What an attacker builds texts from, to make a reader slow. */
export interface HostilePieces {
  /** Beginnings and whole examples of what the reader looks for. */
  readonly openers: readonly string[];
  /** Single characters that its patterns repeat. */
  readonly fillers: readonly string[];
}

/** How an opener and a filler become a unit that is repeated up to the wanted size. */
const SHAPES: readonly ((opener: string, filler: string) => readonly string[])[] = [
  (opener) => [opener],
  (opener, filler) => [opener + filler],
  (_, filler) => [filler],
  (opener) => [`${opener} `],
  // The opener without its last character: a near match.
  (opener, filler) => [opener.slice(0, -1) + filler],
  // A long run behind an opener.
  (opener, filler) => [opener, filler.repeat(5_000)],
  (opener, filler) => [opener + filler.repeat(30)],
  // A long run before an opener.
  (opener, filler) => [filler.repeat(5_000), `${opener}!`],
  (opener, filler) => [`${opener}\n${filler.repeat(7)} `],
  // All openers, and then nothing that closes them.
  (opener, filler) => [opener.repeat(200), filler.repeat(200)],
];

/** `count` texts of `size` characters: three quarters in the shapes above, evenly chosen, and the rest random mixtures. */
export function hostileTexts(pieces: HostilePieces, count: number, size: number): string[] {
  const { openers, fillers } = pieces;
  const units = new Set(
    openers.flatMap((opener) =>
      fillers.flatMap((filler) => SHAPES.map((shape) => shape(opener, filler).join(""))),
    ),
  );
  const all = [...units].filter((unit) => unit !== "");
  const shaped = Math.min(Math.ceil((count * 3) / 4), all.length);
  const step = all.length / shaped;
  const texts = Array.from({ length: shaped }, (_, index) => {
    const unit = all[Math.floor(index * step)] ?? "";
    return flat(unit.repeat(Math.ceil(size / unit.length)).slice(0, size));
  });
  const random = randomFrom(SEED);
  while (texts.length < count) texts.push(flat(mixture(pieces, size, random)));
  return texts;
}

const SEED = 20_260_101;

/** Characters of many scripts, and others that readers tell apart. */
const SCRIPTS: readonly string[] = [
  ..."abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ 0123456789 éüßñøçœ".split(" "),
  ..."абвгдежзАБВГ αβγδεζηΑΒΓ 東京都日本語文字 ひらがなカタカナ กขคงจฉ한국어글 ابتثج אבגדה अआइईकख".split(
    " ",
  ),
  ...["\u0301\u0308", "🎉👍🏽😀𝒜", "٠١٢۳०१", ".,;:!?-_/\\'\"", " ", " ", "\n\t"],
];

/** A random unit again and again, or a text that never repeats: of the pieces, of one script, or of a few. */
function mixture({ openers, fillers }: HostilePieces, size: number, random: Random): string {
  const some = Array.from({ length: 1 + below(4, random) }, () => oneOf(SCRIPTS, random));
  const sources = [openers, fillers, ...some.map((script) => [...script])];
  const taken = sources.filter(() => random() < 0.6);
  const pieces = taken.length === 0 ? sources : taken;
  const length = random() < 0.3 ? size : 1 + below(60, random);
  let unit = "";
  while (unit.length < length) unit += oneOf(oneOf(pieces, random), random);
  return unit.repeat(Math.ceil(size / unit.length)).slice(0, size);
}

/** A text of the same form whose words are others: each letter is another one of its alphabet, by chance. */
export function withOtherLetters(text: string, random: Random): string {
  const codes = Uint16Array.from({ length: text.length }, (_, at) => {
    const code = text.charCodeAt(at);
    const alphabet = ALPHABETS.find(([first, last]) => code >= first && code <= last);
    return alphabet ? alphabet[0] + below(alphabet[1] - alphabet[0] + 1, random) : code;
  });
  return flat(Buffer.from(codes.buffer).toString("utf16le"));
}

/** The first and the last of letters that belong together: Latin, Greek, Cyrillic, Thai, Han, Hangul. */
const ALPHABETS: readonly (readonly [number, number])[] = [
  [0x61, 0x7a],
  [0x41, 0x5a],
  [0x3b1, 0x3c9],
  [0x430, 0x44f],
  [0xe01, 0xe2e],
  [0x4e00, 0x9fff],
  [0xac00, 0xd7a3],
];

/** The text as one that arrives is kept. One that was repeated and cut is twice as slow to read by character. */
function flat(text: string): string {
  return Buffer.from(text).toString();
}
