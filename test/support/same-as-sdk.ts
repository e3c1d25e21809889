import { expect, onTestFinished } from "vitest";
import type { EventEnvelope } from "../../src/core/event.ts";
import { SessionError, type SessionService } from "../../src/index.ts";
import type { ServiceSetup } from "../../src/testing.ts";
import { badRequests } from "./bad-requests.ts";
import { converse, EVENTFUL } from "./eventful-conversation.ts";
import { temporaryFolder } from "./obey.ts";
import { scriptedService } from "./scripted-service.ts";

/** A service on stores in a place, reached through a surface. */
export type OpenSurface = (
  place: string,
  setup: ServiceSetup,
) => SessionService | Promise<SessionService>;

/** The same in this process, with nothing in between. */
export const openSdk: OpenSurface = (place, setup) => {
  const { service, close } = scriptedService(place, setup);
  onTestFinished(close);
  return service;
};

/** A scripted conversation gives the same events through a surface as through the SDK. */
export async function expectSameEvents(open: OpenSurface, sdk: OpenSurface = openSdk) {
  const expected = await converse(await sdk(await temporaryFolder(), EVENTFUL));
  const { seen, logged } = await converse(await open(await temporaryFolder(), EVENTFUL));
  expect(seen).toEqual(expected.seen);
  expect(logged).toEqual(expected.logged);
  const types = logged.map((event) => (event as EventEnvelope).payload.type);
  for (const type of [
    "retrying",
    "tool_result_received",
    "task_updated",
    "compaction_completed",
  ] as const) {
    expect(types).toContain(type);
  }
}

/** Bad requests fail with the same codes through a surface as through the SDK. */
export async function expectSameCodes(open: OpenSurface) {
  const sdk = await openSdk(await temporaryFolder(), EVENTFUL);
  const surface = await open(await temporaryFolder(), EVENTFUL);
  for (const [name, subject] of Object.entries({ sdk, surface })) {
    const { sessionId } = await subject.createSession({});
    for (const { operation, request, code } of badRequests(sessionId)) {
      const asked = `${name}: ${operation} ${JSON.stringify(request)}`;
      const failed = await failureOf(() => subject[operation](request as never) as never, asked);
      expect(failed.code, asked).toBe(code);
    }
  }
}

/** Subscribing to what there is not fails through a surface as it does through the SDK. */
export async function expectSameRefusals(open: OpenSurface) {
  const service = await open(await temporaryFolder(), EVENTFUL);
  const next = (request: unknown) => () =>
    service
      .subscribe(request as never)
      [Symbol.asyncIterator]()
      .next();
  expect((await failureOf(next({ sessionId: "nobody" }))).code).toBe("SESSION_NOT_FOUND");
  const failed = await failureOf(next({ sessionId: "nobody", afterSeq: -1 }));
  expect(failed.code).toBe("INVALID_PARAMS");
  expect(failed.message).toContain("afterSeq");
  expect(failed.issues).toMatchObject([{ path: ["afterSeq"] }]);
}

/** A message names fields as the caller knows them, and quotes the caller's own text unchanged. */
export async function expectSameTexts(open: OpenSurface) {
  const messagesOf = async (service: SessionService) => {
    const { sessionId } = await service.createSession({});
    const requests: readonly (() => Promise<unknown>)[] = [
      () => service.createSession({ model: "nobody/max_tokens-maxTokens" }),
      () => service.createSession({ labels: { sessionId: 1, session_id: 2 } } as never),
      () => service.createSession({ compaction: { windowSize: 0 } }),
      () => service.startTurn({ sessionId, prompt: "hi", max_tokens: 5 } as never),
      () => service.startTurn({ sessionId, prompt: 5 } as never),
      () => service.searchMemory({ query: "fox", sessionId: "", minScore: 2 }),
      () => service.forgetMemory({}),
    ];
    const failures = await Promise.all(requests.map((request) => failureOf(request)));
    return failures.map(({ message, issues }) => ({ message, issues }));
  };
  const expected = await messagesOf(await openSdk(await temporaryFolder(), EVENTFUL));
  expect(expected[0]?.message).toContain("nobody/max_tokens-maxTokens");
  expect(await messagesOf(await open(await temporaryFolder(), EVENTFUL))).toEqual(expected);
}

/** The error that `work` ends with; it has to be one of ours. */
export async function failureOf(
  work: () => Promise<unknown>,
  what = "the work",
): Promise<SessionError> {
  try {
    await work();
  } catch (error) {
    if (SessionError.is(error)) return error;
    throw error;
  }
  throw new Error(`${what} did not fail`);
}
