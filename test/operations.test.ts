import { globSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { expect, test } from "vitest";
import type { Operation } from "../src/core/operations/operation.ts";
import { OPERATIONS } from "../src/core/operations.ts";
import { createSessionService } from "../src/index.ts";
import { TOOL_DESCRIPTIONS } from "../src/surfaces/mcp/tool-texts.ts";
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
const SURFACES_DOC = sourcesOf("docs/surfaces.md");

/** The methods of a service that are no operations: a wire has a way of its own for each, or none. */
const OTHER_METHODS = ["subscribe", "forUser", "close"];

/** The places of an operation. A new one is written there, and nowhere else in `src`. */
const PLACES: Readonly<Record<string, (name: string) => boolean>> = {
  "the interface and the schemas: src/core/operations/<area>.ts": (name) =>
    methodsIn(INTERFACES).includes(name),
  "the table: src/core/operations.ts": (name) => name in OPERATIONS,
  "a part of the service: src/session/<area>-operations.ts": (name) =>
    name === "capabilities" || says(PARTS, new RegExp(`^ {4}(?:async )?${name}[(:,]`, "m")),
  "a command: src/cli/commands": (name) => commandWords(name).every(isCommandWord),
  "a text for models: src/surfaces/mcp/tool-texts.ts": (name) => name in TOOL_DESCRIPTIONS,
  "docs/surfaces.md, by `npm run docs`": (name) =>
    says(SURFACES_DOC, new RegExp(`^## ${name}$|\\[${name}\\]\\(#`, "m")),
  "a law: src/testing": (name) => says(LAWS, new RegExp(`\\.${name}\\(`)),
};

const NAMES = [...new Set([...methodsIn(INTERFACES), ...Object.keys(OPERATIONS)])];

test.each(NAMES)("the operation %s is in all its places", (name) => {
  expect(missingPlaces(name)).toEqual([]);
});

test("an operation that is nowhere is missing in each place", () => {
  expect(missingPlaces("paintSession")).toEqual(Object.keys(PLACES));
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

/** `rkat approvals allow|deny`: the words of its last place. A key on the keyboard is no command. */
function commandWords(name: string): readonly string[] {
  const { command }: Partial<Operation> =
    (OPERATIONS as Readonly<Record<string, Operation>>)[name] ?? {};
  if (command === undefined) return ["(none)"];
  return command.startsWith("(") ? [] : (command.split(" ").at(-1) ?? "").split("|");
}

function isCommandWord(word: string): boolean {
  return COMMANDS.some(({ text }) => text.includes(`"${word}"`));
}

function says(sources: Sources, pattern: RegExp): boolean {
  return sources.some(({ text }) => pattern.test(text));
}

function sourcesOf(pattern: string): Sources {
  const files = globSync(pattern).filter((file) => !basename(file).endsWith(".test.ts"));
  return files.map((file) => ({ file, text: readFileSync(file, "utf8") }));
}
