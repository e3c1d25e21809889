import { globSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { expect, test } from "vitest";
import type { Operation } from "../src/core/operations/operation.ts";
import { OPERATIONS } from "../src/core/operations.ts";
import { CAPABILITIES, createSessionService } from "../src/index.ts";
import { chosenTools, toolsFor } from "../src/surfaces/mcp/mcp-tools.ts";
import { scriptedModel } from "../src/testing.ts";

/** Files with the text of each. */
type Sources = readonly { readonly file: string; readonly text: string }[];

const INTERFACES = [
  ...sourcesOf("src/core/operations/*.ts"),
  ...sourcesOf("src/core/session-service.ts"),
];
const PARTS = sourcesOf("src/session/*-operations.ts");
const COMMANDS = sourcesOf("src/cli/**/*.ts");
const LAWS = sourcesOf("src/testing/**/*.ts");
const DOORS = sourcesOf("src/index.ts");
const SURFACES_DOC = sourcesOf("docs/surfaces.md");
const MCP_DOC = sourcesOf("docs/mcp.md");
const CLI_DOC = sourcesOf("docs/cli.md");
const EXAMPLES = sourcesOf("src/cli/command-examples.ts");
const REFUSING = sourcesOf("test/said-once.test.ts", { tests: true });
const BLOCKED = sourcesOf("test/attack/freeze-a-command.test.ts", { tests: true });
const REST_CLIENT = sourcesOf("test/fixtures/rest-api.d.ts");
const TOOLS = toolsFor(CAPABILITIES, chosenTools(["all"]));

/** The methods of a service that are no operations: a wire has a way of its own for each, or none. */
const OTHER_METHODS = ["subscribe", "forUser", "close"];

/**
 * The places of an operation, as docs/change.md names them. `npx tsc` names two more: what a stranger may ask, and what
 * somebody types, in tables of tests that lack no operation.
 */
const PLACES: Readonly<Record<string, (name: string) => boolean>> = {
  "the interface and the schemas: src/core/operations/<area>.ts": (name) =>
    methodsIn(INTERFACES).includes(name),
  "the table, if the area is new: src/core/operations.ts": (name) => name in OPERATIONS,
  "a part of the service: src/session/<area>-operations.ts": (name) =>
    name === "capabilities" || says(PARTS, new RegExp(`^ {4}(?:async )?${name}[(:,]`, "m")),
  "its types: src/index.ts": (name) => typesOf(name).every((type) => says(DOORS, wordOf(type))),
  "a command: src/cli/commands/<area>": (name) =>
    commandWords(name).every((word) => says(COMMANDS, new RegExp(`"${word}"`))),
  "examples for its help: src/cli/command-examples.ts": (name) => isRowIn(EXAMPLES, name),
  "a sentence for each field with a new name: src/surfaces/mcp/tool-texts.ts": (name) =>
    toolFields(name).every((field) => "description" in field),
  "a law: src/testing/service/<area>-laws.ts": (name) => says(LAWS, new RegExp(`\\.${name}\\(`)),
  "its command with a store that refuses: test/said-once.test.ts": (name) =>
    isRowIn(REFUSING, name),
  "its command when it is blocked: test/attack/freeze-a-command.test.ts": (name) =>
    isRowIn(BLOCKED, name) || name === "capabilities",
  "its command: docs/cli.md": (name) =>
    commandWords(name).every((word) => says(CLI_DOC, wordOf(word))),
  "its tool: docs/mcp.md": (name) => says(MCP_DOC, wordOf(rowOf(name)?.tool ?? "(no such word)")),
  "written by `npm run docs`: docs/surfaces.md": (name) =>
    says(SURFACES_DOC, new RegExp(`^## ${name}$|\\[${name}\\]\\(#`, "m")),
  "generated, as its first lines say: test/fixtures/rest-api.d.ts": (name) =>
    says(REST_CLIENT, new RegExp(`^ +${name}: \\{$`, "m")),
};

const NAMES = [...new Set([...methodsIn(INTERFACES), ...Object.keys(OPERATIONS)])];

test.each(NAMES)("the operation %s is in all its places", (name) => {
  expect(missingPlaces(name)).toEqual([]);
});

test("an operation that is nowhere is missing in each place", () => {
  expect(missingPlaces("paintSession")).toEqual(Object.keys(PLACES));
});

test("whatever may teach the project says whose words they are, so that a surface can name the author", () => {
  const rows: readonly (readonly [string, Operation])[] = Object.entries(OPERATIONS);
  const teaching = rows.filter(([, { learns, effect }]) => learns && effect === "adds");
  const silent = teaching.filter(([, { request }]) => !("origin" in request.shape));
  // It makes rules of what is there.
  expect(silent.map(([name]) => name)).toEqual(["distillKnowledge"]);
});

test("a service has the operations of the table, and no others", async () => {
  const service = createSessionService({ model: scriptedModel([]) });
  const methods = Object.keys(service).filter((name) => !OTHER_METHODS.includes(name));
  expect(methods.sort()).toEqual(Object.keys(OPERATIONS).sort());
  await service.close();
});

test("no two operations have the same name on a surface", () => {
  const rows: readonly Operation[] = Object.values(OPERATIONS);
  for (const nameOf of [
    ({ rpc }: Operation) => rpc,
    ({ http }: Operation) => `${http.method} ${http.path}`,
    ({ tool }: Operation) => tool,
    ({ command }: Operation) => command,
  ]) {
    const names = rows.map(nameOf);
    expect(new Set(names).size, String(names)).toBe(rows.length);
  }
});

function missingPlaces(name: string): readonly string[] {
  return Object.entries(PLACES).flatMap(([place, isIn]) => (isIn(name) ? [] : [place]));
}

/** The methods of the interfaces that a service consists of. */
function methodsIn(sources: Sources): readonly string[] {
  const interfaces = sources.flatMap(({ text }) =>
    Array.from(
      text.matchAll(/^export interface \w+(?:Operations|Service)\b[^{]*\{\n(.*?)^\}/gms),
      ([, body]) => body,
    ),
  );
  return interfaces.flatMap((body = "") =>
    Array.from(body.matchAll(/^ {2}(\w+)\(/gm), ([, method = ""]) => method).filter(
      (method) => !OTHER_METHODS.includes(method),
    ),
  );
}

function rowOf(name: string): Operation | undefined {
  return (OPERATIONS as Readonly<Record<string, Operation>>)[name];
}

/** The named types of the areas in the signature of an operation. */
function typesOf(name: string): readonly string[] {
  if (!(name in OPERATIONS)) return ["(no such word)"];
  const [, signature = ""] =
    INTERFACES.map(({ text }) => new RegExp(`^ {2}${name}\\((.*?;)$`, "ms").exec(text)).find(
      Boolean,
    ) ?? [];
  const named = [...signature.matchAll(/\b[A-Z]\w+/g)].map(([type]) => type);
  const isOfArea = (type: string) =>
    says(INTERFACES, new RegExp(`^export (?:type|interface) ${type}\\b`, "m"));
  return named.filter(isOfArea);
}

/** The schemas of the fields of the operation's tool. */
function toolFields(name: string): readonly object[] {
  const tool = TOOLS.find((each) => each.name === rowOf(name)?.tool);
  return tool === undefined ? [{}] : (Object.values(tool.inputSchema.properties ?? {}) as object[]);
}

/** `rkat approvals allow|deny`: the words of its last place. A key on the keyboard is no command. */
function commandWords(name: string): readonly string[] {
  const command = rowOf(name)?.command;
  if (command === undefined) return ["(no such word)"];
  return command.startsWith("(") ? [] : (command.split(" ").at(-1) ?? "").split("|");
}

/** Whether a table that has a row for each command has one for this operation's. */
function isRowIn(table: Sources, name: string): boolean {
  const group = rowOf(name)?.command.split(" ").slice(0, -1) ?? [];
  return commandWords(name)
    .map((word) => [...group, word].join(" "))
    .every((path) => says(table, new RegExp(`^ {2}"?${path}"?: `, "m")));
}

function wordOf(word: string): RegExp {
  return new RegExp(`(?<![\\w-])${word.replaceAll(/[^\w-]/g, "\\$&")}(?![\\w-])`);
}

function says(sources: Sources, pattern: RegExp): boolean {
  return sources.some(({ text }) => pattern.test(text));
}

function sourcesOf(pattern: string, { tests = false } = {}): Sources {
  const files = globSync(pattern).filter((file) => tests || !basename(file).endsWith(".test.ts"));
  return files.map((file) => ({ file, text: readFileSync(file, "utf8") }));
}
