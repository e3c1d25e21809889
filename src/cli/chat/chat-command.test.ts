import { expect, test } from "vitest";
import { createSessionService } from "../../index.ts";
import { EphemeralEventStore } from "../../stores/ephemeral/ephemeral-event-store.ts";
import { EphemeralSessionStore } from "../../stores/ephemeral/ephemeral-session-store.ts";
import { SimpleMemoryStore } from "../../stores/ephemeral/simple-memory-store.ts";
import { scriptedModel } from "../../testing.ts";
import { earlierPrompts } from "./chat-command.ts";

test("the arrow up starts with the last prompt, and shows whole prompts", async () => {
  const stores = {
    events: new EphemeralEventStore(),
    sessions: new EphemeralSessionStore(),
    memory: new SimpleMemoryStore(),
    async close() {},
  };
  const service = createSessionService({ model: scriptedModel(["a", "b", "c"]), stores });
  const first = await service.createSession({});
  await service.startTurn({ ...first, prompt: "in the first session" });
  const second = await service.createSession({});
  await service.startTurn({ ...second, prompt: "one\ntwo" });
  await service.startTurn({ ...second, prompt: "three" });
  expect(await earlierPrompts(service)).toEqual(["three", "one\ntwo", "in the first session"]);
  // One that is deleted meanwhile, or whose log is damaged, is left out.
  const list = async () => [...(await service.list({})), ...(await gone)];
  const gone = service.list({}).then(([one]) => (one ? [{ ...one, sessionId: "gone" }] : []));
  expect(await earlierPrompts({ list, read: (of) => service.read(of) })).toHaveLength(3);
  await service.close();
});
