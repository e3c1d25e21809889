import { c, cpp, csharp, dart, java, kotlin, scala } from "@codemirror/legacy-modes/mode/clike";
import { css, less, sCSS } from "@codemirror/legacy-modes/mode/css";
import { diff } from "@codemirror/legacy-modes/mode/diff";
import { dockerFile } from "@codemirror/legacy-modes/mode/dockerfile";
import { go } from "@codemirror/legacy-modes/mode/go";
import { javascript, json, typescript } from "@codemirror/legacy-modes/mode/javascript";
import { lua } from "@codemirror/legacy-modes/mode/lua";
import { powerShell } from "@codemirror/legacy-modes/mode/powershell";
import { properties } from "@codemirror/legacy-modes/mode/properties";
import { protobuf } from "@codemirror/legacy-modes/mode/protobuf";
import { python } from "@codemirror/legacy-modes/mode/python";
import { r } from "@codemirror/legacy-modes/mode/r";
import { ruby } from "@codemirror/legacy-modes/mode/ruby";
import { rust } from "@codemirror/legacy-modes/mode/rust";
import { shell } from "@codemirror/legacy-modes/mode/shell";
import { pgSQL, standardSQL } from "@codemirror/legacy-modes/mode/sql";
import { swift } from "@codemirror/legacy-modes/mode/swift";
import { toml } from "@codemirror/legacy-modes/mode/toml";
import { html, xml } from "@codemirror/legacy-modes/mode/xml";
import { yaml } from "@codemirror/legacy-modes/mode/yaml";
import { type StreamParser, StringStream } from "@codemirror/streamparser";

/** The readers of languages, with the names that a code block may begin with. */
const LANGUAGES: readonly (readonly [names: string, parser: StreamParser<unknown>])[] = [
  ["c h", c],
  ["cpp c++ cc cxx hpp", cpp],
  ["csharp c# cs", csharp],
  ["css", css],
  ["dart", dart],
  ["diff patch", diff],
  ["dockerfile docker", dockerFile],
  ["go golang", go],
  ["html htm vue svelte", html],
  ["ini conf cfg properties env dotenv", properties],
  ["java", java],
  ["javascript js jsx mjs cjs", javascript],
  ["json jsonc json5 jsonl", json],
  ["kotlin kt kts", kotlin],
  ["less", less],
  ["lua", lua],
  ["postgresql postgres pgsql psql", pgSQL],
  ["powershell ps1 pwsh", powerShell],
  ["protobuf proto", protobuf],
  ["python py python3", python],
  ["r", r],
  ["ruby rb", ruby],
  ["rust rs", rust],
  ["scala", scala],
  ["scss sass", sCSS],
  ["shell sh bash zsh console shell-session shellsession", shell],
  ["sql sqlite mysql", standardSQL],
  ["swift", swift],
  ["toml", toml],
  ["typescript ts tsx mts cts", typescript],
  ["xml svg", xml],
  ["yaml yml", yaml],
];

const PARSERS = new Map(
  LANGUAGES.flatMap(([names, parser]) => names.split(" ").map((name) => [name, parser] as const)),
);

/** The kinds of words in code that have a colour. */
export type CodeKind = "comment" | "string" | "keyword" | "value" | "name" | "added" | "removed";

export interface CodePart {
  readonly text: string;
  /** Undefined for what has no colour. */
  readonly kind: CodeKind | undefined;
}

/** The tags of the parsers (https://lezer.codemirror.net/docs/ref/#highlight.tags), without their modifiers. */
const TAGS: Readonly<Record<CodeKind, string>> = {
  comment: "comment lineComment blockComment docComment meta processingInstruction",
  string: "string docString character attributeValue regexp",
  keyword:
    "keyword controlKeyword definitionKeyword moduleKeyword operatorKeyword modifier self annotation",
  value: "number integer float literal unit color bool null atom escape",
  name: "typeName type className tagName tag attributeName attribute namespace labelName heading header",
  added: "inserted",
  removed: "deleted",
};

const KINDS = new Map(
  Object.entries(TAGS).flatMap(([kind, tags]) =>
    tags.split(" ").map((tag) => [tag, kind as CodeKind] as const),
  ),
);

/** Characters of a line that is read. A longer one is generated, and no one reads its colours. */
const LINE_MAX = 400;
/** The parser of YAML takes cubic time in a row of spaces. */
const SPACES = /\s{60}/;
const TAB = 4;
const INDENT = 2;
/** The time that reading a block may take. After that the rest has no colours: some parsers take quadratic time in what is open. */
const BLOCK_MS = 500;
/** Tokens without a character that a parser may return in a row, to change its state. */
const EMPTY_TOKENS_MAX = 10;

/**
 * Reads the code of one block line by line, as it arrives:
 *
 *     new CodeReader("ts").read("let a = 1;")   "let" keyword, " a = ", "1" value, ";"
 */
export class CodeReader {
  readonly #parser: StreamParser<unknown> | undefined;
  #state: unknown;
  #spentMs = 0;

  /** @param language The first word after the fence. An unknown one gives no colours. */
  constructor(language: string) {
    this.#parser = PARSERS.get(language.toLowerCase());
    this.#state = this.#parser?.startState?.(INDENT) ?? true;
  }

  /** The parts of the next line; undefined where they are not known. */
  read(line: string): readonly CodePart[] | undefined {
    return this.#read(line, () => this.#state);
  }

  /** The parts of a line that is not complete yet. */
  peek(line: string): readonly CodePart[] | undefined {
    return this.#read(line, (parser) => copyOf(this.#state, parser));
  }

  #read(line: string, stateOf: (parser: StreamParser<unknown>) => unknown) {
    const parser = this.#parser;
    if (!parser || line.length > LINE_MAX || SPACES.test(line) || this.#spentMs > BLOCK_MS) return;
    const start = performance.now();
    const parts = partsOf(line, parser, stateOf(parser));
    this.#spentMs += performance.now() - start;
    return parts;
  }
}

function partsOf(line: string, parser: StreamParser<unknown>, state: unknown): readonly CodePart[] {
  if (line === "") {
    parser.blankLine?.(state, INDENT);
    return [];
  }
  const stream = new StringStream(line, TAB, INDENT);
  const parts: CodePart[] = [];
  try {
    // That of JavaScript has the type of its last token in its module, and so would read a line differently the second time.
    parser.token(new StringStream(";", TAB, INDENT), parser.startState?.(INDENT) ?? true);
    for (let empty = 0; !stream.eol() && empty < EMPTY_TOKENS_MAX; ) {
      stream.start = stream.pos;
      const kind = kindOf(parser.token(stream, state));
      empty = stream.pos > stream.start ? 0 : empty + 1;
      if (empty === 0) parts.push({ text: stream.current(), kind });
    }
  } catch {
    // The parser may fail on text that is no code in this language.
  }
  const rest = line.slice(parts.reduce((sum, { text }) => sum + text.length, 0));
  return rest === "" ? parts : [...parts, { text: rest, kind: undefined }];
}

function kindOf(tags: string | null): CodeKind | undefined {
  return tags?.split(/[ .]/).flatMap((tag) => KINDS.get(tag) ?? [])[0];
}

function copyOf(state: unknown, parser: StreamParser<unknown>): unknown {
  if (parser.copyState) return parser.copyState(state);
  if (typeof state !== "object" || state === null) return state;
  const fields = Object.entries(state);
  return Object.fromEntries(
    fields.map(([name, value]) => [name, Array.isArray(value) ? [...value] : value]),
  );
}
