import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { BUILDS } from "../src/testing.ts";
import { INPUTS } from "./support/fuzz.ts";
import { GIVEN_SEED } from "./support/given-seed.ts";
import { temporaryFolder } from "./support/obey.ts";
import { Project } from "./support/rkat-process.ts";
import { note } from "./support/running-test.ts";
import { scriptedMcpArgs } from "./support/scripted-mcp.ts";
import { spawn } from "./support/start-process.ts";
import { LONG, trials } from "./support/trials.ts";

const FRAMES = INPUTS || trials(50, 20_000);
const SEED = GIVEN_SEED ?? 0;
const AT_ONCE = 100;

const json = fc.json({ maxDepth: 3 });
const name = fc.constantFrom(
  "memory_search",
  "search_project_history",
  "session_read",
  "session_events",
  "turn_start",
  "session_list",
  "nothing",
);
const value = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constant("019467d9-7e3a-7000-8000-0"));
const args = fc.dictionary(
  fc.constantFrom("query", "limit", "session_id", "prompt", "after_seq", "__proto__", "labels"),
  value,
);
const method = fc.constantFrom(
  "tools/call",
  "tools/list",
  "resources/read",
  "resources/list",
  "logging/setLevel",
  "initialize",
  "ping",
  "server/discover",
  "no/such",
);
const params = fc.oneof(
  fc.record({ name, arguments: args }),
  fc.record({ name: value, arguments: value, _meta: value }),
  fc.record({ uri: value, level: value }),
  value,
);
const request = fc.record({ jsonrpc: fc.constant("2.0"), method, params });
const garbage = fc.oneof(
  json,
  fc.string({ maxLength: 200 }).map((text) => text.replaceAll("\n", " ")),
  request.map((message) => JSON.stringify(message).slice(0, -5)),
  fc.constantFrom("[]", "[[[[", "null", "{}", '{"jsonrpc":"2.0"}', `"${"x".repeat(100_000)}"`),
  fc.array(request, { maxLength: 2 }).map((batch) => JSON.stringify(batch)),
);

/** Speaks with a server line by line. */
function talk(command: readonly string[], options: object = {}) {
  const child = spawn(process.execPath, [...command], {
    stdio: ["pipe", "pipe", "inherit"],
    ...options,
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const answers: { id?: unknown; method?: string; error?: { code: number } }[] = [];
  let wake = () => {};
  createInterface({ input: child.stdout }).on("line", (line) => {
    answers.push(JSON.parse(line));
    wake();
  });
  return {
    child,
    answers,
    async until(done: () => boolean) {
      while (!done()) await new Promise<void>((resolve) => (wake = resolve));
    },
    async send(lines: readonly string[]) {
      if (!child.stdin.write(lines.map((line) => `${line}\n`).join(""))) {
        await once(child.stdin, "drain");
      }
    },
  };
}

test(`${FRAMES} hostile frames are each answered as the protocol says, and the server goes on`, {
  timeout: 1_800_000,
}, async () => {
  const setup = { capabilities: BUILDS.F ?? [] };
  const server = talk(scriptedMcpArgs(await temporaryFolder(), setup));
  const memory: number[] = [];
  for (let sent = 0; sent < FRAMES; sent += AT_ONCE) {
    const seed = SEED + sent + 1;
    const frames = fc.sample(fc.oneof(request, garbage), { numRuns: AT_ONCE, seed });
    const lines = frames.map((frame, index) =>
      typeof frame === "string" ? frame : JSON.stringify({ ...frame, id: `${seed}-${index}` }),
    );
    const asked = frames.flatMap((frame, index) =>
      typeof frame === "string" ? [] : [`${seed}-${index}`],
    );
    server.answers.length = 0;
    await server.send([...lines, ping(`end-${seed}`)]);
    // A call may be answered after a later one, but not much later.
    const answered = () => new Set(server.answers.map(({ id }) => id));
    await server.until(
      () => asked.every((id) => answered().has(id)) && answered().has(`end-${seed}`),
    );
    for (const { id, method } of server.answers) {
      expect(id !== undefined || method !== undefined).toBe(true);
    }
    const unreadable = lines.filter((line) => line.trim() !== "" && !isJson(line)).length;
    const refused = server.answers.filter(({ error }) => error?.code === -32700).length;
    expect(refused).toBe(unreadable);
    memory.push(residentBytes(server.child.pid));
  }
  expect(server.child.exitCode).toBe(null);
  const quarters = [0, 1, 2, 3].map((quarter) => {
    const size = memory.length / 4;
    return Math.max(...memory.slice(quarter * size, (quarter + 1) * size));
  });
  if (LONG) note(`Memory of the server, by quarters: ${quarters.map(megabytes).join(", ")}.`);
  expect(Math.max(...quarters)).toBeLessThan(600e6);
});

test("a frame that is too long is refused, and the next one is answered", async () => {
  const server = talk(scriptedMcpArgs(await temporaryFolder(), { capabilities: [] }));
  for (let part = 0; part < 33; part += 1) server.child.stdin.write("x".repeat(1024 * 1024));
  await server.send(["", ping("after")]);
  await server.until(() => server.answers.some(({ id }) => id === "after"));
  expect(server.answers[0]?.error?.code).toBe(-32700);
});

test("`rkat mcp` prints nothing but the protocol, answers what it was asked, and ends with its input", async () => {
  const project = await Project.open();
  const lines = [
    `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
    `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
    `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"memory_search","arguments":{"query":"fox"}}}`,
  ];
  const { code, stdout } = await project.rkat(["mcp"], `${lines.join("\n")}\n`);
  expect(code).toBe(0);
  const answers = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(answers.map(({ id }) => id)).toEqual([1, 2]);
  expect(answers[0].result).toMatchObject({
    protocolVersion: "2025-06-18",
    serverInfo: { name: "rkat" },
  });
  expect(answers[1].result.structuredContent).toEqual({ results: [] });
});

function ping(id: string): string {
  return JSON.stringify({ jsonrpc: "2.0", id, method: "tools/list" });
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** What the process has in memory, where the system says. */
function residentBytes(pid: number | undefined): number {
  try {
    const [, kilobytes = "0"] =
      /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return Number(kilobytes) * 1024;
  } catch {
    return 0;
  }
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`;
}
