import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Message, summaryMessage } from "../core/message.ts";
import { anchorsIn } from "./anchors.ts";
import { compactHistory } from "./compact-history.ts";
import { jsonTextBytes } from "./cut-text.ts";
import { keepAnchors, withoutAnchors } from "./keep-anchors.ts";

const user = (content: string): Message => ({ role: "user", content });
const assistant = (content: string): Message => ({ role: "assistant", content });

const kinds = (text: string) => {
  const found: Record<string, string[]> = {};
  for (const { kind, shown } of anchorsIn(text)) found[kind] = [...(found[kind] ?? []), shown];
  return found;
};

describe("anchors", () => {
  test("are paths, links, error codes, identifiers and numbers, in any language", () => {
    expect(
      kinds(
        "Fix src/agent/run-turn.ts, ./a and /etc/hosts; see https://example.com/x?y=1. It says ENOENT, " +
          "TS2345 and exit code 3. Call fooBar, MAX_RETRIES or `npm run x` of claude-sonnet-4-5, ABC-123, #42. " +
          "Der Port ist 7443, Wartezeit von 30 s, 99.9 % am 2024-05-06. 日本語のファイル package.json、12345 個。",
      ),
    ).toEqual({
      paths: ["src/agent/run-turn.ts", "./a", "/etc/hosts", "package.json"],
      links: ["https://example.com/x?y=1"],
      errors: ["ENOENT", "TS2345", "exit code 3"],
      names: ["fooBar", "MAX_RETRIES", "npm run x", "claude-sonnet-4-5", "ABC-123", "#42"],
      numbers: ["Port ist 7443", "Wartezeit von 30 s", "99.9 %", "2024-05-06", "12345 個"],
    });
  });

  test("are not plain words, and never look like a credential", () => {
    expect(kinds("Yes and/or no, e.g. this; i.e. that. Well-known, isn't it? Go on...")).toEqual(
      {},
    );
    expect(
      kinds(
        "postgres://ada:secret@db.example.com/x, the key sk-ant-api03-abcdefghijklmnopqrstuvwx and Zm9vYmFyQmF6UXV4MTIzNDU2Nzg5MGFiY2Q=",
      ),
    ).toEqual({});
  });

  test("are looked for without going back and forth, whatever the text is made of", () => {
    // A pattern that backtracks would not come to an end here.
    for (const piece of [
      "1,",
      "a/",
      "a.",
      "aA",
      "/",
      "a_",
      "C:\\",
      "x@",
      "0",
      "`",
      "--a",
      "ab12",
    ]) {
      expect(anchorsIn(piece.repeat(100_000 / piece.length)).length).toBeGreaterThanOrEqual(0);
    }
  });
});

describe("keeping anchors", () => {
  const discarded = [
    user("The staging port is 7443, and the config is deploy/staging.yaml."),
    assistant("I changed deploy/staging.yaml and MAX_RETRIES."),
    user("Now src/server.ts, please."),
  ];

  test("those missing from the summary and the retained messages are appended, the weightiest first", () => {
    const retained = [assistant("src/server.ts is next.")];
    const { text, report } = keepAnchors("They set MAX_RETRIES.", { discarded, retained }, 4000);
    expect(text).toMatchInlineSnapshot(`
      "They set MAX_RETRIES.

      [Also mentioned, word for word]
      paths: deploy/staging.yaml
      numbers: staging port is 7443"
    `);
    expect(report).toEqual({
      found: 4,
      in_history: 1,
      in_summary: 1,
      appended: 2,
      only_in_memory: 0,
      names: [],
    });
    expect(withoutAnchors(text)).toBe("They set MAX_RETRIES.");
  });

  test("a name inside a longer one is not there", () => {
    const { report } = keepAnchors("See src/server.tsx.", { discarded, retained: [] }, 4000);
    expect(report.in_summary).toBe(0);
  });

  test("without room for them, the report names the anchors that only a search brings back", () => {
    const { text, report } = keepAnchors("So far. ".repeat(20), { discarded, retained: [] }, 160);
    expect(jsonTextBytes(text)).toBeLessThanOrEqual(160);
    expect(report.only_in_memory).toBe(4);
    expect(report.names).toContain("deploy/staging.yaml");
  });

  test("it takes no more than its room, is always the same, and every anchor is accounted for", () => {
    const piece = fc.constantFrom(
      "src/a.ts ",
      "fooBar ",
      "日本語 12345 ",
      '"quoted" ',
      "\u0001",
      "https://x.org/y ",
      "ENOENT ",
      "word ",
      "port 80807 ",
    );
    const text = fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join(""));
    fc.assert(
      fc.property(
        fc.array(text),
        fc.array(text),
        text,
        fc.nat(3000),
        (gone, stayed, summary, max) => {
          const source = { discarded: gone.map(user), retained: stayed.map(assistant) };
          const { text, report } = keepAnchors(summary, source, max);
          expect(jsonTextBytes(text)).toBeLessThanOrEqual(max);
          const { found, in_history, in_summary, appended, only_in_memory } = report;
          expect(in_history + in_summary + appended + only_in_memory).toBe(found);
          expect(Math.min(in_summary, appended)).toBeGreaterThanOrEqual(0);
          expect(keepAnchors(summary, source, max).text).toBe(text);
        },
      ),
    );
  });
});

describe("a compaction", () => {
  const filler = " and so on".repeat(60);
  const messages = Array.from({ length: 20 }, (_, turn) => [
    user(`Question ${turn} about src/part${turn}.ts${filler}`),
    assistant(`Answer ${turn}${filler}`),
  ]).flat();
  const config = { autoCompactThreshold: 3000 };

  test.each([
    ["a model's summary", async () => "They talked."],
    ["the fallback", undefined],
  ])("with %s names what it lost, within its room", async (_, summarize) => {
    const result = await compactHistory({
      messages,
      ...config,
      ...(summarize ? { summarize } : {}),
    });
    expect(result.summary).toContain("src/part3.ts");
    expect(result.outcome === "compacted" && result.anchors?.found).toBeGreaterThan(10);
    expect(result.tokensAfter).toBeLessThan(3000);
  });

  test("names them again when the summary is summarised, and its heading once", async () => {
    const first = await compactHistory({ messages, ...config });
    const more = messages.map((message) => ({ ...message }));
    const second = await compactHistory({ messages: [...first.messages, ...more], ...config });
    expect(second.summary?.match(/Also mentioned/g)).toHaveLength(1);
    expect(second.summary).toContain("src/part3.ts");
  });

  test("leaves summaries alone when asked to", async () => {
    const own = { messages, ...config, userWordsTokens: 0 };
    const options = { ...own, summarize: async () => "They talked." };
    const result = await compactHistory({ ...options, keepAnchors: false });
    expect(result.summary).toBe("They talked.");
    expect(summaryMessage("They talked.")).toEqual(result.messages[0]);
  });
});

test("the marks of a summary that no model wrote name nothing", () => {
  const summary = summaryMessage(
    "[Earlier] [Start] Fix it.\n[Tool: read_file]\n[Result: 2018.mbox 2019.mbox 2020.mbox]\n[Latest] 77 rows are left.",
  );
  const { text } = keepAnchors(
    "The mails were counted.",
    { discarded: [summary], retained: [] },
    4000,
  );
  expect(text).not.toMatch(/Result|Latest|Start/);
});

test("what a tool wrote keeps its settings, and no lines, hashes, times and columns", () => {
  const result = (content: string): Message => ({
    role: "tool_results",
    results: [{ tool_use_id: "c", content, is_error: false }],
  });
  const read = Array.from({ length: 80 }, (_, line) => `   ${152 + line}→  const row${line} = 1;`);
  const listing = Array.from({ length: 20 }, (_, file) => `"size": ${4096 + file}, "mode": 33188`);
  const discarded = [
    user("Look at the settings."),
    result(`${read.join("\n")}\n   300→export const POOL_SIZE = 4200;`),
    result(listing.join("\n")),
    result(
      "2026-02-26T13:31:02Z GET 200 in 4711\n4752c398444547 4.7.1 --reverse r.id\nsince: 13:31",
    ),
    result("12 failed of 443\nlisten EADDRINUSE 0.0.0.0:8443"),
  ];
  const { text } = keepAnchors("They looked.", { discarded, retained: [] }, 4000);
  expect(text).toContain("POOL_SIZE=4200");
  expect(text).toContain("EADDRINUSE");
  expect(text).not.toMatch(/\b15[2-9]\b|\b2[0-3]\d\b|409\d|13:31|4711|4752c|--reverse|r\.id/);
  expect(text).toMatch(/^numbers: [^,]*$/m);
});
