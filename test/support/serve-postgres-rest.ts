import { createSessionService } from "../../src/index.ts";
import { postgresStores } from "../../src/postgres.ts";
import { serveRest } from "../../src/rest.ts";
import { type ScriptedReply, scriptedModel } from "../../src/testing/scripted-model.ts";
import { answerMemory } from "./answer-memory.ts";

/**
 * One of several servers on one PostgreSQL: `node serve-postgres-rest.ts <url> <schema>`. Says its
 * address on stdout and ends when it is told to. What the model answers depends on the history alone, so
 * that any server can go on where another one stopped.
 */
const [connectionString = "", schema = ""] = process.argv.slice(2);
const stores = postgresStores({ connectionString, schema });
const service = createSessionService({
  model: scriptedModel(({ messages }) => {
    const last = messages.at(-1);
    return last?.role === "user" ? answerTo(last.content) : "It is late.";
  }),
  stores,
  approvals: { policies: { datetime: "ask" }, timeoutMs: 60_000 },
});
const server = await serveRest({ service, port: 0 });
process.stdout.write(`${server.url}\n`);
answerMemory();
process.once("SIGTERM", async () => {
  await server.close({ graceMs: 0 });
  await service.close();
  await stores.close();
});

function answerTo(prompt: unknown): ScriptedReply {
  const text = JSON.stringify(prompt);
  if (text.includes("Wait")) return { text: "I waited.", delayMs: 120_000 };
  if (text.includes("What time")) {
    return { toolCalls: [{ id: "clock", name: "datetime", args: {} }] };
  }
  return `You said: ${text}`;
}
