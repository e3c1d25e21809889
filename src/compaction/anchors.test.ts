import * as fc from "fast-check";
import { expect, test } from "vitest";
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
  return [...text.matchAll(EVERY_FORM)].flatMap(({ groups = {} }) => {
    const [kind, found = ""] =
      Object.entries(groups).find(([, matched]) => matched !== undefined) ?? [];
    const bare = found
      .replace(/^`|`$/g, "")
      .replace(/[.,;:!?]+$/, "")
      .trim();
    const isAnchor = bare !== "" && bare.length <= 120 && !looksRandom(bare);
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
    { numRuns: 500 },
  );
});

test("shows a number with the words before it", () => {
  const [anchor] = anchorsIn("The server listens on port 7443.");
  expect(anchor).toEqual({ kind: "numbers", text: "7443", shown: "on port 7443" });
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

test("a table of data gives a bounded number of anchors", () => {
  expect(anchorsIn("1% ".repeat(30_000))).toHaveLength(6_000);
});
