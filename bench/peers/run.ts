import { fork } from "../../test/support/start-process.ts";
import "../../build.ts";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { bytesIn, median, type SearchTimes } from "../measuring.ts";
import { thisMachine } from "../report.ts";
import { PEERS, type Peer } from "./peers.ts";
import type { PhaseInput, PhaseName, PhaseOutput } from "./phases.ts";
import { type Measured, renderPeers } from "./render-peers.ts";

/**
 * Measures rkat and its peers on the same texts, one at a time, each in its own
 * processes, which may not use the network.
 *
 *     npm ci && npm ci --prefix bench/peers
 *     node bench/peers/run.ts [--size 10000,100000] [--peers rkat,FTS5] [--json FILE]
 */
const NODE_FLAGS = ["--disable-warning=ExperimentalWarning"];
const PROGRAM = fileURLToPath(new URL("./peer-process.ts", import.meta.url));
const ROUNDS = 3;
const STARTS = 5;

const { values } = parseArgs({
  options: {
    size: { type: "string", default: "10000" },
    peers: { type: "string" },
    json: { type: "string" },
  },
});
const named = values.peers?.split(",");
const stop = new AbortController();
const root = mkdtempSync(join(tmpdir(), "rkat-peers-"));
const remove = () => rmSync(root, { recursive: true, force: true, maxRetries: 3 });
process.once("exit", remove);
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  // A second Ctrl-C ends the process at once.
  process.on(signal, () => (stop.signal.aborted ? process.exit(130) : stop.abort()));
}

const machine = thisMachine("");
const all: { size: number; peers: Measured[] }[] = [];
for (const size of values.size.split(",").map(Number)) {
  const peers = PEERS.filter(({ name, sizeMax }) => {
    return size <= sizeMax && (named === undefined || named.includes(name));
  });
  const measured = await measureAll(peers, size);
  all.push({ size, peers: measured });
  console.log(renderPeers(size, measured));
}
if (values.json) writeFileSync(values.json, JSON.stringify({ machine, sizes: all }, null, 2));

async function measureAll(peers: readonly Peer[], size: number): Promise<Measured[]> {
  const filled: Filled[] = [];
  for (const peer of peers) {
    const input = { folder: join(root, `${peer.name} ${size}`), size };
    mkdirSync(input.folder);
    try {
      filled.push({ peer, input, facts: await fill(peer, input), searched: [] });
    } catch (error) {
      stop.signal.throwIfAborted();
      console.error(`${peer.name} at ${size}: ${error}`);
    }
  }
  // They alternate round by round, so that the machine's drift affects all of them.
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const { peer, input, searched } of filled) {
      searched.push(await run(peer, "search", input));
    }
  }
  const measured: Measured[] = [];
  for (const { peer, input, facts, searched } of filled) {
    measured.push({
      ...facts,
      ...(peer.durable ? { singleMs: await run(peer, "single", input) } : {}),
      ...timesOf("words", searched),
      ...timesOf("hybrid", searched),
      residentBytes: median(searched.map(({ residentBytes }) => residentBytes)),
    });
    rmSync(input.folder, { recursive: true });
  }
  return measured;
}

interface Filled {
  readonly peer: Peer;
  readonly input: PhaseInput;
  readonly facts: Awaited<ReturnType<typeof fill>>;
  readonly searched: PhaseOutput<"search">[];
}

async function fill(peer: Peer, input: PhaseInput) {
  const { addedPerSecond, textBytes } = await run(peer, "fill", input);
  const diskBytes = bytesIn(input.folder);
  const first: number[] = [];
  for (let start = 0; start < STARTS; start += 1) first.push(await run(peer, "first", input));
  const { name } = peer;
  return { name, addedPerSecond, textBytes, diskBytes, firstMs: median(first) };
}

function timesOf(
  kind: "words" | "hybrid",
  rounds: readonly PhaseOutput<"search">[],
): Partial<Record<"words" | "hybrid", SearchTimes>> {
  const all = rounds.flatMap((round) => round[kind] ?? []);
  if (all.length === 0) return {};
  return {
    [kind]: {
      p50: median(all.map(({ p50 }) => p50)),
      p99: median(all.map(({ p99 }) => p99)),
      cpu: median(all.map(({ cpu }) => cpu)),
    },
  };
}

async function run<Name extends PhaseName>(
  peer: Peer,
  phase: Name,
  input: PhaseInput,
): Promise<PhaseOutput<Name>> {
  stop.signal.throwIfAborted();
  console.error(`${new Date().toISOString()} ${peer.name}: ${phase}, ${input.size} entries`);
  const child = fork(PROGRAM, [peer.name, phase, JSON.stringify(input)], {
    execArgv: NODE_FLAGS,
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  const kill = () => void child.kill("SIGKILL");
  stop.signal.addEventListener("abort", kill);
  let answer: { readonly result: PhaseOutput<Name> } | undefined;
  child.on("message", (message) => {
    answer = message as typeof answer;
  });
  const complaint = child.stderr ? text(child.stderr) : "";
  await once(child, "close");
  stop.signal.removeEventListener("abort", kill);
  stop.signal.throwIfAborted();
  if (!answer) throw new Error(`${phase} failed: ${(await complaint).slice(-2000)}`);
  return answer.result;
}
