import fc from "fast-check";
import { expect, test } from "vitest";
import { trials } from "../../test/support/trials.ts";
import { providerSchema } from "./provider-schema.ts";

test("a schema that all providers take stays as it is, in its order", () => {
  const schema = {
    type: "object",
    properties: {
      path: { type: "string", description: "Where." },
      options: {
        anyOf: [{ type: "array", items: { type: "string" } }, { type: "object" }],
        default: { type: "none", required: true },
      },
    },
    required: ["path"],
    additionalProperties: false,
  };
  expect(JSON.stringify(providerSchema(schema))).toBe(JSON.stringify(schema));
});

test("alternatives become one object, with the names of the cases as a list", () => {
  const schema = {
    type: "object",
    oneOf: [
      {
        properties: { kind: { const: "text" }, id: { type: "string" }, text: { type: "string" } },
        required: ["kind", "id", "text"],
      },
      {
        properties: { kind: { const: "link" }, id: { type: "integer" }, url: { type: "string" } },
        required: ["kind", "id", "url"],
      },
    ],
  };
  expect(providerSchema(schema)).toEqual({
    type: "object",
    properties: {
      kind: { enum: ["text", "link"] },
      id: { anyOf: [{ type: "string" }, { type: "integer" }] },
      text: { type: "string" },
      url: { type: "string" },
    },
  });
});

/** A name of its own, because an object with `then` may be taken for a promise. */
const THEN = "then";

test("what must hold together is required together, and what holds under a condition is allowed", () => {
  const schema = {
    properties: { mode: { type: "string" } },
    anyOf: [{ required: ["from"] }, { required: ["to"] }],
    allOf: [
      { $ref: "#/$defs/Named" },
      { if: {}, [THEN]: { properties: { size: { type: "integer" } }, required: ["size"] } },
    ],
    $defs: { Named: { properties: { name: { type: "string" } }, required: ["name"] } },
  };
  const { properties, required } = providerSchema(schema);
  expect(Object.keys(properties ?? {})).toEqual(["mode", "name", "size"]);
  expect(required).toEqual(["name"]);
});

test("a schema in a circle, one that doubles at each step, and one of two thousand levels end", () => {
  const defs = Array.from({ length: 200 }, (_, at) => {
    const next = { $ref: `#/$defs/d${at + 1}` };
    return [`d${at}`, { anyOf: [next, { ...next, properties: { [`x${at}`]: {} } }] }];
  });
  let deep: object = {};
  for (let level = 0; level < 2_000; level += 1) deep = { items: deep };
  for (const schema of [
    { $ref: "#/allOf/0", allOf: [{ $ref: "#/allOf/0" }, { $ref: "#/allOf/1" }] },
    { $ref: "#/$defs/d0", $defs: Object.fromEntries(defs) },
    { properties: { deep, value: { default: deep } } },
  ]) {
    expect(providerSchema(schema).type).toBe("object");
  }
});

const schema = fc.letrec<{ schema: unknown; map: unknown }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3, depthSize: "small" },
    fc.boolean(),
    fc.record(
      {
        type: fc.constantFrom("object", "array", "string", "any", ["array", "null"], 7),
        items: fc.oneof(tie("schema"), fc.array(tie("schema"), { maxLength: 2 }), fc.boolean()),
        properties: tie("map"),
        required: fc.oneof(fc.array(fc.constantFrom("a", "b", "type")), fc.boolean()),
        anyOf: fc.array(tie("schema"), { maxLength: 2 }),
        oneOf: fc.array(tie("schema"), { maxLength: 2 }),
        allOf: fc.array(tie("schema"), { maxLength: 2 }),
        not: tie("schema"),
        const: fc.constantFrom("x", "y"),
        enum: fc.array(fc.constantFrom("x", "y")),
        $ref: fc.constantFrom("#", "#/properties/a", "#/$defs/a", "other.json"),
        $defs: tie("map"),
        exclusiveMinimum: fc.boolean(),
        minimum: fc.integer(),
      },
      { requiredKeys: [] },
    ),
  ),
  map: fc.dictionary(fc.constantFrom("a", "b", "type", "required", "items"), tie("schema"), {
    maxKeys: 2,
  }),
})).schema;

test("whatever the schema, providers take it, and it stays when it is given again", () => {
  fc.assert(
    fc.property(schema, (given) => {
      if (typeof given !== "object" || given === null) return;
      const accepted = providerSchema(given);
      expect(accepted.type).toBe("object");
      for (const key of ["anyOf", "oneOf", "allOf", "not", "enum", "const", "$ref"])
        expect(accepted).not.toHaveProperty(key);
      const names = Object.keys(accepted.properties ?? {});
      for (const name of (accepted.required ?? []) as string[]) expect(names).toContain(name);
      const text = JSON.stringify(accepted);
      expect(JSON.stringify(providerSchema(JSON.parse(text)))).toBe(text);
    }),
    { numRuns: trials(200, 20_000) },
  );
});
