import { describe, expect, test } from "vitest";
import { BUILDS, type OpenService, sessionServiceLaws } from "../src/testing.ts";
import { badRequests } from "./support/bad-requests.ts";
import { Unsayable } from "./support/cli-flags.ts";
import { cliService } from "./support/cli-service.ts";
import { contractTests } from "./support/contract-tests.ts";
import { obey, temporaryFolder } from "./support/obey.ts";
import { expectSameEvents, failureOf } from "./support/same-as-sdk.ts";
import { sdkWithProvider } from "./support/sdk-with-provider.ts";
import { LONG, PART_OF_SURFACE, sampled } from "./support/trials.ts";

const EVERYTHING = BUILDS.F ?? [];

describe("SessionService over the command", () => {
  obey<OpenService>(sessionServiceLaws, [
    {
      name: "cli",
      durable: true,
      part: PART_OF_SURFACE.cli,
      cannot: {
        "a bad request is INVALID_PARAMS, and the message names the field":
          "one of its requests has a label that is a number, and a flag is always text",
      },
      open: async (place) => (setup) => cliService(place, setup),
    },
  ]);
});

describe("the contract over the command", () =>
  contractTests(cliService, { folder: "project/.rkat/sessions", part: PART_OF_SURFACE.cli }));

test("a conversation gives the same events as over the SDK, as they happen and in the log", () =>
  expectSameEvents(cliService, sdkWithProvider));

test("bad requests fail with the same codes as over the SDK", async () => {
  const setup = { capabilities: EVERYTHING };
  const sdk = await sdkWithProvider(await temporaryFolder(), setup);
  const cli = await cliService(await temporaryFolder(), setup);
  const there = await sdk.createSession({});
  const here = await cli.createSession({});
  const sameHere = badRequests(here.sessionId);
  const unsaid: string[] = [];
  const requests = [...badRequests(there.sessionId).entries()];
  const some = sampled(requests, { of: 3, at: 1 }, "cases");
  const tried = some.map(([, { operation, request }]) => askedOf(operation, request, there));
  for (const [index, { operation, request }] of some) {
    const expected = await failureOf(() => sdk[operation](request as never) as never);
    const failed = await failureOf(
      () => cli[operation](sameHere[index]?.request as never) as never,
    );
    const asked = askedOf(operation, request, there);
    if (failed.cause instanceof Unsayable) unsaid.push(asked);
    else expect(failed.code, `${asked}: ${failed.message}`).toBe(expected.code);
  }
  expect(tried.length - unsaid.length).toBeGreaterThanOrEqual(LONG ? 25 : 8);
  expect(unsaid).toEqual(UNSAID.filter((asked) => tried.includes(asked)));
});

function askedOf(operation: string, request: unknown, { sessionId }: { sessionId: string }) {
  return `${operation} ${JSON.stringify(request)}`.replace(sessionId, "…");
}

/** Bad requests that no command line can say. */
const UNSAID: readonly string[] = [
  "createSession null",
  'createSession "text"',
  "createSession []",
  'createSession {"model":5}',
  'createSession {"systemPrompt":1}',
  'createSession {"memory":"yes"}',
  'createSession {"labels":{"a":1}}',
  'createSession {"messages":"none"}',
  "startTurn {}",
  'startTurn {"sessionId":"…"}',
  'startTurn {"sessionId":7,"prompt":"hi"}',
  'startTurn {"sessionId":"…","prompt":""}',
  'startTurn {"sessionId":"…","prompt":[]}',
  'startTurn {"sessionId":"…","prompt":[{"type":"sound"}]}',
  'startTurn {"sessionId":"…","prompt":"hi","origin":{"time":"yesterday"}}',
  'startTurn {"sessionId":"…","prompt":"hi","context":[{"role":"tool"}]}',
  "appendMessages {}",
  'appendMessages {"sessionId":"…"}',
  'appendMessages {"sessionId":"…","messages":"hi"}',
  "importTranscripts {}",
  'importTranscripts {"name":"talk.jsonl"}',
  'importTranscripts {"text":""}',
  'importTranscripts {"text":5}',
  'importTranscripts {"text":"hi","base64":"aGk="}',
  'importTranscripts {"base64":"not Base64!"}',
  'importTranscripts {"text":"hi","name":""}',
  'updateTask {"sessionId":"…","goal":5}',
  'updateTask {"sessionId":"…","add":"a step"}',
  'context {"sessionId":"…","model":5}',
  'compact {"sessionId":"…","instructions":5}',
  'read {"sessionId":null}',
  'list {"offset":"1"}',
  'list {"labels":[]}',
  'searchMemory {"query":5}',
  'searchMemory {"query":[5]}',
  'addMemory {"content":5}',
  'listMemory {"after":5}',
  'forgetMemory {"ids":"x"}',
  'answerApproval {"sessionId":"…"}',
  "allowedCalls {}",
];
