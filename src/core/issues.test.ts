import { inspect } from "node:util";
import { expect, test } from "vitest";
import { z } from "zod";
import { SessionError } from "./errors.ts";
import { issuesOf, issuesText, unrecognizedKey, withMeant } from "./issues.ts";

const schema = z.strictObject({
  limit: z.int().max(10).optional(),
  query: z.union([z.string(), z.array(z.string())]).optional(),
  labels: z.record(z.string(), z.string()).optional(),
});

test("of a field that is missing a sentence says that alone", () => {
  const needed = z.strictObject({ prompt: schema.shape.query.unwrap(), id: z.string() });
  const { error } = needed.safeParse({});
  expect(issuesText(issuesOf(error ?? { issues: [] }))).toBe("prompt: is missing. id: is missing.");
});

test.each<[unknown, string]>([
  [{ limit: 11 }, "limit: expected number to be <=10."],
  [
    { limit: "1", colour: "red" },
    'limit: expected number, received string. Unrecognized key: "colour".',
  ],
  [{ query: 5 }, "query: expected string, received number, or expected array, received number."],
  [{ query: ["fox", 5] }, "query[1]: expected string, received number."],
  [{ labels: { env: 1 } }, "labels.env: expected string, received number."],
  [null, "expected object, received null."],
])("%j is refused, with a sentence for each fault", (value, expected) => {
  const { error } = schema.safeParse(value);
  expect(issuesText(issuesOf(error ?? { issues: [] }))).toBe(expected);
});

test("twenty issues are named, and how many more there are", () => {
  const wrong = Array.from({ length: 500 }, (_, at) => ({ path: [at], message: "it is missing" }));
  expect(issuesText(wrong.slice(0, 20)).match(/it is missing\./g)).toHaveLength(20);
  expect(issuesText(wrong)).toBe(`${issuesText(wrong.slice(0, 20))} And 480 more.`);
});

test("each key that is not known is told by itself, with the one that was probably meant", () => {
  const { error } = schema.safeParse({ limt: 2, colour: "red" });
  const issues = issuesOf(error ?? { issues: [] }, () => ["limit", "query", "labels"]);
  expect(issues.map(({ message }) => message)).toEqual([
    'Unrecognized key: "limt". Did you mean limit?',
    'Unrecognized key: "colour". It takes limit, query, labels.',
  ]);
});

const said = z.discriminatedUnion("role", [
  z.strictObject({ role: z.literal("user"), content: z.string().max(3) }),
  z.strictObject({ role: z.literal("tool"), content: z.array(z.string()).max(1) }),
]);

test.each<[z.ZodType, unknown, string]>([
  [schema, { limit: 11 }, "limit: expected number to be <=10, received 11."],
  [schema, { limit: "1" }, 'limit: expected number, received string "1".'],
  [z.int(), 1.5, "expected int, received number 1.5."],
  [z.string(), null, "expected string, received null."],
  [z.enum(["a", "b"]), "c", 'expected one of "a"|"b", received "c".'],
  [z.enum(["a", "b"]), "c".repeat(100), 'expected one of "a"|"b".'],
  [z.iso.date(), "soon", 'Invalid ISO date, received "soon".'],
  [said, { role: "usr" }, 'role: expected one of "user"|"tool", received "usr".'],
  [
    said,
    { role: "user", content: "a long text" },
    "content: expected string to have <=3 characters, received 11.",
  ],
  [
    said,
    { role: "tool", content: ["a", "b"] },
    "content: expected array to have <=1 items, received 2.",
  ],
  [z.string().min(1), "", "expected string to have >=1 characters."],
])("with what was given, it is told (%#)", (one, value, expected) => {
  const { error } = one.safeParse(value, { reportInput: true });
  expect(issuesText(issuesOf(error ?? { issues: [] }))).toBe(expected);
});

test("names in a sentence are renamed for a wire, all of them, and no word of the key", () => {
  const wire = (name: string) => name.toUpperCase();
  const key = "x. It takes y, z";
  expect(withMeant(unrecognizedKey(key, undefined, ["a", "b"]), wire)).toBe(
    'Unrecognized key: "x. It takes y, z". It takes A, B.',
  );
  expect(withMeant(unrecognizedKey(key, "a"), wire)).toBe(
    'Unrecognized key: "x. It takes y, z". Did you mean A?',
  );
  expect(withMeant("content: It takes a, b.", wire)).toBe("content: It takes a, b.");
});

test("names are looked for as often as they are told, whatever a request has", () => {
  const { error } = schema.safeParse(
    Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`limi${at}`, at])),
  );
  const issues = issuesOf(error ?? { issues: [] }, () => ["limit"]);
  expect(issues).toHaveLength(20);
});

test("a failure that is printed whole does not say its issues twice", () => {
  const issues = [{ path: ["limit"], message: "expected number, received string" }];
  const error = new SessionError("INVALID_PARAMS", { issues });
  expect(error.issues).toEqual(issues);
  expect(inspect(error)).not.toContain("issues:");
});
