import { join } from "node:path";
import { expect, test } from "vitest";
import { createSessionService, type LanguageModel, type SessionEvent } from "../../src/index.ts";
import { serveMcpHttp } from "../../src/mcp.ts";
import { sqliteStores } from "../../src/sqlite.ts";
import { stalledMcp } from "../support/event-stream.ts";
import { temporaryFolder } from "../support/obey.ts";
import { trials } from "../support/trials.ts";

const READERS = trials(6, 20, "attacks");

/** Talks until it is interrupted. */
const endless: LanguageModel = {
  id: "chatter/endless",
  async *stream({ signal }) {
    while (!signal.aborted) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      yield { type: "text_delta", delta: "blah ".repeat(4000) };
    }
    signal.throwIfAborted();
  },
};

// Takes over two seconds: turns have to fill the buffers of clients that read nothing.
test("a server over MCP ends while clients that read nothing have turns running, and nothing is lost", async () => {
  const path = join(await temporaryFolder(), "rkat.db");
  const stores = sqliteStores({ path });
  const service = createSessionService({ model: endless, stores, memory: false });
  const mcp = await serveMcpHttp({ service, port: 0, tools: ["all"] });
  const sessions: string[] = [];
  for (let count = 0; count < READERS; count += 1) {
    const { sessionId } = await service.createSession({});
    sessions.push(sessionId);
    const call = await stalledMcp(mcp.url);
    await call("turn_start", { session_id: sessionId, prompt: `Talk, ${count}.` });
    await call("session_events", { session_id: sessionId, follow: true });
    const isActive = async () => (await service.read({ sessionId })).isActive;
    await expect.poll(isActive).toBe(true);
  }
  await mcp.close();
  await service.close();
  await stores.close();

  const again = sqliteStores({ path });
  const next = createSessionService({ model: endless, stores: again, memory: false });
  for (const [count, sessionId] of sessions.entries()) {
    const { isActive, history, seq } = await next.read({ sessionId });
    expect(isActive).toBe(false);
    expect(JSON.stringify(history)).toContain(`Talk, ${count}.`);
    const events: SessionEvent[] = [];
    for await (const { payload, seq: at } of next.subscribe({ sessionId, afterSeq: 0 })) {
      events.push(payload);
      if (at >= seq) break;
    }
    expect(events.map(({ type }) => type)).toEqual(
      expect.arrayContaining(["run_started", "run_failed"]),
    );
  }
  await next.close();
  await again.close();
}, 120_000);
