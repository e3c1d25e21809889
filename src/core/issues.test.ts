import { expect, test } from "vitest";
import { z } from "zod";
import { issuesOf, issuesText } from "./issues.ts";

const schema = z.strictObject({
  limit: z.int().max(10).optional(),
  query: z.union([z.string(), z.array(z.string())]).optional(),
  labels: z.record(z.string(), z.string()).optional(),
});

test("of a field that is missing a line says that alone", () => {
  const needed = z.strictObject({ prompt: schema.shape.query.unwrap(), id: z.string() });
  const { error } = needed.safeParse({});
  expect(issuesText(issuesOf(error ?? { issues: [] }))).toBe("prompt: is missing; id: is missing");
});

test.each<[unknown, string]>([
  [{ limit: 11 }, "limit: expected number to be <=10"],
  [
    { limit: "1", colour: "red" },
    'limit: expected number, received string; Unrecognized key: "colour"',
  ],
  [{ query: 5 }, "query: expected string, received number, or expected array, received number"],
  [{ query: ["fox", 5] }, "query[1]: expected string, received number"],
  [{ labels: { env: 1 } }, "labels.env: expected string, received number"],
  [null, "expected object, received null"],
])("%j is refused in a line", (value, expected) => {
  const { error } = schema.safeParse(value);
  expect(issuesText(issuesOf(error ?? { issues: [] }))).toBe(expected);
});

test("a line names twenty issues, and says how many more there are", () => {
  const wrong = Array.from({ length: 500 }, (_, at) => ({ path: [at], message: "it is missing" }));
  expect(issuesText(wrong.slice(0, 20)).split("; ")).toHaveLength(20);
  expect(issuesText(wrong)).toBe(`${issuesText(wrong.slice(0, 20))}; and 480 more`);
});
