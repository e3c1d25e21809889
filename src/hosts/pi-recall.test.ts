import { expect, test } from "vitest";
import type { PromptRecords, WindowSize } from "./host-messages.ts";
import type { PiApi, PiContext, PiEntry, PiMessage } from "./pi-api.ts";
import { recallIn } from "./pi-recall.ts";

/** A session of pi, with the records that memory gives for each prompt. */
function openSession(recordsFor: (prompt: string) => PromptRecords | undefined) {
  const handlers = new Map<string, (event: object, context: object) => unknown>();
  const entries: PiEntry[] = [];
  const sizes: (WindowSize | undefined)[] = [];
  let time = 0;
  const add = (entry: object) => {
    time += 1;
    entries.push({ id: `e${time}`, timestamp: new Date(time).toISOString(), ...entry } as PiEntry);
  };
  const pi = {
    on: (event: string, handler: never) => void handlers.set(event, handler),
    registerTool() {},
    appendEntry: (customType: string, data: unknown) => add({ type: "custom", customType, data }),
  } satisfies PiApi;
  recallIn(pi, async ({ prompt, window }) => {
    sizes.push(window);
    return recordsFor(prompt);
  });
  const context = {
    cwd: "/project",
    model: { contextWindow: 8_000 },
    getContextUsage: () => ({ tokens: 3_000 }),
    sessionManager: { getSessionId: () => "s", getBranch: () => entries },
  } as unknown as PiContext;
  const on = (event: string, given: object) => handlers.get(event)?.(given, context);
  const said = (role: string, more: object = {}) =>
    add({ type: "message", message: { role, timestamp: time, ...more } });
  const sent = (): string => {
    const messages = entries.flatMap(({ message }) => message ?? []);
    const changed = on("context", { messages }) as { messages: PiMessage[] } | undefined;
    return JSON.stringify(changed?.messages ?? messages);
  };
  return {
    sizes,
    sent,
    async ask(prompt: string) {
      await on("before_agent_start", { prompt });
      said("user", { content: prompt });
      return sent();
    },
    said,
    compact() {
      on("session_before_compact", { preparation: { settings: { reserveTokens: 3_000 } } });
      add({ type: "compaction", firstKeptEntryId: "e1" });
    },
  };
}

const about = (prompt: string, replaces = false) => ({ text: `Records of ${prompt}.`, replaces });

test("records leave at a compaction, but for those of a request that is being worked on", async () => {
  const { ask, said, compact, sent } = openSession((prompt) => about(prompt));
  await ask("berths");
  said("assistant", { stopReason: "stop" });
  expect(await ask("cranes")).toMatch(/Records of berths.*Records of cranes/);
  said("assistant", { stopReason: "toolUse" });
  said("toolResult");
  compact();
  expect(sent()).not.toContain("Records of berths");
  expect(sent()).toContain("Records of cranes");
  said("assistant", { stopReason: "stop" });
  compact();
  expect(sent()).not.toContain("Records of");
});

test("records leave for those of a later prompt that need their room", async () => {
  const { ask, sent } = openSession((prompt) => about(prompt, prompt === "cranes"));
  await ask("berths");
  expect(await ask("cranes")).not.toContain("Records of berths");
  await ask("tides");
  expect(sent()).toMatch(/Records of cranes.*Records of tides/);
});

test("memory is told how large the window is, and what is in it", async () => {
  const { ask, sizes, compact } = openSession((prompt) => about(prompt.repeat(400)));
  await ask("berths ");
  expect(sizes).toEqual([{ threshold: 6_400, used: 3_000, recalled: 0 }]);
  await ask("cranes ");
  expect(sizes[1]?.recalled).toBeGreaterThan(600);
  compact();
  await ask("tides ");
  expect(sizes[2]?.threshold).toBe(5_000);
});
