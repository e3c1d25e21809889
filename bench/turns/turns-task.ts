import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createSessionService, type Message } from "rkat";
import { sqliteStores } from "rkat/sqlite";
import { scriptedModel } from "rkat/testing";
import type { SayProgress } from "../bench.ts";
import { median, timed } from "../measuring.ts";

export interface TurnsInput {
  readonly folder: string;
  readonly turns: number;
}

/** Medians of a turn in each session, and of six bare inserts. */
export interface TurnsOutput {
  readonly short: TurnCost;
  readonly long: TurnCost;
  readonly insertsMs: number;
}

interface TurnCost {
  readonly ms: number;
  /** Bytes handed to the system to write; 0 where the system does not count them. */
  readonly bytes: number;
}

export const MESSAGES = { short: 100, long: 10_000 } as const;
const LENGTHS = ["short", "long"] as const;
const WARM_UP = 20;
const ANSWER =
  "An answer of an ordinary length, as models give them between two tool calls. ".repeat(3);

/**
 * Alternates turns in a short and in a long session, with a model that answers at
 * once, so that only rkat is measured. The baseline is as many durable inserts as a
 * turn has transactions: nothing that keeps a turn can be faster.
 */
export async function turnsTask(
  { folder, turns }: TurnsInput,
  say: SayProgress,
): Promise<TurnsOutput> {
  const stores = sqliteStores({ path: join(folder, "rkat.db"), thread: "main" });
  const model = scriptedModel(() => ({
    text: ANSWER,
    usage: { input_tokens: 100, output_tokens: 60 },
  }));
  const service = createSessionService({
    // The scripted model would keep its requests: 10 000 messages, hundreds of times.
    model: { id: model.id, stream: (request) => model.stream({ ...request, messages: [] }) },
    stores,
    knowledge: false,
    compaction: { autoCompactThreshold: 10_000_000 },
  });
  const sessions = { short: "", long: "" };
  for (const length of LENGTHS) {
    const created = await service.createSession({ messages: historyOf(MESSAGES[length]) });
    sessions[length] = created.sessionId;
  }

  const bare = new DatabaseSync(join(folder, "bare.db"));
  bare.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE entry (text TEXT)");
  const insert = bare.prepare("INSERT INTO entry VALUES (?)");

  const ms = { short: [] as number[], long: [] as number[] };
  const bytes = { short: [] as number[], long: [] as number[] };
  const insertsMs: number[] = [];
  for (let turn = 0; turn < turns + WARM_UP; turn += 1) {
    if (turn % 10 === 0) await say(`turn ${turn} of ${turns + WARM_UP}`);
    for (const length of LENGTHS) {
      const before = bytesWritten();
      const request = { sessionId: sessions[length], prompt: "And then?" };
      const elapsed = await timed(() => service.startTurn(request));
      if (turn < WARM_UP) continue;
      ms[length].push(elapsed);
      bytes[length].push(bytesWritten() - before);
    }
    const elapsed = await timed(() => {
      for (let step = 0; step < 6; step += 1) insert.run(ANSWER);
    });
    if (turn >= WARM_UP) insertsMs.push(elapsed);
  }
  await service.close();
  await stores.close();
  bare.close();
  const cost = (length: "short" | "long") => ({
    ms: median(ms[length]),
    bytes: median(bytes[length]),
  });
  return { short: cost("short"), long: cost("long"), insertsMs: median(insertsMs) };
}

function historyOf(size: number): Message[] {
  return Array.from({ length: size }, (_, index) =>
    index % 2 === 0
      ? { role: "user", content: `Question ${index}: what about the usual things?` }
      : { role: "assistant", content: `Answer ${index}: ${ANSWER}` },
  );
}

function bytesWritten(): number {
  const counts = "/proc/self/io";
  if (!existsSync(counts)) return 0;
  return Number(/wchar: (\d+)/.exec(readFileSync(counts, "utf8"))?.[1] ?? 0);
}
