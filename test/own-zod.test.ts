import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, inject, test } from "vitest";
import { z } from "zod";
import { defineTool, jsonSchemaOf } from "../src/core/tool.ts";
import type * as Rkat from "../src/index.ts";

// The package has a copy of zod inside. Tools are made with schemas of another copy, which is yours.

const input = z.strictObject({
  place: z.string().min(2).describe("Where it is."),
  unit: z.enum(["C", "F"]).default("C"),
  days: z.array(z.int().positive()).max(7).optional(),
  when: z.union([z.iso.date(), z.literal("today")]).nullable(),
  more: z
    .record(
      z.string(),
      z.lazy(() => z.unknown()),
    )
    .meta({ examples: [{}] }),
});

const options = {
  name: "weather",
  description: "Tells the weather.",
  input,
  execute: (given: z.output<typeof input>) => given.unit,
};

const CONTEXT = { sessionId: "s", toolUseId: "t", signal: new AbortController().signal };

async function built(): Promise<typeof Rkat> {
  const file = pathToFileURL(join(inject("packageFolder"), "dist/index.js"));
  return (await import(file.href)) as typeof Rkat;
}

test("a tool with a schema of your zod says the same to a model", async () => {
  const rkat = await built();
  const tool = rkat.defineTool(options);
  expect(tool.definition).toEqual(defineTool(options).definition);
  expect(tool.definition.input_schema).toEqual(jsonSchemaOf(input));
  expect(tool.definition.input_schema).toMatchObject({
    additionalProperties: false,
    required: ["place", "when", "more"],
    properties: { place: { description: "Where it is.", minLength: 2 } },
  });
});

test("it takes what the schema takes, with defaults, and refuses the rest in the same words", async () => {
  const rkat = await built();
  const tool = rkat.defineTool(options);
  const args = { place: "Bern", when: "today", more: {} };
  await expect(tool.execute(args, CONTEXT)).resolves.toBe("C");
  const refused = tool.execute({ ...args, days: [0] }, CONTEXT);
  const expected = defineTool(options).execute({ ...args, days: [0] }, CONTEXT);
  const { message } = (await expected.catch((error: Error) => error as Error)) as Error;
  await expect(refused).rejects.toMatchObject({ code: "invalid_arguments", message });
});
