import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openServerTools } from "../src/surfaces/mcp/server-tools.ts";
import { temporaryFolder } from "./support/obey.ts";

/** The tools of a server that lists these, and answers a call with its arguments. */
async function toolsOf(tools: readonly object[]) {
  const cwd = await temporaryFolder();
  const path = join(cwd, "server.mjs");
  writeFileSync(
    path,
    `import { createInterface } from "node:readline";
    const answers = {
      ping: () => ({}),
      initialize: ({ protocolVersion }) => ({
        protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "raw", version: "1" },
      }),
      "tools/list": () => ({ tools: ${JSON.stringify(tools)} }),
      "tools/call": (params) => ({ content: [{ type: "text", text: JSON.stringify(params.arguments) }] }),
    };
    createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method, params } = JSON.parse(line);
      const result = answers[method]?.(params);
      if (result) console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
    });`,
  );
  const program = { command: process.execPath, args: [path], env: {}, cwd };
  const opened = await openServerTools([{ name: "it", program, timeoutMs: 5_000 }]);
  onTestFinished(opened.close);
  return opened;
}

async function schemaOf(inputSchema: object) {
  const { tools } = await toolsOf([{ name: "look", inputSchema }]);
  return tools()[0]?.definition.input_schema;
}

const PAGE = { properties: { page: { type: "string" } }, required: ["page"] };
const ID = { properties: { id: { type: "integer" } }, required: ["id"] };
const BOTH = { page: { type: "string" }, id: { type: "integer" } };

test.for([
  [
    { type: "object", anyOf: [PAGE, ID] },
    { type: "object", properties: BOTH },
  ],
  [
    { oneOf: [PAGE, ID], enum: [1] },
    { type: "object", properties: BOTH },
  ],
  [
    { allOf: [PAGE, ID], not: {} },
    { type: "object", properties: BOTH, required: ["page", "id"] },
  ],
  [
    {
      $ref: "#/$defs/one",
      $defs: { one: { allOf: [PAGE], anyOf: [ID, { $ref: "#/$defs/one" }] } },
    },
    { type: "object", properties: BOTH, required: ["page"] },
  ],
  [{ $ref: "#/constructor/prototype" }, { type: "object", properties: {} }],
] as const)(
  "a choice at the top of a schema becomes one object, as providers ask: %j",
  async ([schema, expected]) => {
    const { $defs: _, ...shown } = (await schemaOf(schema)) ?? {};
    expect(shown).toEqual(expected);
  },
);

test("what earlier drafts and mistakes have in a schema does not reach a provider, and the rest does", async () => {
  const pair = [{ type: "integer" }, { type: "string" }];
  const properties = {
    pair: { type: "array", items: pair },
    above: { type: "number", minimum: 0, exclusiveMinimum: true },
    any: { type: "any", required: true, description: null, default: null },
    none: { type: null, enum: null },
    required: { type: ["string", "null"], enum: ["a", null], const: null },
    broken: "string",
    tree: { $ref: "#/definitions/tree" },
  };
  const tree = { type: "object", properties: { next: { $ref: "#/definitions/tree" } } };
  expect(await schemaOf({ properties, definitions: { tree }, required: ["pair", 5] })).toEqual({
    type: "object",
    properties: {
      pair: { type: "array", prefixItems: pair, items: {} },
      above: { type: "number", minimum: 0 },
      any: { default: null },
      none: {},
      required: { type: ["string", "null"], enum: ["a", null], const: null },
      broken: {},
      tree: { $ref: "#/definitions/tree" },
    },
    definitions: { tree },
  });
});

test("a schema that is nested without end, or refers to itself, is answered in time", async () => {
  let deep: object = { type: "string" };
  for (let depth = 0; depth < 400; depth += 1) deep = { anyOf: [deep] };
  const many = { anyOf: Array.from({ length: 300 }, () => ({ $ref: "#" })) };
  const { tools, problems } = await toolsOf([
    { name: "deep", inputSchema: { properties: { deep }, ...deep } },
    { name: "many", inputSchema: { ...many, $ref: "#/anyOf" } },
  ]);
  expect(problems).toEqual([]);
  expect(tools()).toHaveLength(2);
});

test("an argument with a name that providers refuse has another one for the model, and its own for the server", async () => {
  const { tools } = await toolsOf([
    {
      name: "look",
      inputSchema: {
        properties: { $filter: { type: "string" }, größe: {}, plain: {}, _filter: {} },
        required: ["$filter", "plain"],
      },
    },
  ]);
  const [tool] = tools();
  const { properties, required } = tool?.definition.input_schema ?? {};
  const names = Object.keys(properties ?? {});
  expect(names).toHaveLength(4);
  for (const name of names) expect(name).toMatch(/^[\w-]{1,64}$/);
  expect(required).toEqual([names[0], "plain"]);
  const args = Object.fromEntries(names.map((name, index) => [name, index]));
  const context = { sessionId: "s", toolUseId: "t", signal: new AbortController().signal };
  const output = await tool?.execute({ ...args, other: 4 }, context);
  expect(JSON.parse((output as { content: string }).content)).toEqual({
    $filter: 0,
    größe: 1,
    plain: 2,
    _filter: 3,
    other: 4,
  });
});

test("a tool that can be called as a task only is left out with a sentence", async () => {
  const inputSchema = { type: "object" };
  const { tools, problems } = await toolsOf([
    { name: "plain", inputSchema, execution: { taskSupport: "optional" } },
    { name: "study", inputSchema, execution: { taskSupport: "required" } },
  ]);
  expect(tools()).toHaveLength(1);
  expect(problems).toEqual([
    "it has the tool study for programs that call it as a task; it is left out.",
  ]);
});
