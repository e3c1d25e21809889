import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { contentText } from "../src/core/message.ts";
import { looksRecalled } from "../src/core/recalled.ts";
import {
  createHistoryWindow,
  createSessionService,
  type Message,
  type MessageView,
} from "../src/index.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { expectWarning } from "./support/expect-warning.ts";
import { trials } from "./support/trials.ts";

const view: MessageView<Message> = {
  read: (message) => ({ message }),
  summary: (content) => ({ role: "user", content }),
  shorten(message, outputs) {
    if (message.role !== "tool_results") return message;
    const results = message.results.map((result) => ({
      ...result,
      content: outputs.get(result.tool_use_id) ?? result.content,
    }));
    return { ...message, results };
  },
};

const words = "harbour ship cargo crane ledger ".repeat(20);
const history: Message[] = Array.from({ length: 40 }, (_, index) => [
  {
    role: "user" as const,
    content: `Question ${index}: the code of dock ${index} is ${index}77. ${words}`,
  },
  { role: "assistant" as const, content: `Answer ${index}. ${words}` },
]).flat();

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "rkat-window-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A process: it opens the stores, and closes them. */
async function process<Result>(
  path: string,
  work: (parts: {
    stores: ReturnType<typeof sqliteStores>;
    window: ReturnType<typeof createHistoryWindow<Message>>;
    /** What was given to the summariser, for each summary. */
    asked: string[];
  }) => Promise<Result>,
): Promise<Result> {
  const stores = sqliteStores({ path });
  const asked: string[] = [];
  const window = createHistoryWindow<Message>({
    view,
    stores,
    chatId: "c1",
    contextWindow: 4_000,
    summarize: async ({ messages }) => {
      asked.push(JSON.stringify(messages));
      return "The user listed the code of each dock (the code of dock 3 is 377), with harbour, ship, cargo, crane and ledger. Each Question got an Answer.";
    },
  });
  try {
    return await work({ stores, window, asked });
  } finally {
    await window.close();
    await stores.close();
  }
}

test("after a restart, a chat is not compacted again", async () => {
  const path = `${temporaryFolder()}/rkat.db`;
  const first = await process(path, async ({ window, asked }) => {
    const applied = await window.apply(history);
    expect(applied.outcome).toBe("compacted");
    expect(asked).toHaveLength(1);
    return applied.messages;
  });
  await process(path, async ({ window, asked }) => {
    const { messages, outcome } = await window.apply(structuredClone(history));
    expect(messages).toEqual(first);
    expect(outcome).toBe("unchanged");
    expect(asked).toHaveLength(0);
  });
});

/** A conversation with tool output: for each turn, the sizes of what the tool gave. */
const working = fc
  .array(fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 4 }), { minLength: 1, maxLength: 6 })
  .map((turns): Message[] => turns.flatMap((sizes, turn) => turnWith(turn, sizes)));

function turnWith(turn: number, sizes: readonly number[]): Message[] {
  const reads = sizes.flatMap((size, step): Message[] => {
    const id = `c${turn}.${step}`;
    const content = words.repeat(size);
    return [
      { role: "assistant", content: "", tool_calls: [{ id, name: "read", args: { path: id } }] },
      { role: "tool_results", results: [{ tool_use_id: id, content, is_error: false }] },
    ];
  });
  return [{ role: "user", content: `Question ${turn}: ${words}` }, ...reads];
}

function isHistory(message: Message): boolean {
  return message.role !== "user" || !looksRecalled(contentText(message.content));
}

test("the same history is compacted again when tools need its room, and each time it stays so", async () => {
  const perRun = async (offered: Message[]) => {
    const path = `${temporaryFolder()}/rkat.db`;
    const sent = await process(path, async ({ window }) => {
      let last: readonly Message[] = offered;
      for (let otherTokens = 0; otherTokens <= 2_800; otherTokens += 200) {
        const { outcome, messages } = await window.apply(offered, { otherTokens });
        const again = await window.apply(offered, { otherTokens });
        expect(again.messages).toEqual(messages);
        if (outcome !== "unchanged") expect(again.outcome).toBe("unchanged");
        last = messages;
      }
      return last;
    });
    await process(path, async ({ window, asked }) => {
      const { messages } = await window.apply(structuredClone(offered), { otherTokens: 2_800 });
      // A new process may find records that had no room beside what a compaction had just left.
      expect(messages.filter(isHistory)).toEqual(sent.filter(isHistory));
      expect(asked).toHaveLength(0);
    });
  };
  await fc.assert(fc.asyncProperty(working, perRun), { numRuns: trials(5, 20) });
});

test("tools that take what the last compaction left are a reason for another one at once", async () => {
  const offered = turnWith(0, [6]);
  await process(`${temporaryFolder()}/rkat.db`, async ({ window }) => {
    for (const otherTokens of [2_600, 2_800]) {
      const { outcome, tokens } = await window.apply(offered, { otherTokens });
      expect(outcome).not.toBe("unchanged");
      expect(tokens + otherTokens).toBeLessThan(3_200);
    }
    expect((await window.apply(offered, { otherTokens: 2_800 })).outcome).toBe("unchanged");
  });
});

test("what left is found by a search, once, and each message is in the log once", async () => {
  const path = `${temporaryFolder()}/rkat.db`;
  await process(path, async ({ window, stores, asked }) => {
    let offered: Message[] = [];
    for (let turn = 0; turn < 40; turn += 1) {
      offered = [...offered, ...history.slice(2 * turn, 2 * turn + 2)];
      await window.apply(offered);
    }
    expect(asked.length).toBeGreaterThan(1);
    const sessions = createSessionService({ model: "none", stores });
    const hits = await sessions.searchHistory({ query: "code of dock 3 377", limit: 20 });
    const exact = hits.filter(({ content }) => content.includes("is 377."));
    expect(exact).toHaveLength(1);
    expect(exact[0]?.sessionId).toBe("chat:c1");
    const found = await sessions.searchMemory({ query: "code of dock 3 377", limit: 20 });
    expect(found.filter(({ content }) => content.includes("is 377."))).toHaveLength(1);
    await sessions.close();
  });
});

/** Forgets what was said of dock 3, as another process does. */
async function forgetDock3(path: string): Promise<void> {
  await process(path, async ({ stores }) => {
    const sessions = createSessionService({ model: "none", stores });
    const [hit] = await sessions.searchMemory({ query: "code of dock 3 377", limit: 1 });
    await sessions.forgetMemory({ ids: [hit?.id ?? ""] });
    await sessions.close();
  });
}

/** All that the log of the chat has. */
function logOf(path: string): Promise<string> {
  return process(path, async ({ stores }) => {
    const events = await Array.fromAsync(stores.events.read("chat:c1", 0));
    return JSON.stringify(events);
  });
}

test.each([
  ["the only summary", [40]],
  ["later summaries", Array.from({ length: 40 }, (_, turn) => turn + 1)],
])("a forgotten message is not in %s of the chat, in other words neither", async (_, turns) => {
  const path = `${temporaryFolder()}/rkat.db`;
  await process(path, async ({ window }) => {
    for (const turn of turns) await window.apply(history.slice(0, 2 * turn));
  });
  expect(await logOf(path)).toContain("The user listed the code");
  await forgetDock3(path);
  const log = await logOf(path);
  expect(log).not.toContain("dock 3 is 377");
  expect(log).not.toContain("The user listed the code");
});

test("an item that a provider made of a forgotten message is in the log no more", async () => {
  const path = `${temporaryFolder()}/rkat.db`;
  const message = { role: "assistant", content: "only OpenAI reads this" };
  const reader = "openai/gpt-5";
  const sent = await process(path, async ({ stores }) => {
    const window = createHistoryWindow<Message>({
      view,
      stores,
      chatId: "c1",
      contextWindow: 4_000,
      summarize: async () => ({ reader, message, tokens: 20 }),
    });
    // Dock 3 is in the newest message, which stays: no summary has it.
    const newest = [...history.toSpliced(6, 2), history[6] as Message];
    const { messages } = await window.apply(newest, { reader });
    await window.close();
    return messages;
  });
  expect(sent).toContainEqual(message);
  expect(await logOf(path)).toContain(message.content);
  await forgetDock3(path);
  expect(await logOf(path)).not.toContain(message.content);
});

test("a chat with a forgotten message is compacted again, and from then on pays for nothing twice", async () => {
  const path = `${temporaryFolder()}/rkat.db`;
  await process(path, ({ window }) => window.apply(history));
  await forgetDock3(path);
  const offerAgain = () =>
    process(path, async ({ window, asked }) => {
      for (const _ of Array(4)) await window.apply(structuredClone(history));
      return asked.length;
    });
  expect(await offerAgain()).toBe(1);
  expect(await offerAgain()).toBe(0);
});

test("a forgotten message that the host still offers is sent, and no summary is told of it", async () => {
  const path = `${temporaryFolder()}/rkat.db`;
  const sent = await process(path, async ({ window }) => (await window.apply(history)).messages);
  await forgetDock3(path);
  await process(path, async ({ window, asked }) => {
    const { outcome } = await window.apply(structuredClone(history));
    expect(outcome).toBe("compacted");
    expect(asked).toHaveLength(1);
    expect(asked[0]).toContain("dock 4 is 477");
    expect(asked[0]).not.toContain("dock 3 is 377");
  });
  // A host that took over what was sent offers the summary, which told of it. It goes at the next compaction.
  await process(path, async ({ window, asked }) => {
    const adopted = structuredClone([...sent, ...history.slice(40)]);
    expect(JSON.stringify(adopted)).toContain("code of dock 3 is 377");
    await window.apply(adopted);
    expect(asked).toHaveLength(1);
    expect(asked[0]).not.toContain("dock 3 is 377");
  });
});

test("two windows of one chat at once end with one compaction", async () => {
  const path = `${temporaryFolder()}/rkat.db`;
  await process(path, (one) =>
    process(path, async (other) => {
      const [a, b] = await Promise.all([one.window.apply(history), other.window.apply(history)]);
      const again = await one.window.apply(structuredClone(history));
      expect(again.outcome).toBe("unchanged");
      expect(again.messages).toEqual((await other.window.apply(structuredClone(history))).messages);
      expect([a.messages, b.messages]).toContainEqual(again.messages);
    }),
  );
});

test("a chat whose log cannot be read for a while goes on as it was, and is compacted once it can be", async () => {
  const stores = sqliteStores({ path: `${temporaryFolder()}/rkat.db` });
  let isDown = false;
  const lastSeq = async (sessionId: string) => {
    if (isDown) throw new Error("The database is away.");
    return await stores.events.lastSeq(sessionId);
  };
  const events = new Proxy(stores.events, {
    get: (target, name) => (name === "lastSeq" ? lastSeq : Reflect.get(target, name)?.bind(target)),
  });
  const window = createHistoryWindow<Message>({
    view,
    stores: { ...stores, events },
    chatId: "c1",
    contextWindow: 4_000,
    recallTokens: 0,
    summarize: "fallback",
  });
  const before = await window.apply(history);
  isDown = true;
  expectWarning(/The chat goes on without its log.*The database is away/);
  const next: Message = { role: "user", content: "And now?" };
  const during = await window.apply([...history, next]);
  expect(during.messages).toEqual([...before.messages, next]);
  isDown = false;
  const after = await window.apply([...history, next, ...history]);
  expect(after.outcome).toBe("compacted");
  await window.close();
  await stores.close();
});

test("stores without a chatId are refused", () => {
  const stores = sqliteStores({ path: ":memory:" });
  onTestFinished(() => stores.close());
  const options = { view, stores, summarize: "fallback" as const };
  expect(() => createHistoryWindow<Message>(options)).toThrow(
    "The window has stores, but no chatId.",
  );
});
