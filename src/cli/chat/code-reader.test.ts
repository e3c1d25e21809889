import fc from "fast-check";
import { expect, test } from "vitest";
import { trials } from "../../../test/support/trials.ts";
import { CodeReader } from "./code-reader.ts";

/** The words of each kind in a block of code. */
function kindsIn(language: string, code: string): Readonly<Record<string, readonly string[]>> {
  const reader = new CodeReader(language);
  const kinds: Record<string, string[]> = {};
  for (const line of code.split("\n")) {
    for (const { text, kind } of reader.read(line) ?? []) {
      if (kind) kinds[kind] = [...(kinds[kind] ?? []), text];
    }
  }
  return kinds;
}

test.each([
  ["ts", 'const a = "b"; // c', { keyword: ["const"], string: ['"b"'], comment: ["// c"] }],
  ["tsx", "return null;", { keyword: ["return"], value: ["null"] }],
  ["JSON", '{"a": 1}', { string: ['"a"'], value: ["1"] }],
  ["python", "def f(): return 'x'  # y", { keyword: ["def", "return"], string: ["'x'"] }],
  ["bash", "if true; then echo 'a'; fi # b", { keyword: ["if", "then", "fi"], comment: ["# b"] }],
  ["rs", "let a = 1; // b", { keyword: ["let"], value: ["1"], comment: ["// b"] }],
  ["c++", 'return "a"; // b', { keyword: ["return"], string: ['"a"'], comment: ["// b"] }],
  ["sql", "SELECT 1 -- a", { keyword: ["SELECT"], value: ["1"], comment: ["-- a"] }],
  ["html", "<!-- a --><b>c</b>", { comment: ["<!-- a -->"], name: ["b", "b"] }],
  ["diff", "-a\n+b", { removed: ["-a"], added: ["+b"] }],
  ["yaml", "# a\nb: 'c'", { value: ["b"], string: ["'c'"] }],
])("the parts of %s have their kinds: %s", (language, code, kinds) => {
  expect(kindsIn(language, code)).toMatchObject(kinds);
});

test("a text over several lines is read on, also where the last line is not complete", () => {
  const reader = new CodeReader("python");
  reader.read('"""one');
  expect(reader.peek("two")).toEqual([{ text: "two", kind: "string" }]);
  expect(reader.peek('two"""')).toEqual([{ text: 'two"""', kind: "string" }]);
  expect(reader.read("two")).toEqual([{ text: "two", kind: "string" }]);
});

test("code of an unknown language, and a line longer than any that people write, have no parts", () => {
  expect(new CodeReader("").read("let a")).toBeUndefined();
  expect(new CodeReader("nosuch").read("let a")).toBeUndefined();
  expect(new CodeReader("constructor").read("let a")).toBeUndefined();
  expect(new CodeReader("ts").read("a".repeat(5000))).toBeUndefined();
  expect(new CodeReader("yaml").read(" ".repeat(300))).toBeUndefined();
});

test("a line is read in the same way each time, also where it is no code", () => {
  new CodeReader("ts").read("a = ");
  const first = new CodeReader("ts").read("\\\\/");
  new CodeReader("ts").read("a");
  expect(new CodeReader("ts").read("\\\\/")).toEqual(first);
});

test("the parts of any line are the line", () => {
  const language = fc.constantFrom("ts", "json", "py", "sh", "rs", "go", "c", "html", "css", "sql");
  const piece = fc.constantFrom(
    ..."(){}[]<>\"'`/*\\#$%&@:=;.,-+!?|~^_ \ta0é日".split(""),
    "/*",
    "=>",
  );
  const line = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(""));
  fc.assert(
    fc.property(language, fc.array(line, { maxLength: 12 }), (name, lines) => {
      const reader = new CodeReader(name);
      for (const each of lines) {
        const peeked = reader.peek(each);
        const parts = reader.read(each) ?? [];
        expect(parts.map(({ text }) => text).join("")).toBe(each);
        expect(peeked).toEqual(parts);
      }
    }),
    { numRuns: trials(200, 5000) },
  );
});
