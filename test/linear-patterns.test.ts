import { globSync, readFileSync } from "node:fs";
import { parseAst } from "rolldown/parseAst";
import { analyse } from "scslre";
import { afterEach, expect, test, vi } from "vitest";

// A pattern that backtracks makes one hostile text stop every session of a server.

interface Pattern {
  readonly source: string;
  readonly flags: string;
}

afterEach(() => vi.unstubAllGlobals());

test.each(["a+$", "\\s+x", "(?:a+)+b", "a*a*b", "(?:a|a)*b", "\\d*\\.?\\d+$"])(
  "the analysis knows that /%s/ backtracks",
  (source) => expect(isSuspect({ source, flags: "" })).toBe(true),
);

test("a sticky pattern is tried at one place only", () => {
  expect(isSuspect({ source: "a+b", flags: "y" })).toBe(false);
  expect(isSuspect({ source: "a+b", flags: "g" })).toBe(true);
});

test("no pattern in the source takes more than linear time, whatever the text", () => {
  const files = globSync("src/**/*.ts").filter((file) => !file.endsWith(".test.ts"));
  const found = files.flatMap((file) => patternsIn(file).map((pattern) => ({ file, pattern })));
  expect(found.length).toBeGreaterThan(300);
  const suspects = found
    .filter(({ pattern }) => isSuspect(pattern))
    .map(({ file, pattern }) => `${file}: ${shown(pattern)}`);
  expect(suspects).toEqual([]);
});

test("neither does one that is put together while rkat runs", async () => {
  const made: Pattern[] = [];
  const construct = (target: RegExpConstructor, args: [string | RegExp, string?]) => {
    const pattern = new target(...args);
    made.push(pattern);
    return pattern;
  };
  vi.stubGlobal("RegExp", new Proxy(RegExp, { construct }));
  vi.resetModules();
  const { HOSTILE_TEXTS, hostileTexts } = await import("../bench/hostile/hostile-texts.ts");
  for (const { read, pieces } of Object.values(HOSTILE_TEXTS)) {
    for (const text of hostileTexts(pieces, 200, 200)) read(`${text} é 東京`);
  }
  const different = new Map(made.map((pattern) => [shown(pattern), pattern]));
  expect(different.size).toBeGreaterThan(50);
  expect([...different.values()].filter(isSuspect).map(shown)).toEqual([]);
});

function shown({ source, flags }: Pattern): string {
  return `/${source}/${flags}`;
}

function isSuspect({ source, flags }: Pattern): boolean {
  // A sticky pattern is not tried again further on.
  const reportTypes = { Move: !flags.includes("y") };
  return analyse({ source, flags }, { reportTypes }).reports.length > 0;
}

/** All literals of a file, and what it keeps as `{ source, flags }` to compile later. */
function patternsIn(file: string): Pattern[] {
  const found: Pattern[] = [];
  const visit = (node: unknown): void => {
    if (!isNode(node)) return;
    const pattern = literal(node) ?? keptPattern(node);
    if (pattern) found.push(pattern);
    for (const inner of Object.values(node)) visit(inner);
  };
  visit(parseAst(readFileSync(file, "utf8"), { lang: "ts" }, file));
  return found;
}

type Node = Readonly<Record<string, unknown>> & { readonly type?: string };

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null;
}

function literal(node: Node): Pattern | undefined {
  const regex = node.regex as { readonly pattern: string; readonly flags: string } | undefined;
  return regex && { source: regex.pattern, flags: regex.flags };
}

function keptPattern({ type, properties }: Node): Pattern | undefined {
  if (type !== "ObjectExpression") return undefined;
  const fields = new Map(
    (properties as readonly Node[]).map(({ key, value }) => [
      (key as { readonly name?: string } | undefined)?.name,
      textOf(value as Node | undefined),
    ]),
  );
  const [source, flags] = [fields.get("source"), fields.get("flags")];
  return source !== undefined && flags !== undefined ? { source, flags } : undefined;
}

/** The text of `"…"` or of String.raw`…`. */
function textOf(node: Node | undefined): string | undefined {
  if (node?.type === "Literal" && typeof node.value === "string") return node.value;
  if (node?.type !== "TaggedTemplateExpression") return undefined;
  const { quasis } = node.quasi as { quasis: readonly { value: { raw: string } }[] };
  return quasis.length === 1 ? quasis[0]?.value.raw : undefined;
}
