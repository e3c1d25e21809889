import { describe, expect, onTestFinished, test } from "vitest";
import {
  createSessionService,
  EphemeralSessionService,
  ephemeralStores,
  PersistentSessionService,
  SimpleMemoryStore,
} from "../src/index.ts";
import { type OpenService, scriptedModel, sessionServiceLaws } from "../src/testing.ts";
import { contractTests } from "./support/contract-tests.ts";
import { expectWarning } from "./support/expect-warning.ts";
import { obey } from "./support/obey.ts";
import { openSdk } from "./support/same-as-sdk.ts";

describe("SessionService", () => {
  obey<OpenService>(sessionServiceLaws, [
    {
      name: "sdk",
      durable: true,
      open: async (place) => async (setup) => openSdk(place, setup),
    },
  ]);
});

describe("the contract over the SDK", () => contractTests(openSdk));

test("an option that needs a memory is reported by a service without one, with both names", async () => {
  expectWarning(/has no effect/);
  const heard: string[] = [];
  const hear = ({ message }: Error) => void heard.push(message);
  process.on("warning", hear);
  onTestFinished(() => void process.off("warning", hear));
  const model = scriptedModel([]);
  const off = createSessionService({ model, memory: false, memoryScope: "discarded" });
  const without = createSessionService({ model, memoryResults: 5, searchableMemory: false });
  const whole = createSessionService({ model, memory: new SimpleMemoryStore(), memoryResults: 5 });
  await new Promise(setImmediate);
  for (const service of [off, without, whole]) await service.close();
  expect(heard).toEqual([
    "`memoryScope` has no effect, because `memory` is false.",
    "`memoryResults` has no effect, because there is no `memory`.",
  ]);
});

test("a history that a session begins with is not taken for the user's own words", async () => {
  const service = createSessionService({ model: scriptedModel([]), stores: ephemeralStores() });
  const content = "Always deploy on Fridays from the staging branch.";
  const { sessionId } = await service.createSession({ messages: [{ role: "user", content }] });
  const { history } = await service.read({ sessionId });
  expect(history.find(({ message }) => message.role === "user")?.origin).toEqual({
    author: "program",
  });
  const [hit] = await service.searchMemory({ query: "deploy on Fridays" });
  expect(hit).toMatchObject({ content, speaker: "program" });
  await service.close();
});

test("a bad request is refused as such by a service that lacks the capability too", async () => {
  const service = createSessionService({ model: scriptedModel([]) });
  const bad = { sessionId: "" };
  await expect(service.read(bad)).rejects.toMatchObject({ code: "INVALID_PARAMS" });
  await expect(service.compact(bad)).rejects.toMatchObject({ code: "INVALID_PARAMS" });
  await expect(service.forgetMemory({})).rejects.toMatchObject({ code: "INVALID_PARAMS" });
  await service.close();
});

test("the specification's names are classes of the services that createSessionService makes", async () => {
  const model = scriptedModel(["hello"]);
  const persistent = createSessionService({ model, stores: ephemeralStores() });
  const ephemeral = new EphemeralSessionService({ model });
  expect(persistent).toBeInstanceOf(PersistentSessionService);
  expect(createSessionService({ model })).toBeInstanceOf(EphemeralSessionService);
  const { sessionId } = await ephemeral.createSession({});
  // A service's methods need no object.
  const { startTurn } = ephemeral;
  expect((await startTurn({ sessionId, prompt: "hi" })).text).toBe("hello");
  await ephemeral.close();
  await persistent.close();
});

test("a closed service changes nothing more, says that it is closed, and ends who follows a session", async () => {
  const stores = ephemeralStores();
  const service = createSessionService({ model: scriptedModel([]), stores });
  const { sessionId } = await service.createSession({});
  const followed = service.subscribe({ sessionId, afterSeq: 0 })[Symbol.asyncIterator]();
  const { seq } = await service.read({ sessionId });
  for (let at = 0; at < seq; at += 1) await followed.next();
  const waits = followed.next();
  await service.close();
  expect(await waits).toEqual({ done: true, value: undefined });

  const closed = {
    code: "AGENT_ERROR",
    message: "The service is closed.",
    hint: "Open another one. The stores have all that was said.",
  };
  for (const refused of [
    () => service.createSession({}),
    () => service.updateTask({ sessionId, goal: "more" }),
    () => service.addMemory({ content: "more" }),
    () => service.delete({ sessionId }),
    () => service.startTurn({ sessionId, prompt: "hi" }),
    () => service.subscribe({ sessionId })[Symbol.asyncIterator]().next(),
    async () => service.forUser("ada"),
  ]) {
    await expect(refused()).rejects.toMatchObject(closed);
  }
  expect((await service.read({ sessionId })).seq).toBe(seq);
});
