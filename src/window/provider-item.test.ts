import { expect, test } from "vitest";
import type { HostItems, HostRecord } from "../core/host-record.ts";
import { contentText, FORGOTTEN, type Message, SUMMARY_PREFIX } from "../core/message.ts";
import { createHistoryWindow } from "./create-history-window.ts";
import type { ApplyOptions, HistoryWindowOptions } from "./history-window.ts";

const OPENAI = "openai/gpt-5";

/** Words that a summary of no model need not have. */
const words = (turn: number) => `The crane lifts cargo ${turn} over the quay. `.repeat(12);

const history = (turns: number): Message[] =>
  Array.from({ length: turns }, (_, turn): Message[] => {
    const rule = turn === 1 ? "Never start the crane by night. " : "";
    return [
      { role: "user", content: `${rule}Task ${turn}: ${words(turn)}` },
      { role: "assistant", content: `Done with ${turn}. ${words(turn)}` },
    ];
  })
    .flat()
    .slice(0, -1);

/** A record of a chat whose items a test can change. */
function recordOfChat() {
  let items: readonly unknown[] = [];
  let refused: ReadonlySet<string> = new Set();
  let recalled: HostItems["recalled"] = [];
  const read = async (): Promise<HostItems> => {
    return { items, changedAtMs: 0, recalled, refused, done: () => "no" };
  };
  const record: HostRecord = {
    read,
    change: async (decide) => {
      const change = decide(await read());
      if (change) items = [...items, ...structuredClone(change.items)];
    },
  };
  return {
    record,
    text: () => JSON.stringify(items),
    replace: (from: string, to: string) => {
      items = JSON.parse(JSON.stringify(items).replaceAll(from, to));
    },
    recall: (text: string) => {
      const records = [{ id: "m", turn: null, said_by: "user", score: 1, text }];
      const event = { type: "memory_recalled", records, tokens: 9, before: "1 x" } as const;
      recalled = [{ seq: 1, itemCount: 0, event, whole: event }];
    },
    refuse: (id: string) => {
      refused = new Set([id]);
    },
  };
}

const itemOf = (number: number, tokens = 50): Message => {
  return { role: "assistant", content: `@item ${number}@ ${"x".repeat(tokens)}` };
};

const SUMMARY = "They lifted cargo with the crane over the quay, task by task; each is done.";

/** A window whose provider gives items, or a text where `gives` has one. */
function windowWith(
  gives: readonly (Message | string)[],
  options: Partial<HistoryWindowOptions<Message>> & { readonly itemTokens?: number } = {},
) {
  const { itemTokens: tokens = 60, ...more } = options;
  /** For each time that the provider is asked: what it may make an item of. */
  const asked: (readonly Message[] | undefined)[] = [];
  const window = createHistoryWindow<Message>({
    view: {
      read: (message) => ({ message }),
      summary: (content) => ({ role: "user", content }),
      shorten: (message) => message,
    },
    contextWindow: 3_000,
    summarize: async (request) => {
      const now = request.sent?.();
      const given = gives[asked.length] ?? SUMMARY;
      asked.push(now?.messages as readonly Message[] | undefined);
      return typeof given === "string" || !now
        ? SUMMARY
        : { reader: OPENAI, message: given, tokens };
    },
    ...more,
  });
  const send = async (turns: number, more: ApplyOptions = {}) =>
    await window.apply(history(turns), { reader: OPENAI, ...more });
  return { window, asked, send };
}

const summaryIn = (messages: readonly Message[]) =>
  messages
    .map((message) => (message.role === "user" ? contentText(message.content) : ""))
    .find((text) => text.startsWith(SUMMARY_PREFIX)) ?? "";
const items = (messages: readonly Message[]) => JSON.stringify(messages).match(/@item \d+@/g) ?? [];

test("an item stands beside a summary without a model, which has people's words, for its reader only", async () => {
  const { asked, send } = windowWith([itemOf(1)]);
  const { messages, outcome, recalled, summary } = await send(14);
  expect(outcome).toBe("compacted");
  // It was made of all that would have been sent, so nothing left that it does not have.
  expect(asked).toEqual([history(14)]);
  expect(messages[1]).toEqual(itemOf(1));
  expect(recalled).toEqual([itemOf(1)]);
  expect(JSON.stringify(messages)).toContain("Never start the crane by night.");
  expect(summaryIn(messages)).toContain("• Task 7: The crane lifts cargo 7");
  expect(summary).not.toContain(SUMMARY);
  const again = await send(15);
  expect(again.outcome).toBe("unchanged");
  expect(again.messages.slice(0, messages.length)).toEqual(messages);
  const others = await send(15, { reader: "anthropic/claude" });
  expect(others.messages).toEqual(again.messages.toSpliced(1, 1));
  expect(again.tokens - others.tokens).toBe(60);
  expect((await send(15, { reader: "openai/gpt-5-mini" })).messages).toEqual(others.messages);
  expect((await send(15)).messages).toEqual(again.messages);
  expect(asked).toHaveLength(1);
});

test("another process goes on with the item of the record, and the log has all that it stands for", async () => {
  const { record, text } = recordOfChat();
  const { messages } = await windowWith([itemOf(1)], { record }).send(14);
  const next = windowWith([], { record });
  expect((await next.send(14)).messages).toEqual(messages);
  expect((await next.send(14, { reader: "anthropic/claude" })).messages).toEqual(
    messages.toSpliced(1, 1),
  );
  expect(next.asked).toEqual([]);
  for (const message of history(14)) expect(text()).toContain(JSON.stringify(message));
});

test("an item stays beside the summaries of later compactions, until the provider makes another of it", async () => {
  const { record } = recordOfChat();
  const { asked, send } = windowWith([itemOf(1), SUMMARY, itemOf(2)], { record });
  await send(14);
  let made = 1;
  for (let turns = 15; asked.length < 4; turns += 1) {
    const reader = asked.length === 1 ? "anthropic/claude" : OPENAI;
    const { messages } = await send(turns, { reader });
    if (asked.length === 3) made = 2;
    expect(items(messages)).toEqual(reader === OPENAI ? [`@item ${made}@`] : []);
    expect(items((await send(turns)).messages)).toEqual([`@item ${made}@`]);
    // Nothing that it stood for is lost: the next is made of it.
    if (asked.length === 3) expect(items(asked[2] ?? [])).toEqual(["@item 1@"]);
  }
});

test("a host that offers again what was sent, the item with it or without it, pays for nothing again", async () => {
  const { asked, send, window } = windowWith([itemOf(1)]);
  const { messages } = await send(14);
  const kept = messages.toSpliced(1, 1);
  const more: Message[] = [
    { role: "assistant", content: "Done." },
    { role: "user", content: "Go on." },
  ];
  const { messages: sent } = await window.apply([...kept, ...more], { reader: OPENAI });
  expect(sent).toEqual([...messages, ...more]);
  expect(asked).toHaveLength(1);
});

test("an item that is longer than its room is not taken, and the usual summary is asked for", async () => {
  const { asked, send } = windowWith([itemOf(1)], { itemTokens: 2_500 });
  const { messages } = await send(14);
  expect(asked).toHaveLength(2);
  expect(items(messages)).toEqual([]);
  expect(summaryIn(messages)).toContain(SUMMARY);
});

test("an item and its summary together have the room of a summary", async () => {
  for (const itemTokens of [60, 120, 240, 480]) {
    const { send } = windowWith([itemOf(1)], { itemTokens });
    const { tokens, outcome } = await send(14);
    expect(outcome).toBe("compacted");
    expect(tokens).toBeLessThan(2_400);
  }
});

test("of a history with a credential no item is made", async () => {
  const { asked, window } = windowWith([itemOf(1)]);
  const key = `sk-ant-api03-${"aB3dE5".repeat(15)}-AA`;
  const told: Message = { role: "user", content: `The key is ${key}.` };
  const { messages } = await window.apply([told, ...history(14).slice(1)], { reader: OPENAI });
  expect(asked).toEqual([undefined]);
  expect(items(messages)).toEqual([]);
});

test("a last message that is written anew is in no item: the chat is compacted without it", async () => {
  const { asked, send, window } = windowWith([itemOf(1)]);
  await send(14);
  const anew = history(14).with(-1, { role: "user", content: "Something else." });
  const { messages } = await window.apply(anew, { reader: OPENAI });
  expect(asked).toHaveLength(2);
  expect(items(messages)).toEqual([]);
});

test("a shorter compaction of another provider's history does not take the item's place", async () => {
  const { record } = recordOfChat();
  const { window } = windowWith([itemOf(1)], { record });
  const forOpenAi = history(14);
  const said = { role: "assistant", content: `For OpenAI alone. ${words(1)}` } as const;
  const withOwn = forOpenAi.with(-4, said);
  expect(items((await window.apply(withOwn, { reader: OPENAI })).messages)).toHaveLength(1);
  const other = await window.apply(forOpenAi, { reader: "anthropic/claude", edited: true });
  expect(other.outcome).toBe("compacted");
  const { messages } = await window.apply(withOwn, { reader: OPENAI, edited: true });
  expect(items(messages)).toEqual(["@item 1@"]);
});

const ENDS = ["forgotten", "forgotten in a record of memory", "refused"];

test.each(ENDS)("no item outlasts a text that was %s", async (how) => {
  const { record, replace, recall, refuse } = recordOfChat();
  const { asked, send } = windowWith([itemOf(1), itemOf(2)], { record });
  const { messages } = await send(14);
  // The newest message is in no summary, but the item was made of it too.
  if (how === "forgotten") replace("Task 13", FORGOTTEN);
  else if (how === "refused") refuse("a record of memory");
  else recall(`The key is ${FORGOTTEN}.`);
  const after = await send(15);
  expect(after.messages.slice(0, messages.length - 1)).toEqual(messages.toSpliced(1, 1));
  for (let turns = 16; asked.length < 2; turns += 1) await send(turns);
  expect(asked[1]).toBeUndefined();
});

test("a bare history has no item", async () => {
  const { send } = windowWith([itemOf(1)], { contextWindow: 3_000 });
  await send(14);
  for (let tries = 0; tries < 4; tries += 1) await send(14, { outgrown: true });
  const { messages } = await send(14);
  expect(items(messages)).toEqual(summaryIn(messages) === "" ? [] : ["@item 1@"]);
});
