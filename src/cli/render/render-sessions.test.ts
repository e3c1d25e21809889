import { expect, test } from "vitest";
import { summaryMessage } from "../../core/message.ts";
import type { SessionSummary, SessionView } from "../../core/operations/sessions.ts";
import { NO_USAGE, tokenUsage } from "../../core/usage.ts";
import { renderSession, renderSessionList, shortIds } from "./render-sessions.ts";
import { PLAIN } from "./style.ts";

const NOW = Date.parse("2026-01-02T00:00:00Z");

const SESSION: SessionSummary = {
  sessionId: "019b0000-0000-7000-8000-000000000001",
  createdAt: "2026-01-01T00:00:00Z",
  updatedAt: "2026-01-01T21:00:00Z",
  model: "openai/gpt-5",
  turns: 12,
  messageCount: 40,
  totalTokens: 1_234_567,
  archived: false,
  labels: {},
  source: { agent: "rkat", nativeId: "019b0000-0000-7000-8000-000000000001" },
};

test("ids are as short as they can be told apart, and never shorter than 13 characters", () => {
  const ids = ["aaaaaaaa-1111-7111", "aaaaaaaa-1111-7211", "bbbbbbbb-1111-7111"];
  const short = ["aaaaaaaa-1111-71", "aaaaaaaa-1111-72", "bbbbbbbb-1111"];
  expect([...shortIds(ids).values()]).toEqual(short);
  expect([...shortIds(["same-id-twice", "x"]).keys()]).toHaveLength(2);
  expect([...shortIds(["claude-code:0d5c2f6e-3b1a-4a54"]).values()]).toEqual([
    "claude-code:0d5c2f6e-3b1a",
  ]);
});

test("a table that a terminal would wrap leaves out the model, and then the tokens", () => {
  const heads = (columns: number) =>
    renderSessionList([SESSION], NOW, PLAIN, columns, { wraps: true }).split("\n")[0];
  expect(heads(80)).toMatch(/MODEL/);
  expect(heads(50)).toMatch(/^SESSION +LAST USED +TURNS +TOKENS +LABELS$/);
  expect(heads(40)).toMatch(/^SESSION +LAST USED +TURNS +LABELS$/);
});

test("a title takes the columns that are left on a terminal, and is left out below ten of them", () => {
  const titled = { ...SESSION, source: { ...SESSION.source, title: "Why did build 1042 fail?" } };
  const lines = (columns: number) =>
    renderSessionList([titled], NOW, PLAIN, columns, { wraps: true }).split("\n");
  expect(lines(60)[1]).toMatch(/ 12 {2}Why did build 1042…$/);
  expect(lines(52)[1]).toMatch(/ 12 {2}Why did bu…$/);
  expect(lines(50)[1]).toMatch(/ 12$/);
  for (const columns of [40, 45, 50, 60, 80, 120]) {
    expect(Math.max(...lines(columns).map((line) => line.length))).toBeLessThanOrEqual(columns);
  }
});

test("labels stay where a column that would go first is not there", () => {
  const source = { agent: "codex", nativeId: "a", title: "The port of the staging server" };
  const imported = { ...SESSION, model: "", totalTokens: 0, source, store: "user" as const };
  expect(renderSessionList([imported], NOW, PLAIN, 60)).toContain("(user)");
});

test("sessions are listed in a table", () => {
  const other = {
    ...SESSION,
    sessionId: "019c0000-0000-7000-8000-000000000001",
    turns: 1,
    totalTokens: 9,
    updatedAt: "2026-01-01T23:59:58Z",
    archived: true,
    labels: { team: "core", 言語: "日本語" },
  };
  expect(renderSessionList([other, SESSION], NOW, PLAIN, 80)).toMatchInlineSnapshot(`
    "SESSION        LAST USED  TURNS     TOKENS  MODEL         LABELS
    019c0000-0000  just now       1          9  openai/gpt-5  team=core 言語=日本語 (archived)
    019b0000-0000  3 h ago       12  1 234 567  openai/gpt-5
    "
  `);
});

test("the tokens of another agent's session are not known, so the table has none", () => {
  const source = { agent: "codex", nativeId: "a", title: "The port" };
  const imported = { ...SESSION, sessionId: "codex:a", totalTokens: 0, source };
  expect(renderSessionList([imported], NOW, PLAIN, 120)).toMatch(
    / 12 {2}openai\/gpt-5 {2}The port\n/,
  );
});

test("a session whose agent wrote no times has none", () => {
  const untimed = { ...SESSION, updatedAt: "1970-01-01T00:00:00.000Z" };
  expect(renderSessionList([untimed], NOW, PLAIN, 120)).toMatch(/ {2}no time +12 /);
});

test("in a narrow terminal titles are cut, and columns that matter less are left out", () => {
  const source = {
    agent: "claude-code",
    nativeId: "0d5c2f6e-3b1a-4a54-9d5f-6f1f2a7b8c9d",
    title: "Why did build 1042 fail, and which file was not committed?",
    model: "claude-sonnet-4-5-20250929",
  };
  const sessionId = `claude-code:${source.nativeId}`;
  const imported = { ...SESSION, sessionId, totalTokens: 0, source, store: "user" as const };
  const table = (columns: number) => renderSessionList([imported, SESSION], NOW, PLAIN, columns);
  expect(table(80)).toMatchInlineSnapshot(`
    "SESSION                    LAST USED  TURNS  TITLE                        LABELS
    claude-code:0d5c2f6e-3b1a  3 h ago       12  Why did build 1042 fail, a…  (user)
    019b0000-0000              3 h ago       12
    "
  `);
  expect(table(120)).toMatchInlineSnapshot(`
    "SESSION                    LAST USED  TURNS     TOKENS  MODEL                       TITLE                         LABELS
    claude-code:0d5c2f6e-3b1a  3 h ago       12             claude-sonnet-4-5-20250929  Why did build 1042 fail, an…  (user)
    019b0000-0000              3 h ago       12  1 234 567  openai/gpt-5
    "
  `);
  const subagent = { ...imported, sessionId: `${sessionId}.agent-1a2b3c4d` };
  const family = renderSessionList([subagent, imported, SESSION], NOW, PLAIN, 80);
  expect(family).toMatchInlineSnapshot(`
    "SESSION        LAST USED  TURNS  TITLE                                    LABELS
    claude-code:0d5c2f6e-3b1a-4a54-9d5f-6f1f2a7b8c9d.agent-1a2b3c4d
                   3 h ago       12  Why did build 1042 fail, and which fil…  (user)
    claude-code:0d5c2f6e-3b1a-4a54-9d5f-6f1f2a7b8c9d
                   3 h ago       12  Why did build 1042 fail, and which fil…  (user)
    019b0000-0000  3 h ago       12
    "
  `);
  for (const line of family.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
  for (const columns of [80, 100, 120]) {
    for (const line of table(columns).split("\n")) expect(line.length).toBeLessThanOrEqual(columns);
  }
});

test("a session is shown with what the model sees of it", () => {
  const view: SessionView = {
    ...SESSION,
    isActive: true,
    usage: tokenUsage(NO_USAGE),
    lastAssistantText: "Done.",
    seq: 99,
    compactions: 1,
    recordedCompactions: 0,
    historyTokens: 4321,
    instructions: [{ id: 1, message: 3, text: "Never use the network." }],
    task: { goal: "Look around.", subTasks: [], scratchpad: {}, activeFiles: ["a.ts"] },
    history: [
      { id: 1, turn: -1, message: { role: "system", content: "Be brief." } },
      { id: 50, turn: -1, message: summaryMessage("They talked.") },
      {
        id: 60,
        turn: 11,
        message: { role: "user", content: "Look\n\nat \u001b[2Jthis." },
        origin: { speaker: "Ada", time: "2026-01-01T21:00:00Z" },
      },
      {
        id: 70,
        turn: 11,
        message: {
          role: "block_assistant",
          blocks: [
            { block_type: "reasoning", data: { text: "Hm." } },
            { block_type: "text", data: { text: "Looking." } },
            { block_type: "tool_use", data: { id: "1", name: "read", args: { path: "a.ts" } } },
          ],
          stop_reason: "tool_use",
        },
      },
      {
        id: 80,
        turn: 11,
        message: {
          role: "tool_results",
          results: [
            {
              tool_use_id: "1",
              content: Array.from({ length: 23 }, (_, index) => `line ${index}`).join("\n"),
              is_error: false,
            },
          ],
        },
      },
      {
        id: 90,
        turn: 11,
        message: {
          role: "block_assistant",
          blocks: [{ block_type: "reasoning", data: { text: "Hm." } }],
          stop_reason: "end_turn",
        },
      },
    ],
  };
  expect(renderSession(view, NOW, PLAIN)).toMatchInlineSnapshot(`
    "Session 019b0000-0000-7000-8000-000000000001
    model        openai/gpt-5
    last used    3 hours ago, a turn is running
    turns        12 (40 messages)
    history      6 messages, about 4 321 tokens
    compactions  1
    used         1 234 567 tokens

    standing instructions
      - Never use the network. (@3)

    task record
      Goal: Look around.
      Active files: a.ts

    0 @1  system
      Be brief.

    1 @50  summary
      [Context compacted] A previous context produced the following summary of work so far. The current tool and session state is preserved. Use this summary to continue without duplicating work:

      They talked.

    2 @60  user  turn 11, Ada, 2026-01-01T21:00:00Z
      Look

      at �[2Jthis.

    3 @70  assistant  turn 11
      Looking.
      → read {"path":"a.ts"}

    4 @80  tool results  turn 11
      line 0
      line 1
      line 2
      line 3
      line 4
      line 5
      line 6
      line 7
      line 8
      line 9
      line 10
      line 11
      line 12
      line 13
      line 14
      line 15
      line 16
      line 17
      line 18
      line 19
      … 3 more lines

    5 @90  assistant  turn 11
      (only reasoning)
    "
  `);
});

test("what a transcript says of its session stays on its line, and one message is no messages", () => {
  const model = "m\u001b[31m\r\u001b[2Kfake\nid: other";
  const view: SessionView = {
    ...SESSION,
    source: { ...SESSION.source, model },
    messageCount: 1,
    totalTokens: 1,
    seq: 2,
    isActive: false,
    history: [{ id: 1, turn: 0, message: { role: "user", content: "hi" } }],
    historyTokens: 1,
    compactions: 0,
    recordedCompactions: 0,
    lastAssistantText: "",
    task: { goal: "", subTasks: [], scratchpad: {}, activeFiles: [] },
    instructions: [],
    usage: tokenUsage(NO_USAGE),
  };
  const text = renderSession(view, NOW, PLAIN);
  expect(text).toContain("model        m�[31m �[2Kfake id: other\n");
  expect(text).toContain("turns        12 (1 message)\n");
  expect(text).toContain("history      1 message, about 1 token\n");
  expect(text).toContain("used         1 token\n");
});
