// What does a turn cost the engine itself, and does it grow with the session?
//
// A scripted model answers at once, so that only rkat is measured. Turns in a
// session of 100 messages and in one of 10 000 alternate, so that drift of the
// machine falls on both. A durable insert of as many bytes, in as many
// transactions, is the peer: nothing that keeps a turn can be faster.
//
//   node bench/turn-cost.ts [--turns 300] [--json]
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { parseArgs } from "node:util";
import { createSessionService, type Message } from "../src/index.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { scriptedModel } from "../src/testing.ts";

const { values } = parseArgs({
  options: { turns: { type: "string", default: "300" }, json: { type: "boolean", default: false } },
});
const turns = Number(values.turns);
const SIZES = [100, 10_000] as const;
const ANSWER =
  "An answer of an ordinary length, as models give them between two tool calls. ".repeat(3);

const folder = await mkdtemp(join(tmpdir(), "rkat-bench-"));
const stores = sqliteStores({ path: join(folder, "rkat.db"), thread: "main" });
const usage = { input_tokens: 100, output_tokens: 60 };
const model = scriptedModel(() => ({ text: ANSWER, usage }));
const service = createSessionService({
  model: { id: model.id, stream: (request) => model.stream({ ...request, messages: [] }) },
  stores,
  memory: stores.memory,
  compaction: { autoCompactThreshold: 10_000_000 },
});

const sessions = new Map<number, string>();
for (const size of SIZES) {
  const messages = Array.from(
    { length: size },
    (_, index): Message =>
      index % 2 === 0
        ? { role: "user", content: `Question ${index}: what about the usual things?` }
        : { role: "assistant", content: `Answer ${index}: ${ANSWER}` },
  );
  sessions.set(size, (await service.createSession({ messages })).sessionId);
}

const bare = new DatabaseSync(join(folder, "bare.db"));
bare.exec("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE entry (text TEXT)");
const insert = bare.prepare("INSERT INTO entry VALUES (?)");

const times: Record<string, number[]> = { "100": [], "10000": [], bare: [] };
const written: Record<string, number[]> = { "100": [], "10000": [] };
for (let turn = 0; turn < turns + 20; turn += 1) {
  const warm = turn >= 20;
  for (const size of SIZES) {
    const sessionId = sessions.get(size) ?? "";
    const bytesBefore = bytesWritten();
    const startedAt = performance.now();
    await service.startTurn({ sessionId, prompt: "And then?" });
    const elapsed = performance.now() - startedAt;
    if (!warm) continue;
    times[size]?.push(elapsed);
    written[size]?.push(bytesWritten() - bytesBefore);
  }
  const startedAt = performance.now();
  for (let step = 0; step < 6; step += 1) insert.run(ANSWER);
  if (warm) times.bare?.push(performance.now() - startedAt);
}

await service.close();
await stores.close();
bare.close();
await rm(folder, { recursive: true });

const small = { ms: median(times["100"]), bytes: median(written["100"]) };
const large = { ms: median(times["10000"]), bytes: median(written["10000"]) };
const peer = median(times.bare);
const result = {
  turns,
  turn_ms_100: round(small.ms),
  turn_ms_10000: round(large.ms),
  ratio_time: round(large.ms / small.ms),
  bytes_100: small.bytes,
  bytes_10000: large.bytes,
  ratio_bytes: round(large.bytes / small.bytes),
  six_durable_inserts_ms: round(peer),
  ratio_to_durable_inserts: round(small.ms / peer),
};
if (values.json) console.log(JSON.stringify(result));
else console.table(result);

function median(numbers: readonly number[] = []): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}

function round(number: number): number {
  return Math.round(number * 1000) / 1000;
}

/** Bytes that this process has handed to the system to write; 0 where the system does not count them. */
function bytesWritten(): number {
  const counts = "/proc/self/io";
  if (!existsSync(counts)) return 0;
  return Number(/wchar: (\d+)/.exec(readFileSync(counts, "utf8"))?.[1] ?? 0);
}
