import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { createSessionService } from "../../src/index.ts";
import { sqliteStores } from "../../src/sqlite.ts";
import { scriptedModel } from "../../src/testing.ts";
import { stalledMcp, stalledReader } from "../support/event-stream.ts";
import { Project } from "../support/rkat-process.ts";
import { trials } from "../support/trials.ts";

const READERS = trials(6, 20, "attacks");

/** A provider that talks without an end. */
async function endlessProvider(): Promise<string> {
  const server = createServer(async (_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const choices = [{ index: 0, delta: { role: "assistant", content: "blah ".repeat(20) } }];
    const chunk = { id: "a", object: "chat.completion.chunk", created: 1, model: "tiny", choices };
    while (!response.destroyed) {
      response.write(`data: ${JSON.stringify(chunk)}\n\n`);
      await sleep(100);
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

/** Starts a server, lets readers stall while their turns run, sends the signal, and looks into the store. */
async function isEndedBy(
  signal: NodeJS.Signals,
  args: readonly string[],
  begin: (url: string, prompt: string) => Promise<string>,
) {
  const project = await Project.open();
  project.writeOwnConfig(
    `model = "ollama/tiny"\n[providers.ollama]\nbase_url = "${await endlessProvider()}"\n`,
  );
  const server = project.start(args);
  const stderr = createInterface({ input: server.child.stderr as NodeJS.ReadableStream });
  const [line] = (await once(stderr, "line")) as [string];
  const url = /http:\S+?(?=\.? |$)/.exec(line)?.[0].replace(/\.$/, "") ?? "";
  const begun = new Map<string, string>();
  for (let count = 0; count < READERS; count += 1) {
    const prompt = `Talk about ${count}.`;
    begun.set(await begin(url, prompt), prompt);
  }
  server.kill(signal);
  const [code] = (await once(server.child, "exit")) as [number | null];

  const stores = sqliteStores({ path: join(project.folder, ".rkat", "rkat.db") });
  const service = createSessionService({ model: scriptedModel([]), stores, memory: false });
  for (const [sessionId, prompt] of begun) {
    const { isActive, history } = await service.read({ sessionId });
    expect([isActive, JSON.stringify(history).includes(prompt)]).toEqual([false, true]);
  }
  await service.close();
  await stores.close();
  return code;
}

const readSession = async (url: string, sessionId: string) =>
  (await (await fetch(`${url}/sessions/${sessionId}`)).json()) as {
    readonly history: readonly unknown[];
  };

// Each takes over two seconds: readers have to stall behind full buffers of the system, before the server is told to end.
test(`SIGTERM ends "rkat serve" although ${READERS} readers stall and their turns run, and nothing is lost`, async () => {
  const code = await isEndedBy("SIGTERM", ["serve", "--port", "0"], async (url, prompt) => {
    const headers = { "content-type": "application/json", accept: "text/event-stream" };
    const created = await fetch(`${url}/sessions`, { method: "POST", headers, body: "{}" });
    const { session_id } = (await created.json()) as { readonly session_id: string };
    const body = JSON.stringify({ prompt });
    await stalledReader(`${url}/sessions/${session_id}/messages`, {
      method: "POST",
      headers,
      body,
    });
    await stalledReader(`${url}/sessions/${session_id}/events`, { headers });
    const length = async () => (await readSession(url, session_id)).history.length;
    await expect.poll(length).toBeGreaterThan(0);
    return session_id;
  });
  // The readers would keep it for longer than it may take to end.
  expect([0, null]).toContain(code);
}, 120_000);

// Takes over two seconds: a process is started, with readers that hold it back.
test("SIGTERM ends `rkat mcp` over HTTP in the same way", async () => {
  const code = await isEndedBy(
    "SIGTERM",
    ["mcp", "--http", "--port", "0", "--tools", "all"],
    async (url, prompt) => {
      const call = await stalledMcp(url);
      const answer = await call("session_create", {});
      const text = await answer.readUntil(/session_id[^0-9a-f]+[0-9a-f-]{36}/);
      const sessionId = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(text)?.[0] ?? "";
      await call("turn_start", { session_id: sessionId, prompt });
      await call("session_events", { session_id: sessionId, follow: true });
      const isThere = async () => {
        const read = await call("session_read", { session_id: sessionId });
        return (await read.readUntil(/\}\s*$/)).includes(prompt);
      };
      await expect.poll(isThere).toBe(true);
      return sessionId;
    },
  );
  expect([0, null]).toContain(code);
}, 120_000);
