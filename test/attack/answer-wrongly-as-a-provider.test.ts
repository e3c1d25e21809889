import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { createSessionService, defineTool } from "../../src/index.ts";
import { damagedBytes, readOrRefused } from "../support/fuzz.ts";
import { KEY, MODEL_NAMES, MODELS, type ModelName, modelsOf } from "../support/model-under-test.ts";
import {
  type ProviderServer,
  startProviderServer,
} from "../support/provider-server/provider-server.ts";
import type { Answer, Wire } from "../support/provider-server/reply.ts";
import { sampled, trials } from "../support/trials.ts";

// The server of a model is another program, often another company's. Its answers may be cut, damaged, endless or untrue.

const ARGS = { path: "src/billing.ts", text: 'const total = "12 €";\n'.repeat(4) };
const CALL: Answer = {
  reasoning: "I should write it down.",
  text: "Writing.",
  toolCalls: [{ name: "write", args: ARGS }],
};

const opened: ProviderServer[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((server) => server.close()));
});

/** A session with the real package of a provider. Its server gives the answers that are next, and then "fine". */
async function session(name: ModelName) {
  const next: Answer[] = [];
  const server = await startProviderServer(() => next.shift() ?? "fine");
  opened.push(server);
  const written: unknown[] = [];
  const write = defineTool({
    name: "write",
    description: "Writes a file.",
    input: z.object({ path: z.string(), text: z.string() }),
    execute: (args) => {
      written.push(args);
      return "written";
    },
  });
  const service = createSessionService({
    model: MODELS[name],
    models: modelsOf(server),
    tools: [write],
    builtinTools: false,
    retry: { maxRetries: 1, initialDelayMs: 1, maxDelayMs: 1 },
  });
  const { sessionId } = await service.createSession({ systemPrompt: "Be brief." });
  /** The turn of a prompt that is answered so, and what the tool was called with meanwhile. */
  const answered = async (...answers: readonly Answer[]) => {
    next.splice(0, next.length, ...answers);
    written.length = 0;
    const ended = await readOrRefused(() => service.startTurn({ sessionId, prompt: "Write it." }));
    if ("refused" in ended) expect(JSON.stringify(ended.refused)).not.toContain(KEY);
    return { ...ended, written: [...written] };
  };
  return { server, service, answered };
}

async function end(server: ProviderServer, service: { close(): Promise<unknown> }): Promise<void> {
  await service.close();
  await server.close();
  opened.splice(opened.indexOf(server), 1);
}

/** The answer, whose bytes go through this. */
const sent = (onWire: (bytes: Buffer) => Wire, answer = CALL): Answer => ({ ...answer, onWire });

/** The bytes of an answer as this provider sends it. */
async function bytesOf(name: ModelName, answer: Answer): Promise<Buffer> {
  const kept: Buffer[] = [];
  const { answered, server, service } = await session(name);
  await answered(
    sent((bytes) => {
      kept.push(bytes);
      return { bytes, after: "end" };
    }, answer),
  );
  await end(server, service);
  return Buffer.concat(kept);
}

const utf8 = (text: string) => Buffer.from(text);
const lines = (line: string) => utf8(`data: ${line}\n\n`);
const ended = (bytes: Uint8Array, headers?: Record<string, string>) => () => ({
  bytes,
  after: "end" as const,
  ...(headers ? { headers } : {}),
});

const NONSENSE: Readonly<Record<string, (bytes: Buffer) => Wire>> = {
  nothing: ended(utf8("")),
  "an empty object": ended(lines("{}")),
  null: ended(lines("null")),
  "a list": ended(lines("[]")),
  "a number beyond all": ended(lines("1e999")),
  "half of an object": ended(lines('{"choices":[{"delta":{"content":"hi')),
  "nested lists": ended(lines("[".repeat(100_000))),
  "nested objects": ended(lines(`${'{"type":'.repeat(50_000)}1${"}".repeat(50_000)}`)),
  "a prototype": ended(
    lines('{"__proto__":{"type":"message_stop"},"constructor":{"prototype":{"x":1}}}'),
  ),
  "bytes of no text": ended(Buffer.from([0xff, 0xfe, 0x00, 0x80, 0xc3, 0x28, 0xed, 0xa0, 0x80])),
  "a line of 4 MB": ended(lines(`"${"a".repeat(4_000_000)}"`)),
  "a hundred thousand comments": ended(utf8(": ping\n\n".repeat(100_000))),
  "another protocol": ended(utf8("HTTP/1.1 200 OK\r\n\r\n\u0000\u0001")),
  "what is not compressed, though it says so": ended(utf8("plainly"), {
    "content-encoding": "gzip",
  }),
  "a type of an image": ended(utf8("GIF89a"), { "content-type": "image/gif" }),
  "JSON, not a stream": ended(utf8('{"ok":true}'), { "content-type": "application/json" }),
  "a status that there is not": () => ({ bytes: utf8("no"), after: "end", status: 799 }),
  "its events backwards": (bytes) => ({
    bytes: utf8(String(bytes).split("\n\n").reverse().join("\n\n")),
    after: "end",
  }),
};

const PART_BYTES = 256 * 1024;

/** What never ends: what comes first, and what comes then again and again. */
const ENDLESS: Readonly<Record<string, (bytes: Buffer) => readonly [first: string, part: string]>> =
  {
    "a line": () => ["", "a".repeat(PART_BYTES)],
    comments: () => ["", `: ${"a".repeat(PART_BYTES)}\n\n`],
    text: (bytes) => {
      const events = String(bytes).split(/(?<=\n\n)/);
      const at = events.findIndex((event) => event.includes("Writing"));
      const part = events[at]?.replace("Writing", "a".repeat(PART_BYTES)) ?? "";
      return [events.slice(0, at).join(""), part];
    },
  };

/** As a server may count that is wrong or lies. */
const COUNTS = [0, -5, 0.5, 1e15, 1e300, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER + 1];

describe.each(MODEL_NAMES)("a server that speaks to %s", (name) => {
  const part = (of: number) => ({ of, at: MODEL_NAMES.indexOf(name) % of });

  test("and cuts its answer at any byte: no half call runs, and the next try is whole", async () => {
    const { length } = await bytesOf(name, CALL);
    const all = Array.from({ length }, (_, cut) => cut);
    for (const cut of sampled(all, part(199), "cases")) {
      const { answered, server, service } = await session(name);
      for (const after of ["cut", "end"] as const) {
        const turn = await answered(sent((bytes) => ({ bytes: bytes.subarray(0, cut), after })));
        expect(turn, `${after} at ${cut}`).toMatchObject({ value: { text: "fine" } });
        expect([[], [ARGS]], `${after} at ${cut}`).toContainEqual(turn.written);
      }
      expect(server.problems).toEqual([]);
      await end(server, service);
    }
  }, 600_000);

  test("and damages its answer: a sentence or an answer, and the conversation goes on", async () => {
    const whole = await bytesOf(name, CALL);
    const bad = fc.tuple(damagedBytes([whole]), fc.constantFrom("cut", "end"));
    await fc.assert(
      fc.asyncProperty(bad, async ([bytes, after]) => {
        const { answered, server, service } = await session(name);
        const damaged = sent(() => ({ bytes, after }));
        await answered(damaged, damaged);
        expect(await answered()).toMatchObject({ value: { text: "fine" } });
        // A signature that was damaged is refused, once for each of the two answers.
        const others = server.problems.filter((problem) => !/signature|encrypted/i.test(problem));
        expect(others).toEqual([]);
        expect(server.problems.length).toBeLessThanOrEqual(2);
        await end(server, service);
      }),
      { numRuns: trials(10, 2000) },
    );
  }, 600_000);

  test.each(sampled(Object.entries(NONSENSE), part(4), "cases"))(
    "and answers with %s: a sentence, and the conversation goes on",
    async (_, wire) => {
      const { answered, server, service } = await session(name);
      const nonsense = sent(wire);
      const turn = await answered(nonsense, nonsense);
      if ("refused" in turn) expect(turn.refused.code).toBe("PROVIDER_ERROR");
      for (const args of turn.written) expect(args).toEqual(ARGS);
      expect(await answered()).toMatchObject({ value: { text: "fine" } });
      expect(server.problems).toEqual([]);
      await end(server, service);
    },
  );

  test.each(sampled(Object.entries(ENDLESS), part(3), "cases"))(
    "and answers with %s without an end: it is cut off",
    async (_, parts) => {
      const { answered, server, service } = await session(name);
      let sentBytes = 0;
      function* without(bytes: Buffer) {
        const [first, part] = parts(bytes).map((text) => Buffer.from(text));
        if (first) yield first;
        for (; part; sentBytes += part.length) yield part;
      }
      const turn = await answered(sent((bytes) => ({ bytes: without(bytes), after: "end" })));
      expect(turn).toMatchObject({
        refused: { code: "PROVIDER_ERROR", message: expect.stringMatching(/more than \d+ Mi/) },
      });
      // What the system holds for the other side is not read.
      expect(sentBytes).toBeLessThan(300 * 2 ** 20);
      expect(await answered()).toMatchObject({ value: { text: "fine" } });
      expect(server.problems).toEqual([]);
      await end(server, service);
    },
  );

  test.each(sampled(COUNTS, part(4), "cases"))(
    "and says that it counted %s tokens: nothing of the conversation leaves for that",
    async (count) => {
      const { answered, server, service } = await session(name);
      const usage = { input: count, output: count, cacheRead: count, cacheWrite: count };
      for (let turn = 0; turn < 6; turn += 1) {
        const said = await answered({ text: `Answer ${turn}.`, usage });
        expect(said).toMatchObject({ value: { text: `Answer ${turn}.` } });
      }
      const asked = JSON.stringify(server.requests.at(-1)?.body);
      expect(asked).toContain("Answer 0.");
      await end(server, service);
    },
  );
});
