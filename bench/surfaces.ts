// What does a way in cost, per turn and per streamed token, against calling the SDK?
//
// The same service with the same scripted model answers through each surface,
// the SDK in this process, the others in a process of their own. Turns of one
// delta and of a thousand alternate over all of them, so that drift of the
// machine falls on each. The command starts a process for each turn, so it has
// a line of its own, against starting Node with nothing to do.
//
//   node bench/surfaces.ts [--turns 40] [--json]
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import type { SessionService } from "../src/index.ts";
import { connectJsonRpc } from "../src/json-rpc.ts";
import { connectMcp } from "../src/mcp.ts";
import { connectRest } from "../src/rest.ts";
import { startProviderServer } from "../test/support/provider-server/provider-server.ts";
import { scriptedService } from "../test/support/scripted-service.ts";

const { values } = parseArgs({
  options: { turns: { type: "string", default: "40" }, json: { type: "boolean", default: false } },
});
const turns = Number(values.turns);
const WARM_UP = 5;
const DELTAS = 1000;

const folder = await mkdtemp(join(tmpdir(), "rkat-bench-"));
const text = "w".repeat(DELTAS);
const replies = Array.from({ length: 2 * (turns + WARM_UP) }, (_, call) => ({
  text,
  deltas: call % 2 === 0 ? 1 : DELTAS,
}));
const setup = { capabilities: ["session-store"] as const, replies };
const script = (surface: string) =>
  new URL(`../test/support/serve-scripted-${surface}.ts`, import.meta.url).pathname;
const args = (surface: string) => [
  "--disable-warning=ExperimentalWarning",
  script(surface),
  join(folder, surface),
  JSON.stringify(setup),
];

const sdk = scriptedService(join(folder, "sdk"), setup);
const rest = spawn(process.execPath, args("rest"), { stdio: ["ignore", "pipe", "inherit"] });
const [url] = (await once(createInterface({ input: rest.stdout }), "line")) as [string];
const command = process.execPath;
const surfaces: Record<string, SessionService> = {
  sdk: sdk.service,
  "json-rpc": connectJsonRpc({ command, args: args("json-rpc") }),
  rest: connectRest({ url }),
  mcp: await connectMcp({ command, args: args("mcp") }),
};

const times = new Map<string, { one: number[]; many: number[] }>();
const sessions = new Map<string, string>();
for (const [name, service] of Object.entries(surfaces)) {
  times.set(name, { one: [], many: [] });
  sessions.set(name, (await service.createSession({})).sessionId);
}
for (let turn = 0; turn < turns + WARM_UP; turn += 1) {
  for (const kind of ["one", "many"] as const) {
    for (const [name, service] of Object.entries(surfaces)) {
      const sessionId = sessions.get(name) ?? "";
      let deltas = 0;
      const startedAt = performance.now();
      await service.startTurn(
        { sessionId, prompt: "go on" },
        { onEvent: ({ payload }) => (deltas += payload.type === "text_delta" ? 1 : 0) },
      );
      const elapsed = performance.now() - startedAt;
      if (deltas !== (kind === "one" ? 1 : DELTAS))
        throw new Error(`${name} lost deltas: ${deltas}`);
      if (turn >= WARM_UP) times.get(name)?.[kind].push(elapsed);
    }
  }
}

const base = figures("sdk");
const rows = Object.fromEntries(
  Object.keys(surfaces).map((name) => {
    const { turnMs, tokenUs } = figures(name);
    return [
      name,
      {
        turn_ms: round(turnMs),
        own_turn_ms: round(turnMs - base.turnMs),
        token_us: round(tokenUs),
        own_token_us: round(tokenUs - base.tokenUs),
      },
    ];
  }),
);

const cli = await commandTimes();
if (values.json) console.log(JSON.stringify({ ...rows, cli }));
else {
  console.table(rows);
  console.table({ cli });
}

for (const [name, service] of Object.entries(surfaces)) if (name !== "sdk") await service.close();
rest.kill();
await sdk.close();
await rm(folder, { recursive: true, force: true });

function figures(name: string) {
  const { one, many } = times.get(name) ?? { one: [], many: [] };
  return {
    turnMs: median(one),
    tokenUs: ((median(many) - median(one)) * 1000) / (DELTAS - 1),
  };
}

/** A whole command, from its start to its end, with a real provider package and a local server. */
async function commandTimes() {
  const server = await startProviderServer(() => "ok");
  const env = { ...process.env, OPENAI_API_KEY: "sk-test", OPENAI_BASE_URL: server.urls.openai };
  const bin = new URL("../bin/rkat.js", import.meta.url).pathname;
  const run = async (...words: string[]) => {
    const startedAt = performance.now();
    const child = spawn(process.execPath, words, { env, stdio: "ignore" });
    const [code] = await once(child, "exit");
    if (code !== 0) throw new Error(`${words.join(" ")} ended with ${code}`);
    return performance.now() - startedAt;
  };
  const node: number[] = [];
  const rkat: number[] = [];
  const place = join(folder, "cli");
  spawnSync("mkdir", ["-p", place]);
  for (let turn = 0; turn < 12; turn += 1) {
    node.push(await run("-e", "0"));
    rkat.push(await run(bin, "-m", "openai/gpt-5.2", "--dir", place, "go on"));
  }
  await server.close();
  return {
    turn_ms: round(median(rkat)),
    node_start_ms: round(median(node)),
    ratio: round(median(rkat) / median(node)),
  };
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}

function round(number: number): number {
  return Math.round(number * 100) / 100;
}
