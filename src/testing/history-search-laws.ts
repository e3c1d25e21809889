import assert from "node:assert/strict";
import type { DurableEvent, NewEvent } from "../core/event.ts";
import type { EventStore, HistoryQuery } from "../core/event-store.ts";
import { newId } from "../core/ids.ts";
import type { Message } from "../core/message.ts";
import { NO_USAGE } from "../core/usage.ts";
import { expects, type Law, lawsOf } from "./law.ts";

/** The promises of `EventStore.search`. */
export const historySearchLaws: readonly Law<EventStore>[] = lawsOf({
  "a search finds text of the whole log, also text that compaction removed from the history":
    async (store) => {
      await addConversation(store);
      await store.append("s", 7, [at(8, COMPACTED)]);
      for (const [query, hits] of [
        ["marmalade", [{ role: "user", seq: 1, turn: 0 }]],
        ["tangerine", [{ role: "assistant", seq: 3, turn: 0 }]],
        ["quokka", [{ role: "assistant", seq: 4, turn: 0 }]],
        ["read_file", [{ role: "assistant", seq: 4, turn: 0 }]],
        ["wombat", [{ role: "assistant", seq: 4, turn: 0 }]],
        ["numbat", [{ role: "assistant", seq: 4, turn: 0 }]],
        ["platypus", [{ role: "tool", seq: 5, turn: 0 }]],
        ["echidna", [{ role: "user", seq: 7, turn: 1 }]],
        ["nothing-of-the-kind", []],
      ] as const) {
        const found = await store.search({ query, limit: 10 });
        assert.deepEqual(
          found.map(({ role, seq, turn }) => ({ role, seq, turn })),
          hits,
          query,
        );
      }
    },
  "a hit has its place, time and text": async (store) => {
    await addConversation(store);
    assert.deepEqual(await store.search({ query: "MARMALADE!", limit: 10 }), [
      {
        sessionId: "s",
        seq: 1,
        turn: 0,
        role: "user",
        time: "2024-05-01T10:00:01.000Z",
        content: "Where is the marmalade?",
      },
    ]);
  },
  "messages that no turn made are found, system messages and summaries are not": async (store) => {
    const messages: Message[] = [
      { role: "system", content: "capybara one" },
      { role: "user", content: [{ type: "text", text: "capybara two" }] },
      {
        role: "assistant",
        content: "capybara three",
        tool_calls: [{ id: "c", name: "look", args: { for: "axolotl" } }],
      },
      {
        role: "tool_results",
        results: [{ tool_use_id: "c", content: "capybara four", is_error: false }],
      },
      { role: "user", kind: "compaction_summary", content: "capybara five" },
      {
        role: "block_assistant",
        stop_reason: "end_turn",
        blocks: [
          { block_type: "reasoning", data: { text: "axolotl reasoning" } },
          { block_type: "text", data: { text: "capybara six" } },
        ],
      },
      { role: "user", content: "capybara seven" },
    ];
    await store.append(
      "s",
      0,
      messages.map((message, index) => at(index, { type: "message_added", message })),
    );
    const hits = await store.search({ query: "capybara", limit: 10 });
    assert.deepEqual(
      hits
        .map(({ seq, turn, role }) => [seq, turn, role])
        .sort(([one], [other]) => Number(one) - Number(other)),
      [
        [2, 0, "user"],
        [3, 0, "assistant"],
        [4, 0, "tool"],
        [6, 0, "assistant"],
        [7, 1, "user"],
      ],
    );
    assert.deepEqual(
      (await store.search({ query: "axolotl", limit: 10 })).map(({ seq }) => seq),
      [3],
    );
  },
  "results come best first, and no more than were asked for": async (store) => {
    const filler = Array.from({ length: 20 }, (_, index) => said(index, `weather report ${index}`));
    await store.append("s", 0, [
      ...filler,
      said(20, "the copper kettle of the weather station"),
      said(21, "the copper coin"),
      said(22, "the weather was nice"),
    ]);
    const hits = await store.search({ query: "copper kettle weather", limit: 3 });
    assert.deepEqual(
      hits.slice(0, 2).map(({ seq }) => seq),
      [21, 22],
    );
    assert.equal(hits.length, 3);
    assert.deepEqual(await store.search({ query: "copper", limit: 0 }), []);
  },
  "filters of a search hold": async (store) => {
    await addConversation(store);
    await store.append("t", 0, [said(60, "zebra of another session")]);
    const found = async (filters: Partial<HistoryQuery>) => {
      const hits = await store.search({ query: "zebra", limit: 10, ...filters });
      return hits.map(({ sessionId, seq }) => `${sessionId}${seq}`).sort();
    };
    assert.deepEqual(await found({}), ["s3", "s5", "s7", "t1"]);
    assert.deepEqual(await found({ sessionId: "t" }), ["t1"]);
    assert.deepEqual(await found({ sessionId: "nobody's" }), []);
    assert.deepEqual(await found({ sessions: { only: ["t", "x"] } }), ["t1"]);
    assert.deepEqual(await found({ sessions: { only: [] } }), []);
    assert.deepEqual(await found({ sessions: { except: ["t", "x"] } }), ["s3", "s5", "s7"]);
    assert.deepEqual(await found({ sessions: { except: [] } }), ["s3", "s5", "s7", "t1"]);
    const half = "half\ud83d";
    await store.append(half, 0, [said(60, "otter")]);
    const otters = async (filters: Partial<HistoryQuery>) =>
      (await store.search({ query: "otter", limit: 10, ...filters })).length;
    assert.equal(await otters({ sessionId: half }), 1);
    assert.equal(await otters({ sessions: { only: ["x", half] } }), 1);
    assert.equal(await otters({ sessions: { except: ["x", half] } }), 0);
    assert.deepEqual(await found({ fromTurn: 1 }), ["s7"]);
    assert.deepEqual(await found({ fromTurn: 0, toTurn: 0 }), ["s3", "s5", "t1"]);
    assert.deepEqual(await found({ since: "2024-05-01T10:00:05Z" }), ["s5", "s7", "t1"]);
    assert.deepEqual(await found({ until: "2024-05-01T12:00:05+02:00" }), ["s3", "s5"]);
    assert.deepEqual(
      await found({ since: "2024-05-01T10:00:05.000Z", until: "2024-05-01T10:00:05.000Z" }),
      ["s5"],
    );
    assert.deepEqual(await found({ since: "2024-05-02" }), []);
    assert.deepEqual(await found({ until: "2024-05-01" }), ["s3", "s5", "s7", "t1"]);
  },
  "any text can be searched for, and a text without words finds nothing": async (store) => {
    await addConversation(store);
    for (const query of ["", "  \n", '"', "\"'*()-+^:{}[]!?", "…", "🙂", "\0", "\ud800", "'; --"]) {
      assert.deepEqual(await store.search({ query, limit: 10 }), [], JSON.stringify(query));
    }
    for (const query of [
      'marmalade"',
      '"marmalade',
      "marmalade OR",
      "NOT marmalade",
      "NEAR(marmalade",
      "text:marmalade*",
      "(marmalade",
      "mar\u00admalade marmalade",
      `${"word ".repeat(2000)}marmalade`,
      `marmalade ${Array.from({ length: 500 }, (_, index) => `w${index}`).join(" ")}`,
    ]) {
      const hits = await store.search({ query, limit: 10 });
      expects(
        hits.some(({ seq }) => seq === 1),
        `the event 1 among the results of "${query.slice(0, 40)}"`,
        hits,
      );
    }
  },
  "text of every script is found": async (store) => {
    const texts = [
      "東京都に行きました。ラーメンを食べた",
      "我们昨天讨论了数据库的设计方案",
      "데이터베이스를 설계했습니다",
      "ฐานข้อมูลอยู่ที่ไหน",
      "मैंने डेटाबेस बनाया",
      "Где находится библиотека",
      "أين تقع المكتبة",
      "le café crème déjà vu",
      "ＦＵＬＬ ｗｉｄｔｈ",
    ];
    await store.append(
      "s",
      0,
      texts.map((text, index) => said(index, text)),
    );
    for (const [query, seq] of [
      ["東京", 1],
      ["京都", 1],
      ["ラーメン", 1],
      ["た", 1],
      ["数据库", 2],
      ["方案", 2],
      ["案", 2],
      ["설계", 3],
      ["ข้อมูล", 4],
      ["डेटाबेस", 5],
      ["БИБЛИОТЕКА", 6],
      ["المكتبة", 7],
      ["café", 8],
      ["cafe\u0301", 8],
      ["full", 9],
    ] as const) {
      const hits = await store.search({ query, limit: 10 });
      assert.equal(hits[0]?.seq, seq, query);
    }
    assert.deepEqual(await store.search({ query: "大阪", limit: 10 }), []);
  },
  "searches and their results are no results": async (store) => {
    const recall = { query: "wallaby" };
    const message = (second: number, message: Message) =>
      at(second, { type: "message_added", message });
    const results = (...ids: string[]) =>
      ids.map((id) => ({ tool_use_id: id, content: `wallaby of ${id}`, is_error: false }));
    await store.append("s", 0, [
      said(0, "The wallaby is grey."),
      ...["memory_search", "search_project_history", "mcp__rkat__memory_search"].flatMap(
        (name, index) => [
          at(index, { type: "tool_call_requested", id: name, name, args: recall }),
          at(index, {
            type: "tool_execution_completed",
            id: name,
            name,
            result: "wallaby wallaby wallaby",
            is_error: false,
            duration_ms: 1,
          }),
        ],
      ),
      message(4, {
        role: "assistant",
        content: "Let me look that up.",
        tool_calls: [
          { id: "a", name: "memory_search", args: recall },
          { id: "b", name: "read_file", args: {} },
        ],
      }),
      message(5, { role: "tool_results", results: results("a", "b") }),
      message(6, {
        role: "block_assistant",
        stop_reason: "tool_use",
        blocks: [
          {
            block_type: "tool_use",
            data: { id: "c", name: "rkat_memory_search", args: recall },
          },
        ],
      }),
    ]);
    await store.append("s", 10, [
      message(7, { role: "tool_results", results: results("c") }),
      message(8, { role: "assistant", content: "A grey wallaby." }),
    ]);
    const hits = await store.search({ query: "wallaby", limit: 4 });
    assert.deepEqual(hits.map(({ content }) => content).sort(), [
      "A grey wallaby.",
      "The wallaby is grey.",
      "wallaby of b",
    ]);
  },
  "a long text is shown as the passage around the words": async (store) => {
    const long = `${"🙂🙃 filler ".repeat(5000)}the periwinkle lighthouse ${"🙃🙂 filler ".repeat(5000)}`;
    await store.append("s", 0, [said(0, long)]);
    const [hit] = await store.search({ query: "periwinkle lighthouse", limit: 1 });
    expects(hit, "a result", hit);
    assert.match(hit.content, /the periwinkle lighthouse/);
    expects(hit.content.length <= 2010, "at most 2010 characters", hit.content.length);
    expects(hit.content.isWellFormed(), "a text without half a character", hit.content);
  },
});

function at(second: number, event: DurableEvent): NewEvent {
  return {
    event_id: newId(),
    timestamp_ms: Date.parse("2024-05-01T10:00:00Z") + second * 1000,
    event,
  };
}

function said(second: number, prompt: string): NewEvent {
  return at(second, { type: "run_started", session_id: "s", prompt });
}

/** Two turns in session "s", one event a second. */
async function addConversation(store: EventStore): Promise<void> {
  await store.append("s", 0, [
    said(1, "Where is the marmalade?"),
    at(2, { type: "reasoning_complete", content: "perhaps a secret" }),
    at(3, { type: "text_complete", content: "Beside the tangerine zebra." }),
    at(4, {
      type: "tool_call_requested",
      id: "c",
      name: "read_file",
      args: { path: "docs/quokka.md", lines: ["first\nwombat"], symbol: "parseNumbatFile" },
    }),
    at(5, {
      type: "tool_execution_completed",
      id: "c",
      name: "read_file",
      result: "platypus zebra",
      is_error: false,
      duration_ms: 1,
    }),
  ]);
  await store.append("s", 5, [
    at(6, { type: "run_completed", session_id: "s", result: "", usage: NO_USAGE }),
    said(7, "And the echidna, the zebra?"),
  ]);
}

/** All of the first turn leaves the history; its words are in the summary too. */
const COMPACTED: DurableEvent = {
  type: "compaction_completed",
  summary_tokens: 5,
  messages_before: 4,
  messages_after: 2,
  tokens_before: 100,
  tokens_after: 50,
  summary: "marmalade, tangerine, quokka, platypus",
  discarded: [{ from: 1, to: 5, turns_before: 0 }],
  discarded_messages: 3,
  pruned: [],
  summarised_by: "model",
  usage: NO_USAGE,
};
