import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { aiSdkModels } from "../src/ai-sdk.ts";
import {
  createSessionService,
  type EventEnvelope,
  SessionError,
  type SessionService,
} from "../src/index.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { BUILDS, type OpenService, type ServiceSetup, sessionServiceLaws } from "../src/testing.ts";
import { badRequests } from "./support/bad-requests.ts";
import { Unsayable } from "./support/cli-flags.ts";
import { cliService } from "./support/cli-service.ts";
import { converse, EVENTFUL, eventsOf } from "./support/eventful-conversation.ts";
import { obey, temporaryFolder } from "./support/obey.ts";
import { providerForTest } from "./support/provider-for-test.ts";
import { Project } from "./support/rkat-process.ts";
import { scriptedProvider } from "./support/scripted-provider.ts";

const EVERYTHING = BUILDS.F ?? [];

describe("SessionService over the command", () => {
  obey<OpenService>(sessionServiceLaws, [
    {
      name: "cli",
      durable: true,
      cannot: {
        "a bad request is INVALID_PARAMS, and the message names the field":
          "one of its requests has a label that is a number, and a flag is always text",
      },
      open: async (place) => (setup) => cliService(place, setup),
    },
  ]);
});

test("a conversation gives the same events as over the SDK, as they happen and in the log", async () => {
  const expected = await converse(await sdkService(EVENTFUL));
  const { seen, logged } = await converse(await cliService(await temporaryFolder(), EVENTFUL));
  expect(seen).toEqual(expected.seen);
  expect(logged).toEqual(expected.logged);
  const types = logged.map((event) => (event as EventEnvelope).payload.type);
  for (const type of ["retrying", "tool_result_received", "compaction_completed"] as const) {
    expect(types).toContain(type);
  }
});

test("bad requests fail with the same codes as over the SDK", async () => {
  const setup = { capabilities: EVERYTHING };
  const sdk = await sdkService(setup);
  const cli = await cliService(await temporaryFolder(), setup);
  const there = await sdk.createSession({});
  const here = await cli.createSession({});
  const over = badRequests(here.sessionId);
  const unsaid: string[] = [];
  for (const [index, { operation, request }] of badRequests(there.sessionId).entries()) {
    const expected = await failureOf(() => sdk[operation](request as never) as never);
    const failed = await failureOf(() => cli[operation](over[index]?.request as never) as never);
    const asked = `${operation} ${JSON.stringify(request)}`;
    if (failed instanceof Unsayable) unsaid.push(asked);
    else expect(failed, asked).toMatchObject({ code: (expected as SessionError).code });
  }
  expect(over.length - unsaid.length).toBeGreaterThanOrEqual(25);
  expect(unsaid).toMatchInlineSnapshot();
});

/** The SDK with the model that the command has: a provider's real package, and a server with the script. */
async function sdkService(setup: ServiceSetup): Promise<SessionService> {
  const place = await temporaryFolder();
  const provider = await scriptedProvider(setup.replies);
  const stores = sqliteStores({ path: join(place, "rkat.db") });
  const service = createSessionService({
    model: "openai/gpt-test",
    models: aiSdkModels({ keys: { openai: "test" }, baseUrls: { openai: provider.urls.openai } }),
    stores,
    memory: stores.memory,
    compaction: { ...setup.compaction },
  });
  onTestFinished(async () => {
    await service.close();
    await stores.close();
  });
  return service;
}

async function failureOf(work: () => Promise<unknown>): Promise<unknown> {
  try {
    await work();
  } catch (error) {
    if (SessionError.is(error) || error instanceof Unsayable) return error;
    throw error;
  }
  throw new Error("nothing failed");
}
