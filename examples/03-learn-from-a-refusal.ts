// An agent that asks before it acts, and learns from a denial. It needs no key: the model is scripted.
//
//   node examples/03-learn-from-a-refusal.ts                 (answer yes, or no with a reason)
//   echo "no, ask Ada first" | node examples/03-learn-from-a-refusal.ts
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { createSessionService, defineTool } from "rkat";
import { sqliteStores } from "rkat/sqlite";
import { scriptedModel } from "rkat/testing";
import { z } from "zod";

const refund = defineTool({
  name: "refund",
  description: "Pays a customer back.",
  input: z.object({ customer: z.string(), euros: z.number() }),
  policy: "ask",
  execute: ({ customer, euros }) => `${customer} got ${euros} euros back.`,
});

const call = { id: "1", name: "refund", args: { customer: "Grace", euros: 500 } };
const folder = await mkdtemp(join(tmpdir(), "rkat-example-"));
const stores = sqliteStores({ path: join(folder, "rkat.db") });
const sessions = createSessionService({
  model: scriptedModel([{ toolCalls: [call] }, "Understood."]),
  stores,
  tools: [refund],
  approvals: {
    async approve({ tool, args }) {
      // Created here, because it drops lines that arrive before the question.
      const terminal = createInterface({ input: process.stdin, output: process.stderr });
      const said = await terminal.question(`${tool} ${JSON.stringify(args)} – run it? `);
      terminal.close();
      if (said === "yes") return { decision: "allow" };
      return { decision: "deny", reason: said.replace(/^no[, ]*/, "") };
    },
  },
});

const first = await sessions.createSession({});
await sessions.startTurn({ ...first, prompt: "Grace is unhappy. Make her happy." });

// The next session gets the rule in its system prompt.
const next = await sessions.createSession({});
const { history } = await sessions.read(next);
const [system] = history.map(({ message }) => message);
assert(system?.role === "system");
const rule = system.content.split("\n").find((line) => line.startsWith("1. "));
console.log(rule ?? "Nothing was learned.");

await sessions.close();
await stores.close();
await rm(folder, { recursive: true });
