import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { OPERATIONS } from "../src/core/operations.ts";
import { ERRORS } from "../src/index.ts";
import { ANY_CHARACTER } from "./support/any-character.ts";
import { builtProgram } from "./support/built-package.ts";
import { INPUTS } from "./support/fuzz.ts";
import { temporaryFolder } from "./support/obey.ts";
import { type ChildProcessByStdio, spawn } from "./support/start-process.ts";
import { LONG, trials } from "./support/trials.ts";

const SERVER = builtProgram("serve-scripted-json-rpc");
const FRAMES = INPUTS || trials(50, 30_000);
const SEED = Number(process.env.RKAT_FUZZ_SEED ?? 20_251);
const BLOCK = 500;
const LINE_BYTES_MAX = 32 * 1024;
const BATCH_MAX = 100;
/** What leaks runs out of this long before the end. */
const HEAP_LIMIT = "--max-old-space-size=96";
const MEGABYTE = 1024 * 1024;

const OWN_METHODS = ["initialize", "session/subscribe", "session/unsubscribe", "$/cancelRequest"];
const METHODS = new Set<unknown>([
  ...Object.values(OPERATIONS).map(({ rpc }) => rpc),
  ...OWN_METHODS,
]);

test(`${FRAMES} malformed and hostile lines are answered as the protocol says`, async () => {
  const server = await startServer();
  const expected = new Tally();
  let memoryAtFirst = 0;
  for (let sent = 0; sent < FRAMES; sent += BLOCK) {
    const size = Math.min(BLOCK, FRAMES - sent);
    const lines = fc.sample(frame(await server.createSession()), {
      seed: SEED + sent,
      numRuns: size,
    });
    for (const line of lines) {
      for (const answer of answersTo(line)) expected.add(answer);
      await server.send(line);
    }
    if (sent === 0) memoryAtFirst = server.memory();
  }
  const grown = server.memory() - memoryAtFirst;
  expect(await server.end()).toEqual([0, null]);
  expect(server.answers.differences(expected)).toEqual([]);
  expect(grown).toBeLessThan(250 * MEGABYTE);
}, 1_200_000);

test("a line longer than it may be is skipped without being held", async () => {
  const server = await startServer();
  await server.createSession();
  const before = server.memory();
  const part = Buffer.alloc(MEGABYTE, "x");
  for (let sent = 0; sent < (LONG ? 400 : 150); sent += 1) await server.write(part);
  const grown = server.memory() - before;
  await server.send(Buffer.from(""));
  await server.send(Buffer.from('{"jsonrpc":"2.0","id":"after","method":"initialize"}'));
  expect(await server.end()).toEqual([0, null]);
  const expected = new Tally();
  expected.add("null -32600");
  expected.add('"after" worked');
  expect(server.answers.differences(expected)).toEqual([]);
  expect(grown).toBeLessThan(100 * MEGABYTE);
});

/** A line without its end. */
function frame(sessionId: string): fc.Arbitrary<Uint8Array> {
  const text = (line: string) => new TextEncoder().encode(line.replaceAll("\n", " "));
  const json = (value: unknown) => text(JSON.stringify(value) ?? "");
  const known = fc.constantFrom(...([...METHODS] as string[]));
  const params = fc.oneof(
    fc.dictionary(
      fc.constantFrom("session_id", "prompt", "query", "limit", "__proto__"),
      fc.jsonValue(),
    ),
    fc.record({ session_id: fc.constantFrom(sessionId, "nobody"), after_seq: fc.integer() }),
    fc.record({ session_id: fc.constantFrom("nobody", ""), prompt: fc.string() }),
    fc.record({ query: fc.string() }),
    fc.jsonValue(),
  );
  const id = fc.oneof(fc.integer(), fc.string(), fc.double(), fc.jsonValue());
  const request = fc.record(
    {
      jsonrpc: fc.oneof({ weight: 9, arbitrary: fc.constant("2.0") }, fc.jsonValue()),
      id,
      method: fc.oneof(
        { weight: 5, arbitrary: known },
        fc.constantFrom("__proto__", "constructor", "toString", "rpc.discover", "", "config/get"),
        fc.string(),
        fc.jsonValue(),
      ),
      params,
    },
    { requiredKeys: [] },
  );
  const wellFormed = fc.record({ jsonrpc: fc.constant("2.0"), id, method: known, params });
  const message = fc.oneof(request, wellFormed, fc.jsonValue());
  const damaged = fc
    .tuple(wellFormed, fc.nat(), fc.uint8Array({ maxLength: 3 }), fc.nat({ max: 3 }))
    .map(([value, at, bytes, removed]) => {
      const line = json(value);
      const start = at % (line.length + 1);
      return Buffer.concat([line.subarray(0, start), bytes, line.subarray(start + removed)]);
    });
  const deep = fc
    .tuple(
      fc.constantFrom("[", '{"a":', '{"jsonrpc":"2.0","id":1,"method":"turn/start","params":['),
      fc.nat({ max: 40_000 }),
      fc.boolean(),
    )
    .map(([open, depth, closed]) =>
      text(`${open}${"[".repeat(depth)}${closed ? "]".repeat(depth) : ""}`),
    );
  const deepParams = fc.nat({ max: 12_000 }).map((depth) => {
    const args = `${"[".repeat(depth)}${"]".repeat(depth)}`;
    const call = `{"id":"c","name":"n","args":${args}}`;
    const messages = `[{"role":"assistant","content":"","tool_calls":[${call}]}]`;
    return text(
      `{"jsonrpc":"2.0","id":"deep","method":"session/create","params":{"messages":${messages}}}`,
    );
  });
  const turn = fc.string({ minLength: 1 }).map((prompt) =>
    json({
      jsonrpc: "2.0",
      id: "turn",
      method: "turn/start",
      params: { session_id: sessionId, prompt },
    }),
  );
  return fc
    .oneof(
      { weight: 20, arbitrary: message.map(json) },
      { weight: 10, arbitrary: damaged },
      { weight: 5, arbitrary: fc.uint8Array({ maxLength: 200 }) },
      { weight: 5, arbitrary: fc.array(message, { maxLength: 20 }).map(json) },
      {
        weight: 1,
        arbitrary: fc.array(fc.constant(1), { minLength: 90, maxLength: 110 }).map(json),
      },
      { weight: 3, arbitrary: fc.string({ unit: ANY_CHARACTER }).map(text) },
      { weight: 1, arbitrary: deep },
      { weight: 1, arbitrary: deepParams },
      { weight: 1, arbitrary: turn },
      {
        weight: 1,
        arbitrary: fc
          .nat({ max: 3 * LINE_BYTES_MAX })
          .map((length) => text("[".padEnd(length, " "))),
      },
    )
    .map((line) => line.map((byte) => (byte === 10 ? 32 : byte)));
}

/** What the protocol says of a line, written again, and simply: each answer's id and kind. */
function answersTo(line: Uint8Array): string[] {
  if (line.length > LINE_BYTES_MAX) return ["null -32600"];
  let message: unknown;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(line);
    if (text.trim() === "") return [];
    message = JSON.parse(text);
  } catch {
    return ["null -32700"];
  }
  if (!Array.isArray(message)) return answersToOne(message);
  if (message.length === 0 || message.length > BATCH_MAX) return ["null -32600"];
  return message.flatMap(answersToOne);
}

function answersToOne(value: unknown): string[] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return ["null -32600"];
  const { jsonrpc, id, method, params } = value as Record<string, unknown>;
  const exact =
    typeof id === "number" &&
    Number.isFinite(id) &&
    !(Math.abs(id) > 2 ** 53 - 1 && Number.isInteger(id));
  if (id !== undefined && typeof id !== "string" && id !== null && !exact) return ["null -32600"];
  const structured = params === undefined || (typeof params === "object" && params !== null);
  if (jsonrpc !== "2.0" || typeof method !== "string" || !structured) {
    return [`${JSON.stringify(id ?? null)} -32600`];
  }
  const members = new Set(["jsonrpc", "id", "method", "params"]);
  if (!Object.keys(value).every((name) => members.has(name))) {
    return [`${JSON.stringify(id ?? null)} -32600`];
  }
  if (id === undefined) return [];
  return [`${JSON.stringify(id)} ${METHODS.has(method) ? "worked" : "-32601"}`];
}

/** How often each answer came, or should. */
class Tally {
  readonly #counts = new Map<string, number>();

  add(answer: string): void {
    this.#counts.set(answer, (this.#counts.get(answer) ?? 0) + 1);
  }

  differences(expected: Tally): string[] {
    return [...new Set([...this.#counts.keys(), ...expected.#counts.keys()])]
      .map((key) => [key, this.#counts.get(key) ?? 0, expected.#counts.get(key) ?? 0] as const)
      .filter(([, came, should]) => came !== should)
      .map(([key, came, should]) => `${key} came ${came} times, not ${should}`);
  }
}

async function startServer() {
  const setup = JSON.stringify({ capabilities: ["session-store", "memory-store"] });
  const options = JSON.stringify({ lineBytesMax: LINE_BYTES_MAX });
  const child: ChildProcessByStdio<Writable, Readable, null> = spawn(
    process.execPath,
    [
      HEAP_LIMIT,
      "--disable-warning=ExperimentalWarning",
      SERVER,
      await temporaryFolder(),
      setup,
      options,
    ],
    { stdio: ["pipe", "pipe", "inherit"] },
  );
  onTestFinished(() => void child.kill("SIGKILL"));
  const answers = new Tally();
  let onCreated = (_sessionId: string) => {};
  createInterface({ input: child.stdout }).on("line", (line) => {
    const message: unknown = JSON.parse(line);
    for (const each of Array.isArray(message) ? message : [message]) {
      expect(each.jsonrpc).toBe("2.0");
      if (each.method !== undefined) continue;
      if (each.id === "create") onCreated(each.result.session_id);
      else answers.add(`${JSON.stringify(each.id)} ${kindOf(each)}`);
    }
  });
  const write = async (bytes: Uint8Array) => {
    if (!child.stdin.write(bytes)) await once(child.stdin, "drain");
  };
  return {
    answers,
    write,
    send: (line: Uint8Array) => write(Buffer.concat([line, Buffer.from("\n")])),
    async createSession(): Promise<string> {
      const created = new Promise<string>((resolve) => {
        onCreated = resolve;
      });
      await write(Buffer.from('{"jsonrpc":"2.0","id":"create","method":"session/create"}\n'));
      return await created;
    },
    memory: () => residentBytes(child.pid),
    async end() {
      const closed = once(child, "close");
      child.stdin.end();
      return await closed;
    },
  };
}

/** Bytes that a process has in memory; 0 where the system does not say. */
function residentBytes(pid: number | undefined): number {
  const file = `/proc/${pid}/status`;
  if (!existsSync(file)) return 0;
  return 1024 * Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(file, "utf8"))?.[1]);
}

function kindOf(answer: { readonly error?: { readonly code: number }; readonly result?: unknown }) {
  const { error, result } = answer;
  expect((error === undefined) !== (result === undefined)).toBe(true);
  const telling = [-32700, -32600, -32601, ERRORS.INTERNAL_ERROR.jsonRpcCode];
  return error && telling.includes(error.code) ? String(error.code) : "worked";
}
