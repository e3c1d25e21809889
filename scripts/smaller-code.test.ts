import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync } from "rolldown/utils";
import { expect, inject, test } from "vitest";
import { smallerCode } from "./smaller-code.ts";

const TRICKY = String.raw`
import * as all from "x = y";
export { all as "a , b" };
const texts = [" a , b ", ' { } ', ~  @{ all ? { a : 1 }[ ~ = ~ ] : 2 }  (
   kept ) ~];
const pattern = / [ ,] = ( a | b ) \/ /u, half = texts.length / 2 / 3;
/* a , comment */ const /* = */ few = all ? .5 : - - 1 + + 2;
class Strange extends (class { }) {
  static #of = 1 < ! --texts.length;
  async * each ( { a = [ ], ...rest } ) { for await ( const [ x ] of a ) yield * x ?? rest; }
  get [ "a = b" ] ( ) { return typeof ( void 0 ) === "a" in { } || ! / , /.test ( "" ); }
}
class Fields {
  static;
  get;
  one() { return; }
  a = texts;
  *b() {}
  #c;
  in;
  d = few
  ;
  ["e"] = 1;
  #f;
  instanceof() { if (few) half; else throw few; for (;;); }
}
let last = few;
(half), last = half;
[half] = [last];
+ half; do few; while (few);
~~;
if (few);
last = half
label : for ( ; ; ) { if ( half ) { break label } else throw [ ]; }
`
  .replaceAll("~", "`")
  .replaceAll("@{", "${");

/** The program of a code, without where each part stands. */
function programOf(code: string): string {
  const places = new Set(["start", "end", "range", "loc", "parent"]);
  const { program, errors } = parseSync("code.js", code);
  expect(errors).toEqual([]);
  return JSON.stringify(program, (name, value) => {
    if (places.has(name)) return undefined;
    return typeof value === "bigint" ? `${value}n` : value;
  });
}

test("all that spaces may mean stays", () => {
  const smaller = smallerCode("code.js", TRICKY);
  expect(programOf(smaller)).toBe(programOf(TRICKY));
  expect(smaller).toContain("{all?{a:1}[` = `]:2}  (\n   kept ) `");
  expect(smaller).toContain("/ [ ,] = ( a | b ) \\/ /u,half=texts.length / 2 / 3;");
});

test("a line begins with each statement and each member, and with no other part", () => {
  const lists =
    "const few = [\n  1,\n  {\n    a: 2\n  }\n];\nclass Own {\n  a = 1;\n  b() {\n    go(\n      few,\n      1\n    );\n    // it ends,\n    stop();\n  }\n}\n";
  const lines = [
    "const few=[1,{a:2}]",
    "class Own{",
    "a=1",
    "b(){",
    "go(few,1);",
    "// it ends,",
    "stop()}}",
    "",
  ];
  expect(smallerCode("code.js", lists)).toBe(lines.join("\n"));
});

test("what a search loads is the same program", () => {
  const files = globSync(join(inject("packageFolder"), "dist/{search,store}-*.js"));
  expect(files.length).toBeGreaterThan(1);
  for (const file of files) {
    const code = readFileSync(file, "utf8");
    const smaller = smallerCode("search.js", code);
    expect(programOf(smaller)).toBe(programOf(code));
    expect(smaller.length).toBeLessThan(0.95 * code.length);
  }
});
