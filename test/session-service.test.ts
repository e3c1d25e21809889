import { describe, expect, onTestFinished, test } from "vitest";
import { createSessionService, SimpleMemoryStore } from "../src/index.ts";
import { type OpenService, scriptedModel, sessionServiceLaws } from "../src/testing.ts";
import { contractTests } from "./support/contract-tests.ts";
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
