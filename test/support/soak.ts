import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as settle } from "node:timers/promises";
import { compactHistory, createSessionService, type Message, type Tool } from "../../src/index.ts";
import { createRestApp } from "../../src/rest.ts";
import { sqliteStores } from "../../src/sqlite.ts";
import { scriptedModel } from "../../src/testing.ts";

/**
 * Does one kind of work again and again in one process, with one signal that never aborts, as a
 * server has it. Prints the bytes of the heap after each quarter of the work.
 */
const [kind = "", timesText = "100"] = process.argv.slice(2);
const times = Number(timesText);
const folder = mkdtempSync(join(tmpdir(), "rkat-soak-"));
const { signal } = new AbortController();
/** As clients of models do: they listen, and never remove the listener. */
const leaveListener = (given: AbortSignal | undefined) =>
  given?.addEventListener("abort", () => {});

const echo: Tool = {
  definition: {
    name: "echo",
    description: "Gives back a text.",
    input_schema: { type: "object", properties: {} },
  },
  async execute(_, { signal: given }) {
    leaveListener(given);
    return "An echo of an ordinary length. ".repeat(20);
  },
};
const scripted = scriptedModel(({ messages }) =>
  messages.at(-1)?.role === "tool_results"
    ? { text: "Done." }
    : { toolCalls: [{ id: "call", name: "echo", args: {} }] },
);
const stores = sqliteStores({ path: join(folder, "rkat.db"), thread: "main" });
const service = createSessionService({
  // The scripted model would keep all requests.
  model: {
    id: scripted.id,
    stream(request) {
      leaveListener(request.signal);
      scripted.requests.length = 0;
      return scripted.stream(request);
    },
  },
  stores,
  tools: [echo],
  knowledge: false,
});
const app = createRestApp({ service });

let sessionId = "";
/** One session does not grow with the soak. */
async function renewSession(round: number): Promise<void> {
  if (round % 20 !== 0) return;
  if (sessionId !== "") await service.delete({ sessionId, now: true });
  sessionId = (await service.createSession({})).sessionId;
}

const KINDS: Readonly<Record<string, (round: number) => Promise<unknown>>> = {
  async turns(round) {
    await renewSession(round);
    await service.startTurn({ sessionId, prompt: `Echo ${round}.` }, { signal });
  },
  async compactions(round) {
    await compactHistory({
      messages: historyOf(round),
      force: true,
      signal,
      summarize: async (request) => {
        leaveListener(request.signal);
        return `They talked about the deployment, step ${round}, and found nothing wrong with it.`;
      },
    });
  },
  async requests(round) {
    await renewSession(round);
    const response = await app.fetch(
      new Request(`http://127.0.0.1/sessions/${sessionId}`, { signal }),
    );
    await response.text();
  },
  async subscriptions(round) {
    await renewSession(round);
    for await (const _ of service.subscribe({ sessionId, afterSeq: 0 }, { signal })) break;
  },
};

/** Without ends of sentences: what is read of each of them takes time, and leaves nothing. */
function historyOf(round: number): Message[] {
  return Array.from({ length: 24 }, (_, index) =>
    index % 2 === 0
      ? { role: "user", content: `Question ${round}.${index}: ${"what about it ".repeat(43)}` }
      : { role: "assistant", content: `Answer ${round}.${index}: ${"nothing ".repeat(68)}` },
  );
}

async function heapBytes(): Promise<number> {
  for (let pass = 0; pass < 4; pass += 1) {
    await settle();
    globalThis.gc?.();
  }
  return process.memoryUsage().heapUsed;
}

const work = KINDS[kind];
if (!work) throw new Error(`There is no kind of work called ${kind}.`);
const quarters: number[] = [];
for (let round = 0; round < times; round += 1) {
  await work(round);
  if ((round + 1) % (times / 4) === 0) quarters.push(await heapBytes());
}
process.stdout.write(JSON.stringify(quarters));
await service.close();
await stores.close();
rmSync(folder, { recursive: true });
