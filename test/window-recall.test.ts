import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { MemoryStore } from "../src/core/memory-store.ts";
import type { Message } from "../src/core/message.ts";
import { estimateTokens } from "../src/core/tokens.ts";
import { createHistoryWindow, createSessionService } from "../src/index.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { expectWarning } from "./support/expect-warning.ts";
import { messageView } from "./support/message-view.ts";
import { temporaryFolder } from "./support/obey.ts";

const FILLER = "The harbour was quiet, and the tide came in as it does each evening. ".repeat(20);
const SECRET = "The spare key of the boathouse hangs behind the blue oilskin.";
const QUESTION = "Where does the spare key of the boathouse hang?";
const RECALLED = "[Recalled from memory]";

const user = (content: string): Message => ({ role: "user", content });
const answer = (content: string): Message => ({ role: "assistant", content });

/** A window of a chat over a project's stores, as a process has it. */
async function openChat(
  folder: string,
  { chatId = "boat", recallTokens = 1_500, fails = false } = {},
) {
  const whole = sqliteStores({ path: join(folder, "rkat.db") });
  const stores = fails ? { ...whole, memory: brokenMemory(whole.memory) } : whole;
  const summarized: string[] = [];
  const service = createSessionService({ model: "none", stores });
  const window = createHistoryWindow({
    view: messageView,
    stores,
    chatId,
    recallTokens,
    contextWindow: 3_000,
    userWordsTokens: 0,
    keepAnchors: false,
    summarize: async (request) => {
      summarized.push(JSON.stringify(request));
      return "The harbour was quiet in the evening, and the tide came in.";
    },
  });
  onTestFinished(async () => {
    await window.close();
    await service.close();
    await stores.close();
  });
  const events = async () => {
    const all = await Array.fromAsync(stores.events.read(`chat:${chatId}`, 0));
    return all.flatMap(({ event }) => (event.type === "memory_recalled" ? [event] : []));
  };
  return { service, window, events, summarized };
}

/** A memory that stores, and cannot be searched. */
function brokenMemory(memory: MemoryStore): MemoryStore {
  return new Proxy(memory, {
    get(target, name) {
      if (name === "search") return () => Promise.reject(new Error("The disk is gone."));
      const value = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** A talk that begins with the secret, long enough that it leaves the window. */
function longTalk(): Message[] {
  const rest = Array.from({ length: 12 }, (_, turn) => [user(`${turn} ${FILLER}`), answer("Yes.")]);
  return [user(SECRET), answer("Noted."), ...rest.flat()];
}

function recordsIn(messages: readonly object[]): readonly string[] {
  return messages
    .map((message) => JSON.stringify(message))
    .filter((text) => text.includes(RECALLED));
}

test("what left a chat comes back before the prompt that needs it, in each later request, and in a later process", async () => {
  const folder = await temporaryFolder();
  const { window, events } = await openChat(folder);
  const talk = longTalk();
  await window.apply(talk);
  talk.push(user(QUESTION));
  const asked = await window.apply(talk);
  expect(recordsIn(asked.messages).join()).toContain("behind the blue oilskin");
  expect(asked.recalled).toHaveLength(1);
  expect(asked.messages.at(-1)).toBe(talk.at(-1));
  expect(await events()).toHaveLength(1);

  talk.push(answer("Behind the oilskin."), user("Thanks."));
  const next = await window.apply(talk);
  expect(next.messages.slice(0, asked.messages.length)).toEqual(asked.messages);
  expect(recordsIn(next.messages)).toHaveLength(1);
  expect(await events()).toHaveLength(1);

  const { window: later } = await openChat(folder);
  const again = await later.apply(talk.map((message) => ({ ...message })));
  expect(again.messages).toEqual(next.messages);
});

test("a host that takes the records over into its history sends them once, and no search finds them as said", async () => {
  const folder = await temporaryFolder();
  const { window, service } = await openChat(folder);
  const talk = longTalk();
  await window.apply(talk);
  const { messages } = await window.apply([...talk, user(QUESTION)]);
  const adopted = [
    ...messages.map((message) => ({ ...message })),
    answer("Behind it."),
  ] as Message[];
  const next = await window.apply([...adopted, user("Thanks.")]);
  expect(recordsIn(next.messages)).toHaveLength(1);
  const { messages: compacted } = await window.apply([
    ...adopted,
    ...longTalk().slice(2),
    user("And now?"),
  ]);
  expect(recordsIn(compacted.filter((message) => "kind" in message))).toHaveLength(0);
  const hits = await service.searchMemory({ query: "spare key boathouse blue oilskin", limit: 50 });
  expect(hits.filter(({ content }) => content.includes(RECALLED))).toEqual([]);
});

test("the next compaction takes the records away", async () => {
  const { window } = await openChat(await temporaryFolder());
  const talk = longTalk();
  await window.apply(talk);
  talk.push(user(QUESTION));
  expect(recordsIn((await window.apply(talk)).messages)).toHaveLength(1);
  talk.push(answer("Behind the oilskin."), ...longTalk().slice(2), user("How is the weather?"));
  const { messages, outcome } = await window.apply(talk);
  expect(outcome).toBe("compacted");
  expect(recordsIn(messages)).toEqual([]);
});

test("a compaction makes room for records before a prompt, and not within a turn, which brings none", async () => {
  const { window } = await openChat(await temporaryFolder());
  const talk = longTalk();
  await window.apply(talk);
  talk.push(user("Read all files."));
  const sizes: number[] = [];
  for (let step = 0; ; step += 1) {
    const { outcome, tokens } = await window.apply(talk);
    if (step > 0 && outcome !== "unchanged") break;
    sizes.push(tokens);
    const tool_calls = [{ id: `c${step}`, name: "read", args: {} }];
    const content = "The tide came in. ".repeat(8);
    const results = [{ tool_use_id: `c${step}`, content, is_error: false }];
    talk.push({ role: "assistant", content: "", tool_calls }, { role: "tool_results", results });
  }
  // The threshold is at 2 400 tokens, and records get a quarter of it.
  expect(Math.max(...sizes)).toBeGreaterThan(2_300);
  const before = talk.length;
  while ((await window.apply(talk)).tokens < 1_900) talk.push(answer(FILLER.slice(0, 200)));
  expect(talk.length).toBeGreaterThan(before);
  talk.push(user("And now?"));
  expect((await window.apply(talk)).outcome).toBe("compacted");
});

test("the records of a new prompt take the place of earlier ones of a chat that have no room beside them, but for those that it needs, and nothing else changes", async () => {
  const { service, window, events } = await openChat(await temporaryFolder());
  const { id } = await service.addMemory({ content: "Mara signs each bill of lading." });
  await service.editMemory({ id, pinned: true });
  const towns = ["Constanta", "Valparaiso", "Thessaloniki", "Zanzibar"];
  const wares = ["coal", "copper", "cedar", "cotton", "cocoa", "cork", "cement"];
  const about = (town: string, ware: string) =>
    `The harbour of ${town}: ${town} ships ${ware} ${"to every other coast by night and by day ".repeat(6)}`;
  const told = towns.flatMap((town) => wares.map((ware) => user(about(town, ware))));
  const talk = [...told.flatMap((told) => [told, answer("Noted.")]), ...longTalk()];
  let before: readonly object[] = (await window.apply(talk)).messages;
  const ask = async (prompt: string) => {
    talk.push(user(prompt));
    const { messages, recalled, outcome } = await window.apply(talk);
    expect(outcome).toBe("unchanged");
    const lasting = (sent: readonly object[]) =>
      sent.filter((one) => recordsIn([one]).length === 0);
    expect(lasting(messages).slice(0, lasting(before).length)).toEqual(lasting(before));
    talk.push(answer("It ships coal."));
    before = messages;
    return recordsIn(recalled).join();
  };
  for (const town of towns) {
    const first = await ask(`What of the harbour of ${town}?`);
    const ware = wares.find((one) => first.includes(`${town} ships ${one}`));
    const then = await ask(`What of ${ware} in the harbour of ${town}?`);
    expect(then).toContain(`${town} ships ${ware}`);
    for (const records of [first, then]) expect(records).toContain("Mara signs");
  }
  expect((await events()).some(({ replaces }) => replaces)).toBe(true);
});

test("no request of a chat is above the threshold where its history alone is below it", async () => {
  const { window, events } = await openChat(await temporaryFolder(), { recallTokens: 200 });
  const threshold = 2_400;
  const towns = ["Constanta", "Valparaiso", "Thessaloniki", "Zanzibar"];
  const wares = ["coal", "copper", "cedar", "cotton", "cocoa", "cork", "cement"];
  const about = (town: string, ware: string) =>
    `The harbour of ${town}: ${town} ships ${ware} ${"to every other coast by night and by day ".repeat(4)}`;
  const told = towns.flatMap((town) => wares.map((ware) => user(about(town, ware))));
  const talk = [...told.flatMap((told) => [told, answer("Noted.")]), ...longTalk()];
  await window.apply(talk);
  const over: object[] = [];
  const apply = async () => {
    const { messages, recalled, tokens } = await window.apply(talk);
    const alone = estimateTokens((messages as Message[]).filter((one) => !recalled.includes(one)));
    if (alone < threshold && tokens > threshold) over.push({ alone, tokens });
  };
  for (const [index, town] of [...towns, ...towns].entries()) {
    talk.push(user(`What of ${wares[index % wares.length]} in ${town}?`));
    await apply();
    talk.push(answer("It ships."));
  }
  talk.push(user("Read all files."));
  for (let step = 0; step < 40; step += 1) {
    await apply();
    const tool_calls = [{ id: `c${step}`, name: "read", args: {} }];
    const content = "The tide came in. ".repeat(8);
    const results = [{ tool_use_id: `c${step}`, content, is_error: false }];
    talk.push({ role: "assistant", content: "", tool_calls }, { role: "tool_results", results });
  }
  expect((await events()).length).toBeGreaterThan(4);
  expect(over).toEqual([]);
});

test("where the records of a chat have no room any more, what a person pinned stays", async () => {
  const { service, window } = await openChat(await temporaryFolder());
  await service.addMemory({ content: SECRET });
  const { id } = await service.addMemory({ content: "Mara signs each bill of lading." });
  await service.editMemory({ id, pinned: true });
  const talk = [user(QUESTION)];
  const shown: string[] = [];
  while (!shown.some((records) => !records.includes("oilskin"))) {
    const { messages, outcome } = await window.apply(talk);
    expect(outcome).toBe("unchanged");
    shown.push(recordsIn(messages).join());
    const tool_calls = [{ id: `c${talk.length}`, name: "read", args: {} }];
    const results = [{ tool_use_id: `c${talk.length}`, content: "Calm.", is_error: false }];
    talk.push({ role: "assistant", content: "", tool_calls }, { role: "tool_results", results });
  }
  for (const records of shown) expect(records).toContain("Mara signs");
});

test("a provider's count of a request with records teaches the same, whether the host copies its messages or not", async () => {
  const played = async (offered: (talk: Message[]) => Message[]) => {
    const { window } = await openChat(await temporaryFolder());
    const talk = longTalk();
    let lastInputTokens = (await window.apply(offered(talk))).tokens;
    const steps: unknown[] = [];
    for (const prompt of [
      QUESTION,
      ...Array.from({ length: 12 }, (_, turn) => `${turn} ${FILLER}`),
    ]) {
      talk.push(answer("Yes."), user(prompt));
      const { outcome, tokens } = await window.apply(offered(talk), { lastInputTokens });
      steps.push({ outcome, tokens });
      lastInputTokens = tokens;
    }
    return steps;
  };
  expect(await played((talk) => structuredClone(talk))).toEqual(await played((talk) => talk));
});

test("no summary has the records of a chat", async () => {
  const { window, summarized } = await openChat(await temporaryFolder());
  const talk = longTalk();
  await window.apply(talk);
  talk.push(user(QUESTION));
  expect(recordsIn((await window.apply(talk)).messages)).toHaveLength(1);
  talk.push(answer("Behind the oilskin."), ...longTalk().slice(2), user("How is the weather?"));
  await window.apply(talk);
  expect(summarized.length).toBeGreaterThan(1);
  expect(summarized.filter((request) => request.includes(RECALLED))).toEqual([]);
});

test("a memory that fails makes no call of a chat fail", async () => {
  const { window } = await openChat(await temporaryFolder(), { fails: true });
  expectWarning(/The chat goes on without memory.*The disk is gone/);
  const talk = longTalk();
  await window.apply(talk);
  talk.push(user(QUESTION));
  const { messages } = await window.apply(talk);
  expect(messages.at(-1)).toBe(talk.at(-1));
  expect(recordsIn(messages)).toEqual([]);
});

test("a record that was refused in a chat leaves its next request, in every process, and comes back once that is taken back", async () => {
  const folder = await temporaryFolder();
  const { window, events, service } = await openChat(folder);
  const talk = longTalk();
  await window.apply(talk);
  talk.push(user(QUESTION));
  const asked = await window.apply(talk);
  const ids = (await events()).flatMap(({ records }) => records.map(({ id }) => id));
  expect(ids.length).toBeGreaterThan(0);
  await service.refuseRecall({ sessionId: "chat:boat", ids });
  const refused = await window.apply(talk);
  expect(recordsIn(refused.messages)).toEqual([]);
  expect(refused.tokens).toBeLessThan(asked.tokens);
  talk.push(answer("I do not know."), user(`Again: ${QUESTION}`));
  expect(recordsIn((await window.apply(talk)).messages)).toEqual([]);
  // A host that took the records over offers them as they were.
  const later = await openChat(folder);
  const adopted = [...asked.messages, ...talk.slice(-2)];
  const offered = await later.window.apply(adopted as Message[]);
  expect(recordsIn(offered.messages)).toEqual([]);
  expect(recordsIn((await later.window.apply(talk)).messages)).toEqual([]);

  await service.allowRecall({ sessionId: "chat:boat", ids });
  talk.push(answer("Still not."), user(`${QUESTION} Please look again.`));
  const allowed = await later.window.apply(talk);
  expect(recordsIn(allowed.messages).join()).toContain("behind the blue oilskin");
});

test("another session of the project is recalled with its name, what the window shows is not, and 0 tokens switch it off", async () => {
  const folder = await temporaryFolder();
  const { service } = await openChat(folder, { chatId: "other" });
  const { sessionId } = await service.createSession({});
  await service.appendMessages({ sessionId, messages: [{ role: "user", content: SECRET }] });
  const { window } = await openChat(folder);
  const { messages } = await window.apply([user(QUESTION)]);
  expect(recordsIn(messages).join()).toContain(`Session ${sessionId}, `);
  expect(
    recordsIn((await window.apply([user(SECRET), answer("Yes."), user(QUESTION)])).messages),
  ).toEqual([]);
  const { window: without } = await openChat(folder, { chatId: "third", recallTokens: 0 });
  expect(recordsIn((await without.apply([user(QUESTION)])).messages)).toEqual([]);
});

test("a chat begins with what a person pinned, asked for or not, and again after a compaction", async () => {
  const folder = await temporaryFolder();
  const { window, service, events } = await openChat(folder);
  const pin = async (content: string) => {
    const { id } = await service.addMemory({ content });
    return (await service.editMemory({ id, pinned: true })).id;
  };
  const [mara, refused] = [
    await pin("Deployments go through Mara."),
    await pin("Say it in verse."),
  ];
  await service.addMemory({ content: "The cafeteria closes at four." });
  const talk = [user("Good morning.")];
  const { messages } = await window.apply(talk);
  expect(recordsIn(messages).join()).toMatch(/Deployments go through Mara.*Say it in verse/);
  expect(recordsIn(messages).join()).not.toContain("cafeteria");
  talk.push(answer("Good morning."), user("When does the cafeteria close, at four?"));
  const next = await window.apply(talk);
  expect(next.messages.slice(0, messages.length)).toEqual(messages);
  expect((await events()).flatMap(({ records }) => records)).toHaveLength(3);
  const { window: later } = await openChat(folder);
  expect((await later.apply(talk)).messages).toEqual(next.messages);

  await service.refuseRecall({ sessionId: "chat:boat", ids: [refused] });
  talk.push(answer("At four."), ...longTalk(), user("Good evening."));
  const compacted = await later.apply(talk);
  expect(compacted.outcome).toBe("compacted");
  const ids = (await events()).at(-1)?.records.map(({ id }) => id);
  expect(ids).toContain(mara);
  expect(ids).not.toContain(refused);
  expect(recordsIn(compacted.messages)).toHaveLength(1);
});

test("a forgotten text leaves the records of a chat", async () => {
  const folder = await temporaryFolder();
  const { window, service, events } = await openChat(folder);
  const talk = longTalk();
  await window.apply(talk);
  await window.apply([...talk, user(QUESTION)]);
  expect(JSON.stringify(await events())).toContain("oilskin");
  const hits = await service.searchMemory({ query: SECRET });
  const ids = hits.flatMap(({ id, content }) => (content === SECRET ? [id] : []));
  await service.forgetMemory({ ids });
  expect(JSON.stringify(await events())).not.toContain("oilskin");
  const sent = await window.apply([...talk, user(QUESTION), answer("?"), user("And now?")]);
  expect(recordsIn(sent.messages).join()).not.toContain("oilskin");
});
