import fc from "fast-check";
import { expect, test } from "vitest";
import { trials } from "../../test/support/trials.ts";
import { beforeInsertions, type Content, withContent, withoutContent } from "./change-text.ts";
import { parseJsonText } from "./json-text.ts";

const SERVER = { command: "/usr/bin/node", args: ["/opt/rkat/bin/rkat.js", "mcp"] };
const HOOK = { hooks: [{ type: "command", command: "rkat hook Stop" }] };

const JSON_CONTENT: Content & { kind: "json" } = {
  kind: "json",
  edits: [
    { path: ["mcpServers", "rkat"], value: SERVER },
    { path: ["hooks", "Stop"], isItem: true, value: HOOK },
    { path: ["hooks", "PreCompact"], isItem: true, value: HOOK },
    { path: ["hooks", "PreCompact"], isItem: true, value: { hooks: [] } },
  ],
};

const toml: Content = { kind: "toml", table: ["mcp_servers", "rkat"], values: SERVER };

/** A file of settings, with what rkat writes perhaps already there in other hands. */
const settings = fc.dictionary(
  fc.oneof(fc.constantFrom("mcpServers", "hooks", "model", "a b", "__proto__", ""), fc.string()),
  fc.oneof(
    fc.jsonValue(),
    fc.constantFrom({}, { other: SERVER }, { Stop: [] }, { Stop: [HOOK] }, { PreCompact: [1] }),
  ),
);

const text = fc
  .tuple(settings, fc.constantFrom(undefined, 2, 4, "\t"), fc.constantFrom("\n", "\r\n"))
  .map(([value, indent, newline]) => JSON.stringify(value, null, indent).replaceAll("\n", newline));

/** The text after it was changed and changed back, and in between. */
async function thereAndBack(before: string, content: Content) {
  const changed = await withContent(before, content).catch(() => undefined);
  if (!changed) return undefined;
  const rest = await withoutContent(changed.text, changed);
  return { changed, exact: beforeInsertions(changed.text, changed.insertions), rest };
}

test("content put into settings is taken out again, byte for byte, and all else stays in order", async () => {
  let done = 0;
  const law = fc.asyncProperty(text, async (before) => {
    const result = await thereAndBack(before, JSON_CONTENT);
    // Something else may be where rkat's settings go.
    if (!result) return;
    done += 1;
    const { changed, exact, rest } = result;
    expect(exact).toBe(before);
    expect(JSON.parse(rest)).toEqual(JSON.parse(before));
    expect(Object.keys(JSON.parse(rest))).toEqual(Object.keys(JSON.parse(before)));
    const after = JSON.parse(changed.text);
    expect(after.mcpServers.rkat).toEqual(SERVER);
    expect(after.hooks.Stop).toContainEqual(HOOK);
    expect((await withContent(changed.text, JSON_CONTENT)).text).toBe(changed.text);
  });
  await fc.assert(law, { numRuns: trials(150, 20_000) });
  expect(done).toBeGreaterThan(100);
});

test("additions of others stay", async () => {
  const changed = await withContent('{"model": "opus"}', JSON_CONTENT);
  const settings = JSON.parse(changed.text);
  settings.mcpServers.other = { command: "other" };
  settings.hooks.Stop.unshift({ hooks: [{ type: "command", command: "theirs" }] });
  settings.last = true;
  const rest = await withoutContent(JSON.stringify(settings), changed);
  expect(JSON.parse(rest)).toEqual({
    model: "opus",
    mcpServers: { other: { command: "other" } },
    hooks: { Stop: [{ hooks: [{ type: "command", command: "theirs" }] }] },
    last: true,
  });
});

test.each([
  '{\n  // mine\n  "a": 1, /* yours */\n}\n',
  '{"hooks": {"Stop": [1, /* first */ 2,],}, // all\n}',
  '/* above */ {\r\n\t"mcpServers": {"other": {},},\r\n} // below\r\n',
])("comments and a last comma stay where people wrote them", async (before) => {
  const { exact, changed } = (await thereAndBack(before, JSON_CONTENT)) ?? {};
  expect(exact).toBe(before);
  for (const [comment] of before.matchAll(/\/\*.*?\*\/|\/\/.*/g)) {
    expect(changed?.text).toContain(comment);
  }
  const { text: again } = await withContent(changed?.text, JSON_CONTENT);
  expect(again).toBe(changed?.text);
});

test.each([
  ['{"mcpServers": {"rkat": {"command": "mine"}}}', "it has another mcpServers.rkat already"],
  ['{"hooks": []}', "hooks is not an object"],
  ['{"hooks": {"Stop": "no"}}', "it has another hooks.Stop already"],
  ["[1]", "its content is not an object"],
  ['{"a": 1', "it is not JSON (line 1)"],
  ['{"a": 01x}', "it is not JSON (line 1)"],
  ["[".repeat(100_000), "it is nested too deeply"],
])("a file that cannot take the settings says why", async (before, reason) => {
  await expect(withContent(before, JSON_CONTENT)).rejects.toThrow(reason);
});

test("JSON without comments and last commas is read as JSON.parse reads it", () => {
  const law = fc.property(fc.oneof(text, fc.string(), fc.json()), (given) => {
    const isJson = (read: () => unknown) => {
      try {
        read();
        return true;
      } catch {
        return false;
      }
    };
    // JSON.parse refuses a byte order mark, which programs strip, and odd spaces.
    fc.pre(!/[^\S \t\r\n]|\uFEFF|\p{Cc}/u.test(given.replaceAll(/[\n\r\t]/g, "")));
    fc.pre(!/\/[/*]|,\s*[}\]]/.test(given));
    expect(isJson(() => parseJsonText(given))).toBe(isJson(() => JSON.parse(given)));
  });
  fc.assert(law, { numRuns: trials(100, 50_000) });
});

test.each([
  "",
  'model = "o5" # mine\n',
  '[mcp_servers.other]\ncommand = "x"',
  '# only a comment\r\n[a]\r\nb = """\r\n[mcp_servers.rkat]\r\n"""\r\n',
])("a TOML file keeps its text and its comments", async (before) => {
  const result = await thereAndBack(before, toml);
  expect(result?.exact).toBe(before);
  expect(result?.rest).toBe(before);
  if (!result) throw new Error("It cannot be changed.");
  const { changed } = result;
  expect(changed.text.startsWith(before)).toBe(true);
  const more = `${changed.text}\n[later]\nc = 1\n`;
  expect(await withoutContent(more, changed)).toBe(`${before}\n[later]\nc = 1\n`);
});

test.each([
  ["mcp_servers = {}\n", "its mcp_servers takes no further tables: write it as [mcp_servers.…]"],
  ["a = \n", "it is not TOML (line 1, column 5)"],
  ['[mcp_servers.rkat]\ncommand = "mine"\n', "it has another mcp_servers.rkat already"],
])("a TOML file that cannot take the table says why", async (before, reason) => {
  await expect(withContent(before, toml)).rejects.toThrow(reason);
});

test("the comments of others beside what is taken out stay", async () => {
  const content: Content = { kind: "json", edits: [{ path: ["list"], isItem: true, value: 1 }] };
  const changed = await withContent('{"list": []}', content);
  for (const [before, after] of [
    ['{"list": [1, // one, or\n 2]}', '{"list": [ // one, or\n 2]}'],
    ['{"list": [0, /* zero, */ 1]}', '{"list": [0 /* zero, */ ]}'],
    ['{"list": [0 // zero\n , 1,]}', '{"list": [0 // zero\n  ,]}'],
    ['{"list": [ // the list\n 1, // one\n]}', '{"list": [ // the list\n  // one\n]}'],
    ['{"list": [ 1 , ]}', '{"list": []}'],
  ] as const) {
    expect(await withoutContent(before, { ...changed, added: content })).toBe(after);
    parseJsonText(after);
  }
});
