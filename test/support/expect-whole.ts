import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { indexableText, isForgotten } from "../../src/core/message.ts";
import { MessageAssembler } from "../../src/core/message-assembler.ts";
import type { Stores } from "../../src/sqlite.ts";
import {
  openStoresAt,
  otherStore,
  type Prepared,
  serviceOver,
  WORK,
  type WorkPlace,
} from "./interrupted-work.ts";

/** What holds after the next command, whatever was interrupted. */
export async function expectWhole(
  place: WorkPlace,
  prepared: Prepared,
  what: string,
): Promise<void> {
  const stores = openStoresAt(place.store);
  try {
    await settle(stores, place);
    await expectMemoryOfLog(stores, what);
    await expectForksKnown(stores, what);
    await expectFilesOfLog(stores, place, what);
    await expectRestorable(stores, place, prepared, what);
    await expectMemoryOfLog(stores, what);
    if (what.includes("move")) await expectMoved(stores, place, prepared, what);
    if (/approval|refusal/.test(what)) await expectAnswered(stores, place, prepared, what);
  } finally {
    await stores.close();
  }
}

/** The next command. */
async function settle(stores: Stores, place: WorkPlace): Promise<void> {
  const service = serviceOver(stores, place);
  await service.searchMemory({ query: "otter" });
  await service.listKnowledge({});
  await service.close();
}

async function logsOf({ events }: Stores) {
  const all = await events.readAll(0, 1_000_000);
  return Map.groupBy(all, ({ sessionId }) => sessionId);
}

async function expectMemoryOfLog(stores: Stores, what: string): Promise<void> {
  const logs = await logsOf(stores);
  const said: string[] = [];
  for (const [sessionId, log] of logs) {
    const assembler = new MessageAssembler();
    for (const { stored } of log) {
      expect(stored.event.type, what).not.toBe("session_deleted");
      const logged = assembler.push(stored);
      const content = logged ? indexableText(logged.message) : "";
      if (content.trim() !== "" && !isForgotten(content)) {
        said.push(`${sessionId}:${stored.seq} ${content}`);
      }
    }
  }
  const entries = await stores.memory.list({ limit: 100_000 });
  const messages = entries.filter(({ kind }) => kind === "message");
  expect(messages.map(({ id, content }) => `${id} ${content}`).sort(), what).toEqual(said.sort());
  expect((await stores.memory.verify()).problems, what).toEqual([]);
  const learned = await stores.knowledge.list({ limit: 1000 });
  const facts = learned.filter(({ kind }) => kind === "fact");
  for (const { sessionId = "" } of facts) expect([...logs.keys()], what).toContain(sessionId);
  const told = entries.filter(({ kind }) => kind !== "message");
  expect(told.map(({ id }) => id).sort(), what).toEqual(learned.map(({ id }) => id).sort());
  const listed = await stores.sessions.list({ includeArchived: true });
  expect(listed.map(({ id }) => id).sort(), what).toEqual([...logs.keys()].sort());
  const waiting = [...logs.values()].flatMap((log) => {
    const open = new Set<string>();
    for (const { stored } of log) {
      const { event } = stored;
      if (event.type === "tool_approval_requested") open.add(event.approval_id);
      if (event.type === "tool_approval_resolved") open.delete(event.approval_id);
    }
    return [...open];
  });
  // Those with an answer are no longer asked for. The next turn of the session puts the answer into the log.
  const asked = (await stores.approvals.list({})).map(({ approvalId }) => approvalId);
  const answered = [...(await stores.approvals.answers(waiting)).keys()];
  expect([...asked, ...answered].sort(), what).toEqual(waiting.sort());
}

/** An answer that was given before the interruption is in the log once the session goes on. */
async function expectAnswered(
  stores: Stores,
  place: WorkPlace,
  { waiting }: Prepared,
  what: string,
) {
  const service = serviceOver(stores, place);
  try {
    const open = await stores.approvals.list({});
    await service.startTurn({ sessionId: waiting, prompt: "Go on." });
    const log = (await logsOf(stores)).get(waiting) ?? [];
    const events = log.map(({ stored }) => stored.event);
    const resolved = events.filter(({ type }) => type === "tool_approval_resolved");
    expect(resolved, what).toHaveLength(1);
    const isSuperseded = JSON.stringify(resolved).includes("superseded");
    expect(isSuperseded, what).toBe(open.length > 0);
  } finally {
    await service.close();
  }
}

/** A fork and the session that it is of know each other, or neither is there. */
async function expectForksKnown(stores: Stores, what: string): Promise<void> {
  const logs = await logsOf(stores);
  const events = [...logs.values()].flat();
  const forks = events.flatMap(({ sessionId, stored: { event } }) =>
    event.type === "session_forked" ? [`${event.fork} of ${sessionId} at ${event.event}`] : [],
  );
  const begun = events.flatMap(({ sessionId, stored: { event } }) =>
    // The other one may have been deleted since.
    event.type === "history_inherited" && logs.has(event.from.session)
      ? [`${sessionId} of ${event.from.session} at ${event.from.event}`]
      : [],
  );
  expect(begun.sort(), what).toEqual(forks.sort());
}

async function expectFilesOfLog(stores: Stores, { folder }: WorkPlace, what: string) {
  const files = join(folder, "sessions");
  if (!existsSync(files)) return;
  const logs = await logsOf(stores);
  const plain = [...logs.keys()].filter((id) => /^[A-Za-z0-9_-]+$/.test(id));
  const folders = readdirSync(files, { withFileTypes: true }).filter((one) => one.isDirectory());
  expect(folders.map(({ name }) => name).sort(), what).toEqual(plain.sort());
  for (const id of plain) {
    const lines = readFileSync(join(files, id, "events.jsonl"), "utf8")
      .trimEnd()
      .split("\n");
    const stored = (logs.get(id) ?? []).map((one) => one.stored);
    expect(
      lines.map((line) => JSON.parse(line)),
      what,
    ).toEqual(JSON.parse(JSON.stringify(stored)));
  }
}

/** Every session is there, or in the trash, or was deleted for good as a whole. Restoring brings all back. */
async function expectRestorable(
  stores: Stores,
  place: WorkPlace,
  { first, deleted, waiting }: Prepared,
  what: string,
): Promise<void> {
  const service = serviceOver(stores, place);
  try {
    const trash = await service.list({ deleted: true });
    const restorable = trash.map(({ sessionId }) => sessionId);
    const live = (await service.list({ includeArchived: true, limit: 100 })).map(
      ({ sessionId }) => sessionId,
    );
    const isFinal = what.includes("now") || what.includes("forget");
    for (const sessionId of [first, deleted, waiting]) {
      if (isFinal && sessionId === first && !live.includes(first)) continue;
      const places = [...live, ...restorable].filter((id) => id === sessionId);
      expect(places, `${what}: ${sessionId} is in one place`).toEqual([sessionId]);
    }
    for (const sessionId of restorable) await service.restore({ sessionId });
    await service.searchMemory({ query: "otter" });
    expect(await service.list({ deleted: true }), what).toEqual([]);
  } finally {
    await service.close();
  }
}

/** A move goes on where it was, and the copy is whole too. */
async function expectMoved(stores: Stores, place: WorkPlace, prepared: Prepared, what: string) {
  const to = openStoresAt(otherStore(place.store));
  try {
    const service = serviceOver(stores, place);
    await WORK.move?.(service, prepared, stores, place);
    await service.close();
    const there = { ...place, folder: `${place.folder}-moved` };
    await settle(to, there);
    await expectMemoryOfLog(to, `${what}, moved`);
    expect([...(await logsOf(to)).keys()].sort()).toEqual(
      [...(await logsOf(stores)).keys()].sort(),
    );
  } finally {
    await to.close();
  }
}
