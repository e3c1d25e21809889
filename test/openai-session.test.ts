import { join } from "node:path";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { createSessionService } from "../src/index.ts";
import { type OpenAIItem, type RkatSessionOptions, rkatSession } from "../src/openai-agents.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { temporaryFolder } from "./support/obey.ts";
import { trials } from "./support/trials.ts";

type Session = ReturnType<typeof rkatSession>;

async function open(file?: string) {
  const path = file ?? join(await temporaryFolder(), "rkat.db");
  const stores = sqliteStores({ path });
  const sessions = createSessionService({ model: "none", stores });
  const opened: { close(): Promise<void> }[] = [];
  onTestFinished(async () => {
    for (const session of opened) await session.close();
    await sessions.close();
    await stores.close();
  });
  const sessionOf = (options: Partial<RkatSessionOptions> = {}) => {
    const session = rkatSession({ stores, ...options });
    opened.push(session);
    return session;
  };
  return { path, sessions, sessionOf };
}

const user = (content: string): OpenAIItem => ({ type: "message", role: "user", content });

const call = (callId: string, text: string): OpenAIItem => ({
  type: "function_call",
  callId,
  name: "send",
  arguments: JSON.stringify({ text }),
});

const output = (callId: string, text: string): OpenAIItem => ({
  type: "function_call_result",
  callId,
  name: "send",
  output: { type: "text", text },
});

const answer = (text: string): OpenAIItem => ({
  type: "message",
  role: "assistant",
  content: [{ type: "output_text", text }],
});

const RUN = [
  user("Which berth does the Ottilie have?"),
  { type: "reasoning", content: [{ type: "input_text", text: "Ask the harbour." }] },
  call("c1", "berth of Ottilie"),
  output("c1", "berth 4417 at the north quay"),
  answer("The Ottilie lies at berth 4417."),
] as const;

test("items come back as they were given, in another process too", async () => {
  const { path, sessionOf } = await open();
  const session = sessionOf({ sessionId: "chat" });
  const bytes = { type: "image", image: { data: new Uint8Array([1, 2, 255]) } };
  const items = [...RUN, { ...output("c2", ""), output: [bytes] }];
  await session.addItems(items.slice(0, 3));
  await session.addItems(items.slice(3));
  const other = await open(path);
  const again = other.sessionOf({ sessionId: "chat" });
  expect(await again.getItems()).toEqual(items);
  expect(await again.getItems(2)).toEqual(items.slice(-2));
  expect(await again.getItems(0)).toEqual([]);
});

test("a session is like a list of items, whatever is done with it and by whichever process", async () => {
  const { sessionOf } = await open();
  const item = fc.constantFrom(...RUN, user("yes"), answer("ok"));
  const items = fc.array(item, { maxLength: 4 });
  const step = fc.oneof(
    fc.record({ does: fc.constant("add" as const), items }),
    fc.record({ does: fc.constant("pop" as const) }),
    fc.record({ does: fc.constant("clear" as const) }),
    fc.record({ does: fc.constant("replace" as const), items }),
    fc.record({ does: fc.constant("append once" as const), items, id: fc.nat(3) }),
    fc.record({ does: fc.constant("suffix" as const), items, count: fc.nat(3), id: fc.nat(9) }),
  );
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(step, fc.boolean()), { maxLength: 12 }), async (steps) => {
      run += 1;
      const one = sessionOf({ sessionId: `chat-${run}` });
      const two = sessionOf({ sessionId: `chat-${run}` });
      let list: OpenAIItem[] = [];
      let done = new Map<string, string>();
      for (const [what, first] of steps) {
        const session = first ? one : two;
        switch (what.does) {
          case "add":
            await session.addItems(what.items);
            list = [...list, ...what.items];
            break;
          case "pop":
            expect(await session.popItem()).toEqual(list.at(-1));
            list = list.slice(0, -1);
            break;
          case "clear":
            await session.clearSession();
            list = [];
            done = new Map();
            break;
          case "replace":
            await session.replaceHistoryWithCompaction(what.items);
            list = what.items;
            break;
          default: {
            const operationId = `${what.does} ${what.id}`;
            const expectedSuffix =
              what.does === "suffix" ? list.slice(-what.count || list.length) : [];
            const transaction =
              what.does === "suffix"
                ? ({ type: "replace_suffix", expectedSuffix, replacement: what.items } as const)
                : ({ type: "append_items", items: what.items } as const);
            const before = done.get(operationId);
            const applied = session.applyHistoryTransaction({ operationId, transaction });
            if (before === JSON.stringify(transaction)) await applied;
            else if (before !== undefined) {
              await expect(applied).rejects.toMatchObject({ code: "SESSION_CONFLICT" });
            } else {
              await applied;
              done.set(operationId, JSON.stringify(transaction));
              list = [...list.slice(0, list.length - expectedSuffix.length), ...what.items];
            }
          }
        }
        expect(await (first ? two : one).getItems()).toEqual(list);
      }
    }),
    { numRuns: trials(2, 15) },
  );
});

test("a suffix that is not there is refused, and nothing changes", async () => {
  const { sessionOf } = await open();
  const session = sessionOf();
  await session.addItems(RUN);
  const transaction = {
    type: "replace_suffix",
    expectedSuffix: [user("other")],
    replacement: [],
  } as const;
  const applied = session.applyHistoryTransaction({ operationId: "1", transaction });
  await expect(applied).rejects.toThrow("last items are not those");
  expect(await session.getItems()).toEqual(RUN);
});

test("what was said is in memory once, and what a tool returned is in the log", async () => {
  const { sessions, sessionOf } = await open();
  const session = sessionOf({ sessionId: "chat", author: "user" });
  await session.addItems(RUN.slice(0, 3));
  await session.addItems(RUN.slice(3));
  await session.clearSession();
  await session.addItems(RUN);
  await session.replaceHistoryWithCompaction(RUN.slice(-1));
  const entries = await sessions.listMemory({ sessionId: "openai-agents:chat", kind: "message" });
  expect(entries.map(({ role, content }) => `${role}: ${content}`)).toEqual([
    "user: Which berth does the Ottilie have?",
    "assistant: The Ottilie lies at berth 4417.",
  ]);
  const [found] = await sessions.searchHistory({ query: "north quay" });
  expect(found?.content).toContain("berth 4417 at the north quay");
  const [listed] = await sessions.list({ labels: { host_session: "chat" } });
  expect(listed?.sessionId).toBe("openai-agents:chat");
});

test("a forgotten text is in no summary among the items, in other words neither", async () => {
  const { sessions, sessionOf } = await open();
  const options: Partial<RkatSessionOptions> = {
    sessionId: "chat",
    contextWindow: 100_000,
    summarize: async () => "The user listed the berth of each ship, as figures of two digits.",
  };
  const session = sessionOf(options);
  for (let ship = 10; ship < 20; ship += 1) {
    await session.addItems([
      user(`Ship ${ship} lies at berth 4${ship}. ${"It is late. ".repeat(40)}`),
      answer("It is noted."),
    ]);
  }
  await session.runCompaction({ force: true });
  expect(JSON.stringify(await session.getItems())).toContain("The user listed");
  const [hit] = await sessions.searchMemory({ query: "Ship 11 lies at berth 411" });
  await sessions.forgetMemory({ ids: [hit?.id ?? ""] });
  for (const one of [session, sessionOf(options)]) {
    const items = JSON.stringify(await one.getItems());
    expect(items).toContain("[forgotten]");
    expect(items).not.toContain("The user listed");
  }
});

test("a forgotten text is in no item, and the others stay", async () => {
  const { sessions, sessionOf } = await open();
  const session = sessionOf({ sessionId: "chat" });
  await session.addItems(RUN);
  const [first] = await sessions.searchMemory({ query: "Which berth does the Ottilie have?" });
  await sessions.forgetMemory({ ids: [first?.id ?? ""] });
  const items = await session.getItems();
  expect(items[0]).toEqual(user("[forgotten]"));
  expect(items.slice(1)).toEqual(RUN.slice(1));
  await sessions.delete({ sessionId: "openai-agents:chat", now: true });
  expect(await session.getItems()).toEqual([]);
  await session.addItems(RUN);
  expect(await session.getItems()).toEqual(RUN);
});

test("credentials stay in items, unless the log is to have none", async () => {
  const { sessions, sessionOf } = await open();
  const secret = "ghp_0123456789abcdefghijklmnopqrstuvwxyz";
  const kept = sessionOf({ sessionId: "kept" });
  const redacted = sessionOf({ sessionId: "redacted", redact: "log" });
  for (const session of [kept, redacted]) {
    await session.addItems([user(`The token is ${secret}.`)]);
  }
  expect(JSON.stringify(await kept.getItems())).toContain(secret);
  expect(JSON.stringify(await redacted.getItems())).not.toContain(secret);
  const memory = await sessions.listMemory({});
  expect(JSON.stringify(memory)).not.toContain(secret);
});

test.each([
  ["addItems", "no list", (session: Session) => session.addItems({} as never)],
  ["item 1", "no object", (session: Session) => session.addItems([user("a"), 3 as never])],
  ["JSON", "a bigint", (session: Session) => session.addItems([{ content: 3n }])],
])("names %s when it is given %s", async (named, _, act) => {
  const { sessionOf } = await open();
  const session = sessionOf();
  await expect(act(session)).rejects.toThrow(named);
});

test("records that another process sent are no items either, when a run goes on in this one", async () => {
  const { path, sessions, sessionOf } = await open();
  const text = "The spare key of the boathouse hangs behind the blue oilskin.";
  await sessions.createSession({ messages: [{ role: "user", content: text }] });
  const session = sessionOf({ sessionId: "run", summarize: "fallback" });
  const prompt = user("Where does the spare key of the boathouse hang?");
  await session.addItems([prompt]);
  const call = { modelData: { input: [prompt] }, agent: {} };
  const { input } = await session.filter(call);
  const records = structuredClone(input).filter((item) =>
    JSON.stringify(item).includes("[Recalled from memory]"),
  );
  expect(records).toHaveLength(1);
  const { sessionOf: elsewhere } = await open(path);
  const resumed = elsewhere({ sessionId: "run", summarize: "fallback" });
  const append = { type: "append_items", items: [...records, answer("There.")] } as const;
  await resumed.applyHistoryTransaction({ operationId: "o1", transaction: append });
  await resumed.addItems([...records, answer("Behind the oilskin.")]);
  expect(await resumed.getItems()).toEqual([
    prompt,
    answer("There."),
    answer("Behind the oilskin."),
  ]);
});
