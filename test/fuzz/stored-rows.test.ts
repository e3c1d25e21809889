import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { afterAll, expect } from "vitest";
import { SessionState } from "../../src/core/session-state.ts";
import { createSessionService } from "../../src/index.ts";
import { LiveSessions } from "../../src/session/live-sessions.ts";
import { sqliteStores } from "../../src/sqlite.ts";
import { eventText } from "../../src/stores/history/event-text.ts";
import { storedEvent } from "../../src/stores/history/stored-event.ts";
import { listedSnapshot, snapshotIn } from "../../src/stores/sql/sql-session-store.ts";
import { scriptedModel } from "../../src/testing.ts";
import { damagedJson, damagedText, fuzz, readOrRefused } from "../support/fuzz.ts";

const folder = mkdtempSync(join(tmpdir(), "rkat-test-"));
const path = join(folder, "rkat.db");
const stores = sqliteStores({ path });
const db = new DatabaseSync(path);
afterAll(async () => {
  db.close();
  await stores.close();
  rmSync(folder, { recursive: true, force: true });
});

const long = "some words to fill a small window with, over and over again. ".repeat(12);
const service = createSessionService({
  model: scriptedModel((_, call) => `Answer ${call}. ${long}`),
  stores,
  memory: false,
  compaction: { autoCompactThreshold: 1500, minTurnsBetweenCompactions: 1, summarizer: "fallback" },
  builtinTools: false,
});
const { sessionId } = await service.createSession({ labels: { name: "one" } });
for (let turn = 0; turn < 12; turn += 1) {
  await service.startTurn({ sessionId, prompt: `Question ${turn}` });
}
await service.close();

const read = (after: number, to?: number) => stores.events.read(sessionId, after, to);
const folded = new SessionState(sessionId);
await folded.catchUp(read);
const snapshot = await stores.sessions.load(sessionId);
const rows = (await Array.fromAsync(read(0))).map(({ seq, event }) => ({
  seq,
  text: JSON.stringify(event),
}));

/** The session as a process finds it that starts now. */
async function opened(): Promise<SessionState> {
  return (await new LiveSessions(stores).open(sessionId)).state;
}

const someNumber = fc.oneof(fc.integer({ min: 1 }), fc.double(), fc.integer());
const json = (value: fc.Arbitrary<unknown>) => value.map((some) => JSON.stringify(some) ?? "");

const { snapshot: kept } = db.prepare("SELECT snapshot FROM snapshot").get() as {
  snapshot: string;
};
const snapshotTexts = fc.oneof(
  damagedText([JSON.stringify(snapshot), kept]),
  json(damagedJson([snapshot])),
);

fuzz(
  "a damaged snapshot neither ends a session nor changes its history: the log is the truth",
  snapshotTexts,
  { short: 25, long: 10_000 },
  async (text) => {
    const put = db.prepare("UPDATE snapshot SET snapshot = ?");
    put.run(text.toWellFormed());
    const state = await opened();
    expect(state.seq).toBe(folded.seq);
    expect(state.messages).toEqual(folded.messages);
    expect(() => state.snapshot()).not.toThrow();
    await readOrRefused(() => stores.sessions.list({}));
  },
);

const damage = fc.constantFrom(...rows).chain(({ seq, text }) =>
  fc.record({
    seq: fc.constant(seq),
    text: fc.oneof(damagedText([text]), json(damagedJson([JSON.parse(text)]))),
  }),
);

fuzz(
  "a damaged event of the log is refused, or read as an event",
  damage,
  { short: 25, long: 10_000 },
  async ({ seq, text }) => {
    const put = db.prepare("UPDATE event SET event = ? WHERE seq = ?");
    put.run(text.toWellFormed(), seq);
    try {
      const found = await readOrRefused(() => Array.fromAsync(read(0)));
      if ("value" in found)
        expect(found.value.every(({ event }) => typeof event.type === "string")).toBe(true);
      await readOrRefused(() => stores.events.readAll(0, 1000));
    } finally {
      put.run(rows[seq - 1]?.text ?? "", seq);
    }
  },
);

fuzz(
  "a damaged text of a snapshot is refused, or has what a list of sessions shows",
  snapshotTexts,
  { short: 40, long: 1_000_000 },
  async (text) => {
    const found = await readOrRefused(() => listedSnapshot(text, "s"));
    expect("value" in found).toBe(snapshotIn(text) !== undefined);
    if ("refused" in found) return;
    const { id, created_at_ms, updated_at_ms } = found.value;
    expect(typeof id).toBe("string");
    expect(new Date(created_at_ms).toISOString() + new Date(updated_at_ms).toISOString()).not.toBe(
      "",
    );
  },
);

fuzz(
  "a damaged text of an event is refused, or read as an event that a session takes",
  fc.record({ text: damage.map(({ text }) => text), seq: someNumber, timestamp_ms: someNumber }),
  { short: 40, long: 1_000_000 },
  async ({ text, seq, timestamp_ms }) => {
    const row = { seq, timestamp_ms, event_id: "e", event: text };
    const found = await readOrRefused(() => storedEvent(row));
    if ("value" in found) {
      new SessionState(sessionId).apply(found.value);
      eventText(found.value.event);
    }
  },
);
