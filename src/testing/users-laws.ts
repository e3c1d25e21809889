import assert from "node:assert/strict";
import type { NewEvent } from "../core/event.ts";
import { SessionState } from "../core/session-state.ts";
import type { AgeLimits, Stores } from "../core/stores.ts";
import { durable, expects, type Law, lawsOf } from "./law.ts";

/** The promises of `forUser`. A law that opens twice expects two sets of stores on the same data. */
export const usersLaws: readonly Law<Stores>[] = lawsOf({
  "data stored for one user is in no store of another user, nor in the shared one": async (
    stores,
  ) => {
    await fill(stores.forUser("ada"));
    for (const others of [stores, stores.forUser("bob"), stores.forUser("Ada")]) {
      assert.deepEqual(await contentOf(others), EMPTY);
    }
    assert.deepEqual(await contentOf(stores.forUser("ada")), FULL);
  },
  "data stored without a user is in no store of a user": async (stores) => {
    await fill(stores);
    assert.deepEqual(await contentOf(stores.forUser("ada")), EMPTY);
    assert.deepEqual(await contentOf(stores), FULL);
  },
  "the same ids, leases and checkpoints of two users are two": async (stores) => {
    const [ada, bob] = [stores.forUser("ada"), stores.forUser("bob")];
    await fill(ada);
    await fill(bob);
    const owner = (id: string) => ({ id, host: "here", pid: 1 });
    const first = await ada.sessions.acquire("s", owner("one"), 60_000);
    expects(first, "a lease of the first user's session", first);
    const second = await bob.sessions.acquire("s", owner("other"), 60_000);
    expects(second, "a lease of the second user's session of the same id", second);
    await ada.events.saveCheckpoint("files", 7);
    assert.equal(await bob.events.checkpoint("files"), 0);
    await deleteAll(bob);
    assert.deepEqual(await contentOf(bob), EMPTY);
    assert.deepEqual(await contentOf(ada), FULL);
  },
  "any well-formed name is a user of its own, and a broken one is refused": async (stores) => {
    const names = [
      "a",
      "A",
      "ä",
      "a\u0308",
      " a",
      "a/b",
      "a'b",
      "%",
      "default",
      "日本",
      "👩",
      "x".repeat(200),
    ];
    for (const name of names) {
      assert.deepEqual(await contentOf(stores.forUser(name)), EMPTY, name);
      await fill(stores.forUser(name));
    }
    // In a database, the halves of a surrogate pair would all be the same user.
    for (const name of ["", "a\u001fb", "a\u0000", "\ud800", "a\udc00", "x".repeat(201)]) {
      assert.throws(() => stores.forUser(name), { code: "INVALID_PARAMS" });
    }
  },
  "the listed users are those who have something: a session, also a deleted one, memory, knowledge or marks":
    async (stores) => {
      assert.deepEqual(await stores.users(), []);
      await fill(stores);
      await fill(stores.forUser("bob"));
      await fill(stores.forUser("user ada"));
      await stores.forUser("eve").events.lastSeq("s");
      assert.deepEqual([...(await stores.users())].sort(), ["bob", "user ada"]);
      const note = {
        id: "n",
        content: TEXT,
        sessionId: "added",
        turn: null,
        kind: "message",
      } as const;
      await stores.forUser("only notes").memory.add([note]);
      await stores.forUser("only deleted").trash?.sessions.save(new SessionState("s").snapshot());
      await stores.forUser("only deleted").trash?.events.append("s", 0, [SAID]);
      await stores.forUser("only forgotten").forgotten?.restore(["mark"]);
      await stores.forUser("only imported").imports.restore(["00ff"]);
      const { trash, forgotten } = stores;
      const all = [
        "bob",
        ...(trash ? ["only deleted"] : []),
        ...(forgotten ? ["only forgotten"] : []),
        "only imported",
        "only notes",
        "user ada",
      ];
      assert.deepEqual([...(await stores.users())].sort(), all);
      await stores.forUser("only notes").memory.delete({ ids: ["n"] });
      assert.equal((await stores.users()).includes("only notes"), false);
      assert.deepEqual(await stores.forUser("bob").users(), []);
    },
  "the users with something old have a deleted session, an archived one or an event that is older":
    async (stores) => {
      if (!stores.usersWithOld) return;
      const at = Date.parse(TIME);
      const snapshot = { ...new SessionState("s").snapshot(), seq: 1, updated_at_ms: at };
      const users = ["archived", "new", "logged", "seen", "deleted"];
      const [archived, , logged, seen, deleted] = users.map((name) => stores.forUser(name));
      await archived?.sessions.save({ ...snapshot, archived: true });
      await stores.forUser("new").sessions.save(snapshot);
      await deleted?.trash?.sessions.save(snapshot);
      for (const one of [logged, seen, deleted?.trash]) await one?.events.append("s", 0, [SAID]);
      const [event] = (await seen?.events.readAll(0, 1)) ?? [];
      await seen?.events.saveCheckpoint("follower", event?.position ?? 0);

      const old = async (limits: AgeLimits) =>
        [...((await stores.usersWithOld?.(limits)) ?? [])].sort();
      const behind = "follower";
      const all = { deletedMs: at, archivedMs: at + 1, logged: { ms: at, behind } };
      assert.deepEqual(await old(all), ["archived", "deleted", "logged"]);
      assert.deepEqual(await old({ deletedMs: at }), ["deleted"]);
      assert.deepEqual(await old({ archivedMs: at + 1 }), ["archived"]);
      assert.deepEqual(await old({ logged: { ms: at, behind: "another" } }), ["logged", "seen"]);
      const before = { deletedMs: at - 1, archivedMs: at, logged: { ms: at - 1, behind } };
      assert.deepEqual(await old(before), []);
      assert.deepEqual(await old({}), []);
    },
  "a user has no users": async (service) => {
    const ada = service.forUser("ada");
    assert.throws(() => ada.forUser("bob"), { code: "USER_NOT_ALLOWED" });
  },
  "data stored for a user is there when the stores are opened again": durable(async (open) => {
    const first = await open();
    await fill(first.forUser("ada"));
    await first.close();
    const second = await open();
    assert.deepEqual(await contentOf(second), EMPTY);
    assert.deepEqual(await contentOf(second.forUser("ada")), FULL);
  }),
});

const TIME = "2026-01-01T00:00:00.000Z";
const TEXT = "The heron nests in May.";

const SAID: NewEvent = {
  event_id: "e",
  timestamp_ms: Date.parse(TIME),
  event: { type: "run_started", session_id: "s", prompt: TEXT },
};

const EMPTY = {
  events: 0,
  followed: 0,
  found: 0,
  sessions: 0,
  loaded: 0,
  listed: 0,
  read: 0,
  searched: 0,
  entries: 0,
  remembered: 0,
  approvals: 0,
  knowledge: 0,
  counted: 0,
  unheard: 0,
};

const FULL = Object.fromEntries(Object.keys(EMPTY).map((name) => [name, 1]));

/** One of everything, with the same ids each time. */
async function fill({ events, sessions, memory, approvals, knowledge }: Stores): Promise<void> {
  await events.append("s", 0, [SAID]);
  await sessions.save({ ...new SessionState("s").snapshot(), seq: 1 });
  await memory.add([{ id: "m", content: TEXT, sessionId: "s", turn: 0, kind: "message" }]);
  await approvals.add([
    {
      approvalId: "a",
      sessionId: "s",
      toolUseId: "c",
      tool: "t",
      args: {},
      goal: "",
      requestedAt: TIME,
    },
  ]);
  const preference = {
    id: "k",
    kind: "preference",
    content: TEXT,
    tags: [],
    origin: "user",
  } as const;
  await knowledge.add([{ ...preference, time: TIME, keys: ["k"] }], {
    max: { fact: 1, correction: 1, preference: 1, rule: 1 },
    eviction: "fifo",
  });
}

async function contentOf({ events, sessions, memory, approvals, knowledge }: Stores) {
  const { entries, sessions: remembered } = await memory.stats();
  return {
    events: await events.lastSeq("s"),
    followed: (await events.readAll(0, 10)).length,
    found: (await events.search({ query: "heron", limit: 10 })).length,
    sessions: (await sessions.list({})).length,
    loaded: [await sessions.load("s")].flatMap((found) => found ?? []).length,
    listed: (await memory.list({ limit: 10 })).length,
    read: (await memory.read(["m"])).length,
    searched: (await memory.search({ query: "heron nests", limit: 10 })).length,
    entries,
    remembered,
    approvals: (await approvals.list({})).length,
    knowledge: (await knowledge.list({ limit: 10 })).length,
    counted: (await knowledge.counts()).preference,
    unheard: (await knowledge.unheard(10)).changed.length,
  };
}

async function deleteAll({
  events,
  sessions,
  memory,
  approvals,
  knowledge,
}: Stores): Promise<void> {
  await events.delete("s");
  await sessions.delete("s");
  await memory.delete({ sessionId: "s" });
  await approvals.remove({ sessionId: "s" });
  await knowledge.forget(["k"]);
}
