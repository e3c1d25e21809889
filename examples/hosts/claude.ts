// A session store for the Claude Agent SDK. Transcripts come back as they were, and what was said is found.
//
//   npm run test:hosts                   (once, to install what is in this folder)
//   npx node examples/hosts/claude.ts    (no key: a recorded session stands in for `query`)
import assert from "node:assert/strict";
import { getSessionMessages, type Options } from "@anthropic-ai/claude-agent-sdk";
import { createSessionService } from "rkat";
import { rkatMcp, rkatSessionStore } from "rkat/claude";
import { sqliteStores } from "rkat/sqlite";

const stores = sqliteStores({ path: ":memory:" });
const sessionStore = rkatSessionStore({ stores });

// With these options, `query({ prompt, options })` keeps its transcripts in rkat, and its model searches them.
const options: Options = {
  sessionStore,
  mcpServers: { rkat: rkatMcp({ stores }) },
  allowedTools: ["mcp__rkat__memory_search"],
};

// What `query` gives to the store while it runs.
const sessionId = "7d3f2b1c-4a5e-4f60-8b7a-1c2d3e4f5a6b";
const projectKey = process.cwd().replaceAll(/[^A-Za-z0-9-]/g, "-");
const line = (number: number, role: "user" | "assistant", text: string) => ({
  type: role,
  uuid: `00000000-0000-4000-8000-00000000000${number}`,
  parentUuid: number === 1 ? null : `00000000-0000-4000-8000-00000000000${number - 1}`,
  sessionId,
  timestamp: `2026-03-01T10:00:0${number}.000Z`,
  message: { role, content: [{ type: "text", text }] },
});
const lines = [
  line(1, "user", "Which port does staging listen on?"),
  line(2, "assistant", "Staging listens on port 4310."),
];
await sessionStore.append({ projectKey, sessionId }, lines);
await sessionStore.append({ projectKey, sessionId }, lines); // a retry adds nothing

const messages = await getSessionMessages(sessionId, { sessionStore });
assert.equal(messages.length, 2);
console.log(`The SDK reads ${messages.length} messages of session ${sessionId}.`);

const sessions = createSessionService({ model: "none", stores });
const [hit] = await sessions.searchMemory({ query: "the port of staging" });
assert(hit);
console.log(`Found again: ${hit.content}`);
console.log(`A query has the servers: ${Object.keys(options.mcpServers ?? {})}`);

await sessions.close();
await sessionStore.close();
await stores.close();
