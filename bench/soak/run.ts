import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { connectRest } from "rkat/rest";
import { spawn } from "../../test/support/start-process.ts";
import { median } from "../measuring.ts";
import { RKAT } from "../programs.ts";
import { type Deed, talkInCrowd } from "./crowd.ts";
import { digits, plot } from "./plot.ts";
import { startTalkingServer } from "./talking-server.ts";
import { type Series, trendOf } from "./trend.ts";
import { type Footprint, footprintOf } from "./watched-process.ts";

/**
 * Many sessions talk, search, import, compact and end, for a long time, at one `rkat serve`. On Linux, after
 * `node build.ts`:
 *
 *     node bench/soak/run.ts [--minutes 60] [--sessions 50] [--rate 6] [--seed 1] [--plot FILE.svg]
 *
 * It prints what it measured at ninety moments, and ends with 1 when something is not flat.
 */
const { values: given } = parseArgs({
  options: {
    minutes: { type: "string", default: "60" },
    sessions: { type: "string", default: "50" },
    rate: { type: "string", default: "6" },
    seed: { type: "string", default: "1" },
    plot: { type: "string" },
  },
});
const [minutes, sessions] = [Number(given.minutes), Number(given.sessions)];
const [perSecond, seed] = [Number(given.rate), Number(given.seed)];
const MOMENTS = 90;
const PIECE = Array.from({ length: 200 }, (_, at) => ({ at, text: "a piece of work" }));
const CONFIG = `model = "ollama/talks"
[compaction]
auto_compact_threshold = 4000
max_summary_tokens = 500
`;

const folder = mkdtempSync(join(tmpdir(), "rkat-soak-"));
mkdirSync(join(folder, ".config/rkat"), { recursive: true });
writeFileSync(join(folder, ".config/rkat/config.toml"), CONFIG);
const model = await startTalkingServer();
const server = spawn(process.execPath, [...RKAT, "serve", "--port", "0", "--dir", folder], {
  cwd: folder,
  stdio: ["ignore", "ignore", "pipe"],
  env: { HOME: folder, OLLAMA_HOST: model.host },
});
const url = await new Promise<string>((resolve) => {
  createInterface({ input: server.stderr }).on("line", (line) => {
    const found = /http:\/\/[\d.]+:\d+/.exec(line);
    if (found) resolve(found[0]);
    else process.stderr.write(`${line}\n`);
  });
});

let took: Partial<Record<Deed, number[]>> = {};
const counts: Partial<Record<Deed, number>> = {};
interface Moment {
  readonly footprint: Footprint;
  readonly ms: Partial<Record<Deed, number>>;
  /** Milliseconds of a piece of work that is always the same: how busy others keep the machine. */
  readonly pieceMs: number;
  /** Processor time of the server for a deed, in milliseconds. */
  readonly processorMs: number;
}
const moments: Moment[] = [];
const end = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => end.abort());
let pieces: number[] = [];
const piece = setInterval(() => {
  const start = performance.now();
  for (let at = 0; at < 200; at += 1) JSON.parse(JSON.stringify(PIECE));
  pieces.push(performance.now() - start);
}, 500);
const crowd = talkInCrowd({
  service: connectRest({ url }),
  sessions,
  perSecond,
  seed,
  signal: end.signal,
  note(deed, ms) {
    counts[deed] = (counts[deed] ?? 0) + 1;
    took[deed] = [...(took[deed] ?? []), ms];
  },
});
crowd.catch(() => end.abort());

try {
  for (let moment = 0; moment < MOMENTS && !end.signal.aborted; moment += 1) {
    await sleep((minutes * 60_000) / MOMENTS, undefined, { signal: end.signal }).catch(() => {});
    const last = moments.at(-1);
    // In a short run not every deed is done at every moment.
    const taken = Object.entries(took).map(([deed, all]) => [deed, median(all)]);
    const ms = { ...last?.ms, ...Object.fromEntries(taken) };
    const pieceMs = median(pieces) || (last?.pieceMs ?? 1);
    const deeds = Object.values(took).reduce((sum, { length }) => sum + length, 0);
    const footprint = footprintOf(server.pid ?? 0, join(folder, ".rkat"));
    const spent = footprint.processor - (last?.footprint.processor ?? 0);
    const processorMs = (1000 * spent) / Math.max(1, deeds);
    moments.push({ footprint, ms, pieceMs, processorMs });
    [took, pieces] = [{}, []];
    process.stdout.write(`${JSON.stringify({ moment, ...moments.at(-1) })}\n`);
  }
  end.abort();
  await crowd;
} finally {
  clearInterval(piece);
  await model.close();
  server.kill("SIGTERM");
  await once(server, "close");
  rmSync(folder, { recursive: true });
}

const all = series();
if (given.plot) writeFileSync(given.plot, plot(all, minutes));
process.stdout.write(`${JSON.stringify({ minutes, sessions, seed, counts })}\n`);
for (const one of all) {
  const { median: middle, change, isFlat } = trendOf(one);
  if (!isFlat) process.exitCode = 1;
  const verdict = isFlat ? "flat" : "NOT FLAT";
  process.stdout.write(
    `${one.name}: ${digits(middle)} ${one.unit}, ${(100 * change).toFixed(1)} %, ${verdict}\n`,
  );
}

function series(): readonly Series[] {
  const of = (
    name: string,
    unit: Series["unit"],
    most: number,
    read: (moment: (typeof moments)[number]) => number,
  ): Series => ({ name, unit, most, values: moments.map(read) });
  const deeds: readonly (readonly [Deed, string])[] = [
    ["turn", "a turn"],
    ["search", "a search of memory"],
    ["history", "a search of the history"],
    ["import", "an import"],
    ["delete", "a deletion for good"],
  ];
  return [
    of("memory of the server", "MB", 0.05, ({ footprint }) => footprint.memory),
    of("open descriptors", "files", 0.05, ({ footprint }) => footprint.descriptors),
    of("the store", "MB", 0.05, ({ footprint }) => footprint.database),
    of("its write-ahead log", "MB", 0.05, ({ footprint }) => footprint.log),
    of("files of sessions", "MB", 0.1, ({ footprint }) => footprint.otherFiles),
    of("number of files", "files", 0.1, ({ footprint }) => footprint.files),
    of("processor time of the server for a deed", "ms", 0.1, ({ processorMs }) => processorMs),
    ...deeds.map(([deed, name]) =>
      of(name, "pieces of work", 0.25, ({ ms, pieceMs }) => (ms[deed] ?? 0) / pieceMs),
    ),
  ];
}
