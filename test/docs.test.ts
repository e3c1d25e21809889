import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join, normalize } from "node:path";
import { expect, test } from "vitest";
import { OPERATIONS } from "../src/core/operations.ts";
import { SESSION_EVENTS } from "../src/surfaces/mcp/session-events.ts";
import { spawnSync } from "./support/start-process.ts";

/** Every file of the repository. */
const FILES = filesOfGit() ?? filesOfArchive();
const FOLDERS = new Set(FILES.flatMap(foldersOf));
const BASENAMES = new Set(FILES.map((file) => basename(file)));

/** A changelog names what there was. */
const PROSE = FILES.filter((file) => file.endsWith(".md") && file !== "CHANGELOG.md");
const SOURCES = FILES.filter((file) => /\.(?:ts|mjs|js)$/.test(file));

/** Made by a build, a run or `npm ci`, or an example of what you would have. */
const NOT_IN_THE_TREE = /^(?:dist|node_modules|\.rkat|\.rkat-demo|~|\/)/;

/** A path that needs no backticks to be one: `see docs/design.md`. */
const BARE_PATH =
  /(?<![\w/.:-])((?:src|test|bench|docs|demo|examples)\/[\w./-]+\.(?:ts|md|mjs))\b/g;

/** Examples in comments, and names of others that our code does not use, such as PostgreSQL. */
const NOT_OURS: ReadonlySet<string> = new Set([
  "src/server.ts",
  "test/a.test.ts",
  "src/core/turn_id.ts",
  "turn_id.ts",
  "getHTTPUser2",
  "toBase64",
  "ModelMessage",
  "prepareStep",
  "search_path",
  "json_to_recordset",
  "pg_dump",
  "pg_type",
]);

function filesOfGit(): string[] | undefined {
  // An unpacked archive may lie in a repository that is not ours.
  if (!existsSync(".git")) return undefined;
  const args = ["ls-files", "--cached", "--others", "--exclude-standard"];
  const { status, stdout } = spawnSync("git", args, { encoding: "utf8" });
  // There may be no git, and it refuses a repository of another user.
  if (status !== 0) return undefined;
  return stdout.split("\n").filter((file) => file !== "" && existsSync(file));
}

function filesOfArchive(): string[] {
  const made = readFileSync(".gitignore", "utf8").trim().split("\n");
  const exclude = [".git", ".rkat", ".rkat-demo", ...made].flatMap((path) => [path, `**/${path}`]);
  return globSync(
    ["*", ".*"].flatMap((path) => [path, `${path}/**`]),
    { exclude },
  ).filter((path) => statSync(path).isFile());
}

interface Quoted {
  readonly text: string;
  readonly file: string;
  readonly line: number;
}

test("every path in backticks, in the docs and in comments, is there", () => {
  const wrong = quoted().filter(
    (quote) => isPath(quote.text) && !NOT_OURS.has(quote.text) && !isThere(quote),
  );
  expect(wrong.map(described)).toEqual([]);
});

test("the tables of tools in docs/mcp.md have every tool, with its effect", () => {
  const rows = linesOf("docs/mcp.md").flatMap(({ text }) => {
    const [, names = "", effect] = /^\| (`.*`) \| .* \| (reads|adds|destroys) \|$/.exec(text) ?? [];
    return [...names.matchAll(/`(\w+)`/g)].map(([, name]) => `${name} ${effect}`);
  });
  const operations = [...Object.values(OPERATIONS), SESSION_EVENTS];
  expect(rows.toSorted()).toEqual(
    operations.map(({ tool, effect }) => `${tool} ${effect}`).toSorted(),
  );
});

test("every link of the docs leads somewhere", () => {
  const wrong = PROSE.flatMap((file) =>
    linesOf(file).flatMap(({ text, line }) =>
      [...text.matchAll(/\]\(([^)\s]+)\)/g)]
        .map(([, target = ""]) => target)
        .filter((target) => !/^[a-z]+:/.test(target) && !leadsSomewhere(file, target))
        .map((target) => described({ text: target, file, line })),
    ),
  );
  expect(wrong).toEqual([]);
});

test("every name in backticks, in the docs and in comments, is one of the code", () => {
  const known = namesOfTheCode();
  const wrong = quoted().filter(({ text }) =>
    namesIn(text).some((name) => !known.has(comparable(name)) && !NOT_OURS.has(name)),
  );
  expect(wrong.map(described)).toEqual([]);
});

/** What stands in backticks: in prose anywhere, in code in comments. */
function quoted(): Quoted[] {
  return [...PROSE, ...SOURCES].flatMap((file) =>
    linesOf(file)
      .filter(({ text }) => file.endsWith(".md") || isComment(text))
      .flatMap(({ text, line }) =>
        [...text.matchAll(/`([^`]+)`/g), ...text.matchAll(BARE_PATH)].map(([, code = ""]) => {
          return { text: code, file, line };
        }),
      ),
  );
}

function linesOf(file: string): { readonly text: string; readonly line: number }[] {
  let fenced = false;
  return readFileSync(file, "utf8")
    .split("\n")
    .map((text, index) => ({ text, line: index + 1 }))
    .filter(({ text }) => {
      if (file.endsWith(".md") && text.startsWith("```")) fenced = !fenced;
      return !fenced;
    });
}

function isComment(line: string): boolean {
  return /^\s*(?:\/\/|\/\*|\*)/.test(line);
}

/** `src/core/event.ts`, `event.ts`, `stores/sqlite/`: no web address, no package, no command line. */
function isPath(text: string): boolean {
  if (!/^[\w.*{},/-]+$/.test(text) || NOT_IN_THE_TREE.test(text)) return false;
  const [first = ""] = text.split("/");
  return /^[\w.-]+\.(?:ts|md|mjs)$/.test(text) || (text.includes("/") && FOLDERS.has(first));
}

/** From the root, from `src/`, or from the file that names it. */
function isThere({ text, file }: Quoted): boolean {
  if (!text.includes("/")) return BASENAMES.has(text);
  return ["", "src", dirname(file)].some((folder) => {
    const pattern = new RegExp(
      `^${normalize(join(folder, text))
        .split(/(\*\*|\*|\{[^}]*\})/)
        .map(asPattern)
        .join("")}/?$`,
    );
    return [...FILES, ...FOLDERS].some((path) => pattern.test(path) || pattern.test(`${path}/`));
  });
}

function asPattern(part: string): string {
  if (part === "**") return ".*";
  if (part === "*") return "[^/]*";
  if (part.startsWith("{"))
    return `(?:${part
      .slice(1, -1)
      .split(",")
      .map((one) => escaped(one.trim()))
      .join("|")})`;
  return escaped(part);
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

function leadsSomewhere(file: string, target: string): boolean {
  const [path = "", anchor] = target.split("#");
  const to = path === "" ? file : normalize(join(dirname(file), path)).replace(/\/$/, "");
  if (!FILES.includes(to) && !FOLDERS.has(to)) return false;
  return anchor === undefined || anchorsOf(to).includes(anchor);
}

/** As GitHub makes them of headings. */
function anchorsOf(file: string): string[] {
  return linesOf(file)
    .filter(({ text }) => /^#+ /.test(text))
    .map(({ text }) =>
      text
        .replace(/^#+ /, "")
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, "")
        .trim()
        .replaceAll(" ", "-"),
    );
}

/** camelCase, PascalCase, UPPER_CASE and snake_case words; one word of one case may be any word. */
function namesIn(text: string): string[] {
  if (!/^[\w.]+(?:\(.*\))?$/.test(text) || isPath(text)) return [];
  return (text.replace(/\(.*$/, "").match(/[A-Za-z]\w+/g) ?? []).filter((word) =>
    /[a-z][A-Z]|[A-Za-z]_[A-Za-z]/.test(word),
  );
}

/** Settings and fields are camelCase in code and snake_case on the wires. */
function comparable(name: string): string {
  return /^[A-Z\d_]+$/.test(name)
    ? name
    : name.replace(/_([a-z\d])/g, (_, next) => next.toUpperCase());
}

/** Every word of the code, strings included, comments left out. */
function namesOfTheCode(): Set<string> {
  const code = SOURCES.flatMap((file) =>
    linesOf(file)
      .filter(({ text }) => !isComment(text))
      .map(({ text }) => text),
  );
  return new Set(
    code
      .join("\n")
      .match(/[A-Za-z]\w+/g)
      ?.map(comparable),
  );
}

function foldersOf(file: string): string[] {
  const parts = file.split("/").slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
}

function described({ text, file, line }: Quoted): string {
  return `${file}:${line}: ${text}`;
}
