import * as fc from "fast-check";
import { expect, test } from "vitest";
import { trials } from "../../test/support/trials.ts";
import { ANCHOR_FORMS, ANCHOR_KINDS } from "./anchor-forms.ts";
import { anchorsIn } from "./anchors.ts";

/** All forms tried at every place where a word begins: what `anchorsIn` finds, without its shortcuts. */
const EVERY_FORM = new RegExp(
  `(?<![\\w@./-])(?:${ANCHOR_KINDS.map((kind) => `(?<${kind}>${formsOf(kind)})`).join("|")})`,
  "g",
);

function formsOf(kind: string): string {
  return ANCHOR_FORMS.filter((form) => form.kind === kind)
    .map(({ form }) => form)
    .join("|");
}

/** As `anchorsIn` has it: too random for a name. */
const looksRandom = (text: string) =>
  [/^[\w+/=-]{32,}$/, /[a-z]/, /[A-Z]/, /\d/].every((form) => form.test(text));

/** Kind and text, without a stop behind it and quotes around it. */
function foundByEveryForm(text: string): string[] {
  return [...text.matchAll(EVERY_FORM)].flatMap(({ groups = {}, index, 0: whole }) => {
    const [kind, found = ""] =
      Object.entries(groups).find(([, matched]) => matched !== undefined) ?? [];
    const bare = found
      .replace(/^`|`$/g, "")
      .replace(/[.,;:!?]+$/, "")
      .trim();
    const isCall = kind === "paths" && text[index + whole.length] === "(" && !bare.includes("/");
    const isAnchor = bare !== "" && bare.length <= 120 && !looksRandom(bare) && !isCall;
    return isAnchor ? [`${kind} ${bare}`] : [];
  });
}

const EXAMPLES = [
  ..."src/server.ts ./a/b.c ~/.config/rkat/config.toml /etc/hosts @scope/name a/b/c C:\\Users\\ada\\x.txt".split(
    " ",
  ),
  ..."https://example.org/a?b=1 git+ssh://git@host/x.git ada@example.org README.md".split(" "),
  ..."ECONNREFUSED TS2304 0xdeadbeef SIGKILL TypeError HTTP 404 error 5 exit code 1 status:500".split(
    " ",
  ),
  "019467d9-7e3a-7000-8000-000000000000",
  ..."9fceb02 std::vec::Vec --dry-run max_tokens getUser HttpServer ABC-123 gpt-4.1 os.path.join() run()".split(
    " ",
  ),
  ..."v1.2.3 #42 10.0.0.1:8080 `npm ci` 2024-05-01 10:30 $5 €7,50 30 s 80 % 5ms 12 rows 1.5 1,000 443".split(
    " ",
  ),
];
const ordinaryText = fc
  .array(
    fc.tuple(
      fc.oneof(
        fc.constantFrom(...EXAMPLES),
        fc.constantFrom(..."the port of a Service listens on, déjà vu 東京 and".split(" ")),
        fc.stringMatching(/^[a-zA-Z0-9_]{1,8}$/),
        fc.nat(99_999).map(String),
      ),
      fc.constantFrom(..."    .,:;-_/=()'\"`\n".split(""), ". ", ", ", ": ", " (", ") "),
    ),
    { maxLength: 30 },
  )
  .map((pairs) => pairs.flat().join(""));

test("finds the same anchors as trying every form at every place", () => {
  fc.assert(
    fc.property(ordinaryText, (text) => {
      const found = anchorsIn(text).map((anchor) => `${anchor.kind} ${anchor.text}`);
      expect(found).toEqual(foundByEveryForm(text));
    }),
    { numRuns: trials(40, 500) },
  );
});

/** What the numbers of a text are the values of; a bare number is left out. */
const valuesIn = (text: string) =>
  anchorsIn(text).flatMap(({ kind, value, shown }) => (kind === "numbers" && value ? [shown] : []));

test.each([
  ["The server listens on port 7443.", ["port 7443"]],
  [
    "batch size: 250, and the statement timeout is 5 s",
    ["batch size: 250", "statement timeout is 5 s"],
  ],
  ["48,216 events missing since noon", ["48,216 events missing"]],
  ["My budget is 900 euros, do not exceed it.", ["budget is 900 euros"]],
  ["The p99 latency went above 190 ms at 16:40.", ["p99 latency went above 190 ms"]],
  ["noise is 0.06 % of the 15-minute volume", ["noise is 0.06 % of the 15-minute volume"]],
  ['"batch_size": 250 and PORT=7443', ["batch_size: 250", "PORT=7443"]],
  ["a meeting at 10:30, deadline: 2026-03-12", ["meeting at 10:30", "deadline: 2026-03-12"]],
  ["Die Wartezeit von 30 s gilt, der Port ist 7443", ["Wartezeit von 30 s", "Port ist 7443"]],
  ["サーバーのポートは7443番です", ["サーバーのポートは7443番です"]],
])("a number stands with what it is the value of: %s", (text, shown) => {
  expect(valuesIn(text)).toEqual(shown);
});

test.each([
  "before Thursday 13:31, 4.7.1, and then 2.9 s, have saved 5,140, out of 38,900, 0.5",
  "himself at 16:52, closed at 16:40, today 11:30, am 2024-05-06, vor Freitag um 13:31",
  "src/a.ts:152, line 152, lines 153, 154, Zeile 230, at 12:50",
  "  151\tconst a\n  152→const b\n  153|const c",
  "16:40:12 started\n2026-02-26T13:31:02Z stopped",
  "51158 13 37\n| 4711 | 12 | 2026 |",
  "it took 4.5 s, we saved 1200, the backfill put 38,116",
])("a number that nothing names is bare: %s", (text) => {
  expect(valuesIn(text)).toEqual([]);
});

test("leaves credentials out", () => {
  const key = `ghp_${"aB3dE5gH7jK9mN2pQ4sT6vW8xY1zC0fL"}`;
  expect(anchorsIn(`It is ${key}, at postgres://ada:hunter2@db/shop.`)).toEqual([]);
});

test("a run without spaces is tried from four places, so that no text takes long", () => {
  // Every place behind a `+` would read the whole run otherwise.
  const linksIn = (text: string) => anchorsIn(text).filter(({ kind }) => kind === "links");
  expect(linksIn(`${"x@+".repeat(1)}ada@example.org`)).toHaveLength(1);
  expect(linksIn(`${"x@+".repeat(9)}ada@example.org`)).toHaveLength(0);
  expect(linksIn(`${"x@+".repeat(9)}! ada@example.org`)).toHaveLength(1);
});

test("for any text: a value stands in it word for word, no longer than a line, and soon found", () => {
  fc.assert(
    fc.property(ordinaryText, (text) => {
      const plain = (said: string) => said.replace(/["'`:=\s>：]+/g, " ").trim();
      for (const { shown, text: number, value } of anchorsIn(text)) {
        if (!value) continue;
        expect(shown).toContain(number);
        expect(shown.length).toBeLessThan(160);
        expect(plain(text)).toContain(plain(shown));
      }
    }),
  );
  for (const piece of [
    "ab 12 ",
    "a: 12 ",
    "is 12 of the ",
    "日12",
    "a=12,",
    '"a":12',
    `${"x ".repeat(40)}12`,
  ]) {
    expect(anchorsIn(piece.repeat(100_000 / piece.length)).length).toBeLessThanOrEqual(6_000);
  }
});

test("a table of data gives a bounded number of anchors", () => {
  expect(anchorsIn("1% ".repeat(30_000))).toHaveLength(6_000);
});
