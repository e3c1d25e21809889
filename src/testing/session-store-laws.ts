import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { NewEvent } from "../core/event.ts";
import { given } from "../core/fields.ts";
import { newId } from "../core/ids.ts";
import type { SessionSnapshot } from "../core/session-snapshot.ts";
import type { LoggedSource, SourceFilter } from "../core/session-source.ts";
import { SessionState } from "../core/session-state.ts";
import type { LeaseOwner, SessionQuery, SessionStore } from "../core/session-store.ts";
import type { Stores } from "../core/stores.ts";
import { durable, expects, type Law, lawsOf } from "./law.ts";

/** The promises of every session store. */
export const sessionStoreLaws: readonly Law<SessionStore>[] = lawsOf({
  "an unknown session is neither loaded nor listed": async (store) => {
    assert.equal(await store.load("s"), undefined);
    assert.deepEqual(await store.list({}), []);
    await store.delete("s");
  },
  "a saved snapshot is loaded as it was saved": async (store) => {
    const saved = snapshot("s", {
      last_assistant_text: 'quo"te\n\0 \ud800 🙂',
      settings: { model: "m", memory: true, labels: { 'a"b': "é\n", "": "" }, max_tokens: 5 },
      history: [{ from: 1, to: 9, ordinal: 0, turns_before: 0 }],
    });
    await store.save(saved);
    assert.deepEqual(await store.load("s"), saved);
    assert.deepEqual(await store.list({}), [saved]);
  },
  "an older snapshot never replaces a newer one": async (store) => {
    await store.save(snapshot("s", { seq: 5, turns: 5 }));
    await store.save(snapshot("s", { seq: 4, turns: 4 }));
    assert.equal((await store.load("s"))?.turns, 5);
    await store.save(snapshot("s", { seq: 6, turns: 6 }));
    assert.equal((await store.load("s"))?.turns, 6);
  },
  "of snapshots saved at the same time, the newest stays": async (store) => {
    await Promise.all([3, 1, 4, 1, 5, 2].map((seq) => store.save(snapshot("s", { seq }))));
    assert.equal((await store.load("s"))?.seq, 5);
  },
  "lists come newest first, page by page": async (store) => {
    for (const [index, id] of ["b", "d", "a", "c"].entries()) {
      await store.save(snapshot(id, { updated_at_ms: 1000 + index }));
    }
    assert.deepEqual(await ids(store, {}), ["c", "a", "d", "b"]);
    assert.deepEqual(await ids(store, { limit: 2 }), ["c", "a"]);
    assert.deepEqual(await ids(store, { limit: 2, offset: 1 }), ["a", "d"]);
    assert.deepEqual(await ids(store, { offset: 3 }), ["b"]);
    assert.deepEqual(await ids(store, { limit: 0 }), []);
    await store.save(snapshot("b", { seq: 2, updated_at_ms: 2000 }));
    assert.deepEqual(await ids(store, {}), ["b", "c", "a", "d"]);
  },
  "filters of a list hold": async (store) => {
    const labelled = (id: string, labels: Readonly<Record<string, string>>, archived = false) =>
      snapshot(id, { archived, settings: { model: "", memory: false, labels } });
    await store.save(labelled("ab1", { team: "red", 'q"': "1" }));
    await store.save(labelled("ab2", { team: "blue" }));
    await store.save(labelled("a%_", { team: "red" }, true));
    await store.save(labelled("AB3", { Team: "red" }));
    const found = async (query: SessionQuery) => (await ids(store, query)).sort();
    assert.deepEqual(await found({}), ["AB3", "ab1", "ab2"]);
    assert.deepEqual(await found({ includeArchived: true }), ["AB3", "a%_", "ab1", "ab2"]);
    assert.deepEqual(await found({ labels: { team: "red" } }), ["ab1"]);
    assert.deepEqual(await found({ labels: { team: "red", 'q"': "1" } }), ["ab1"]);
    assert.deepEqual(await found({ labels: { team: "red", other: "1" } }), []);
    assert.deepEqual(await found({ labels: { team: "red" }, includeArchived: true }), [
      "a%_",
      "ab1",
    ]);
    assert.deepEqual(await found({ idPrefix: "ab" }), ["ab1", "ab2"]);
    assert.deepEqual(await found({ idPrefix: "a%", includeArchived: true }), ["a%_"]);
    assert.deepEqual(await found({ idPrefix: "ab1x" }), []);
  },
  "archived sessions are found by the time of their last change": async (store) => {
    await store.save(snapshot("old", { archived: true, updated_at_ms: 900 }));
    await store.save(snapshot("new", { archived: true, updated_at_ms: 1000 }));
    await store.save(snapshot("active", { updated_at_ms: 800 }));
    assert.deepEqual(await ids(store, { archivedBefore: 900 }), []);
    assert.deepEqual(await ids(store, { archivedBefore: 901 }), ["old"]);
    assert.deepEqual(await ids(store, { archivedBefore: 2000, offset: 1 }), ["old"]);
    await store.save(snapshot("used", { updated_at_ms: 950 }));
    const all = { includeArchived: true };
    assert.deepEqual(await ids(store, all), ["new", "used", "old", "active"]);
    assert.deepEqual(await ids(store, { ...all, limit: 2, offset: 1 }), ["used", "old"]);
  },
  "sessions are found by their source, archived ones too": async (store) => {
    const held = (id: string, source?: LoggedSource, archived = false) =>
      store.save(
        snapshot(id, {
          archived,
          settings: { model: "", memory: false, labels: {}, ...given({ source }) },
        }),
      );
    const codex = { agent: "codex", native_id: "1", project: "/a", title: 'A "title"\n\0é' };
    const parent = { id: "b", relation: "fork" } as const;
    const claude = { agent: "claude-code", native_id: "2", project: "/a", branch: "m", parent };
    const other = { agent: "codex", native_id: "3", project: "/a b" };
    await held("own");
    await held("a", codex);
    await held("b", claude);
    await held("c", other, true);
    assert.deepEqual(
      await store.sources(["b", "own", "c", "unknown", "a"]),
      new Map<string, LoggedSource>([
        ["a", codex],
        ["b", claude],
        ["c", other],
      ]),
    );
    assert.deepEqual(await store.sources([]), new Map());
    const found = async (source: SourceFilter) => [
      (await ids(store, { source, includeArchived: true })).sort(),
      [...(await store.withSource(source, true))].sort(),
      [...(await store.withSource(source, false))].sort(),
    ];
    assert.deepEqual(await found({ agent: "codex", own: false }), [["a", "c"], ["a", "c"], ["b"]]);
    assert.deepEqual(await found({ project: "/a", own: true }), [
      ["a", "b", "own"],
      ["a", "b"],
      ["c"],
    ]);
    assert.deepEqual(await found({ agent: "rkat", own: true }), [["own"], [], ["a", "b", "c"]]);
    const onBranch = { project: "/a", branch: "m", own: false };
    assert.deepEqual(await found(onBranch), [["b"], ["b"], ["a", "c"]]);
    assert.deepEqual(await ids(store, { source: { agent: "codex", own: false }, limit: 1 }), ["a"]);
    await store.delete("a");
    assert.deepEqual(await store.sources(["a"]), new Map());
    assert.deepEqual(await store.withSource({ agent: "codex", own: false }, true), ["c"]);
  },
  "a deleted session is neither loaded nor listed, and its id can be used again": async (store) => {
    await store.save(snapshot("s", { seq: 9 }));
    await store.save(snapshot("other"));
    await store.delete("s");
    assert.equal(await store.load("s"), undefined);
    assert.deepEqual(await ids(store, { includeArchived: true }), ["other"]);
    await store.save(snapshot("s", { seq: 1 }));
    assert.equal((await store.load("s"))?.seq, 1);
  },
  "a lease excludes everybody else until it is released": async (store) => {
    assert.equal(await store.acquire("k", ann, HOUR_MS), true);
    assert.equal(await store.acquire("k", ben, HOUR_MS), false);
    assert.equal(await store.acquire("another", ben, HOUR_MS), true);
    await store.release("k", ann);
    assert.equal(await store.acquire("k", ben, HOUR_MS), true);
  },
  "one of several processes that ask for a lease at once gets it": async (store) => {
    const owners = ["1", "2", "3", "4"].map(owner);
    const got = await Promise.all(owners.map((each) => store.acquire("k", each, HOUR_MS)));
    assert.equal(got.filter(Boolean).length, 1);
  },
  "a lease that is not renewed can be taken by another after its time": async (store) => {
    assert.equal(await store.acquire("k", ann, 1), true);
    while (!(await store.acquire("k", ben, HOUR_MS))) {
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    assert.equal(await store.acquire("k", ann, HOUR_MS), false);
  },
  "only its owner renews or releases a lease": async (store) => {
    assert.equal(await store.acquire("k", ann, 1), true);
    assert.equal(await store.acquire("k", ann, HOUR_MS), true);
    await store.release("k", ben);
    assert.equal(await store.acquire("k", ben, HOUR_MS), false);
    await store.release("never taken", ben);
  },
  "a lease is released with the last snapshot under it, by its owner only, if the store does that in one step":
    async (store) => {
      if (!store.saveAndRelease) return;
      await store.acquire("k", ann, HOUR_MS);
      await store.saveAndRelease(snapshot("s"), { key: "k", owner: ann });
      assert.deepEqual(await store.load("s"), snapshot("s"));
      assert.equal(await store.acquire("k", ben, HOUR_MS), true);
      await store.saveAndRelease(snapshot("s", { seq: 2 }), { key: "k", owner: ann });
      assert.equal((await store.load("s"))?.seq, 1);
      assert.equal(await store.acquire("k", ann, HOUR_MS), false);
      await store.saveAndRelease(snapshot("s", { seq: 3 }), { key: "k", owner: ben });
      assert.equal((await store.load("s"))?.seq, 3);
      assert.equal(await store.acquire("k", ann, HOUR_MS), true);
    },
  "a lease that is in force is listed with its owner, the one that ends first before the others":
    async (store) => {
      if (!store.leases) return;
      assert.deepEqual(await store.leases(10), []);
      await store.acquire("later", ann, 2 * HOUR_MS);
      await store.acquire("sooner", ben, HOUR_MS);
      await store.acquire("released", ben, HOUR_MS);
      await store.release("released", ben);
      const [first, second, ...others] = await store.leases(10);
      const told = [first, second].map((held) => [held?.key, held?.host, held?.pid]);
      assert.deepEqual(told, [
        ["sooner", ben.host, ben.pid],
        ["later", ann.host, ann.pid],
      ]);
      assert.deepEqual(others, []);
      const left = first?.leftMs ?? 0;
      expects(left > 0 && left <= HOUR_MS, "what is left of an hour", left);
      assert.equal((await store.leases(1)).length, 1);
    },
  "the owner of a lease learns that it was asked to stop, also after it renewed the lease": async (
    store,
  ) => {
    assert.equal(await store.askToStop("k"), false);
    await store.acquire("k", ann, HOUR_MS);
    await store.acquire("another", ann, HOUR_MS);
    assert.deepEqual(await store.askedToStop(ann), []);
    assert.equal(await store.askToStop("k"), true);
    assert.equal(await store.acquire("k", ann, HOUR_MS), true);
    assert.deepEqual(await store.askedToStop(ann), ["k"]);
    assert.deepEqual(await store.askedToStop(ben), []);
  },
  "the next owner of a lease was not asked to stop": async (store) => {
    await store.acquire("k", ann, HOUR_MS);
    await store.askToStop("k");
    await store.release("k", ann);
    assert.equal(await store.askToStop("k"), false);
    for (const next of [ben, ann]) {
      await store.acquire("k", next, HOUR_MS);
      assert.deepEqual(await store.askedToStop(next), []);
      await store.release("k", next);
    }
  },
  "who has lost the lease under which a snapshot was made does not save it": async (store) => {
    const [lost, taken] = [ann, ben].map((owner) => ({ key: "k", owner }));
    await store.save(snapshot("s"), lost);
    await store.acquire("k", ann, 1);
    await store.save(snapshot("s", { seq: 2 }), lost);
    while (!(await store.acquire("k", ben, HOUR_MS))) await sleep(1);
    await store.save(snapshot("s", { seq: 3 }), lost);
    assert.equal((await store.load("s"))?.seq, 2);
    await store.delete("s");
    await store.save(snapshot("s", { seq: 4 }), lost);
    assert.deepEqual(await store.list({}), []);
    await store.save(snapshot("s", { seq: 5 }), taken);
    assert.equal((await store.load("s"))?.seq, 5);
  },
  "a lease that ended, or that another owner had meanwhile, is not renewed, if the store renews leases apart":
    async (store) => {
      const renew = async (owner: LeaseOwner) => await store.renew?.("k", owner, HOUR_MS);
      if (!store.renew) return;
      assert.equal(await renew(ann), false);
      await store.acquire("k", ann, 1);
      assert.equal(await renew(ann), true);
      assert.equal(await store.acquire("k", ben, 1), false);
      await store.release("k", ann);
      assert.equal(await renew(ann), false);
      assert.equal(await store.acquire("k", ben, 1), true);
      assert.equal(await renew(ann), false);
      await store.release("k", ben);
      assert.equal(await renew(ann), false);
    },
  "a lost lease stays lost, however many others end": async (store) => {
    await store.acquire("k", ann, 1);
    while (!(await store.acquire("k", ben, HOUR_MS))) await sleep(1);
    await store.delete("s");
    await store.release("k", ben);
    // Now and then, a store deletes the leases of long ago.
    for (let count = 0; count < OTHERS; count += 1) {
      await store.acquire("other", ben, HOUR_MS);
      await store.release("other", ben);
    }
    await store.save(snapshot("s"), { key: "k", owner: ann });
    assert.deepEqual(await store.list({}), []);
  },
  "snapshots and leases survive closing and opening again": durable(async (open) => {
    const before = await open();
    await before.save(snapshot("s"));
    await before.acquire("k", ann, HOUR_MS);
    await before.close();
    const after = await open();
    assert.deepEqual(await after.load("s"), snapshot("s"));
    assert.equal(await after.acquire("k", ben, HOUR_MS), false);
    await after.close();
  }),
  "a lease excludes processes that use another store on the same data": durable(async (open) => {
    const [one, other] = [await open(), await open()];
    const got = await Promise.all([
      one.acquire("k", ann, HOUR_MS),
      other.acquire("k", ben, HOUR_MS),
    ]);
    assert.deepEqual(got.sort(), [false, true]);
    await one.close();
    await other.close();
  }),
});

/** Some of so many releases delete old leases. */
const OTHERS = 400;

const HOUR_MS = 3_600_000;

/** An owner on another machine, so that no store takes it for a dead process of this one. */
function owner(id: string): LeaseOwner {
  return { id, host: "elsewhere.example", pid: 1 };
}

const ann = owner("ann");
const ben = owner("ben");

function snapshot(id: string, changes: Partial<SessionSnapshot> = {}): SessionSnapshot {
  return { ...new SessionState(id).snapshot(), seq: 1, ...changes };
}

async function ids(store: SessionStore, query: SessionQuery): Promise<string[]> {
  return (await store.list(query)).map((listed) => listed.id);
}

/** The promises of leases to writers. A law that opens twice expects two sets of stores on the same data. */
export const leaseLaws: readonly Law<Pick<Stores, "events" | "sessions">>[] = lawsOf({
  "an append under a lease is refused when another owner has taken the lease": durable(
    async (open) => {
      const [here, there] = [await open(), await open()];
      const key = "session:s";
      const [paused, next] = [ownerOf("paused"), ownerOf("next")];
      await here.sessions.acquire(key, paused, LENGTH_MS);
      await here.events.append("s", 0, [said("one")], { key, owner: paused });
      await sleep(2 * LENGTH_MS);
      const isTaken = await there.sessions.acquire(key, next, 60_000);
      expects(isTaken, "a lease that can be taken after its time", isTaken);
      await assert.rejects(here.events.append("s", 1, [said("late")], { key, owner: paused }), {
        code: "SESSION_CONFLICT",
      });
      assert.equal(await there.events.lastSeq("s"), 1);
      await there.events.append("s", 1, [said("two")], { key, owner: next });
      assert.equal(await here.events.lastSeq("s"), 2);
    },
  ),
});

const LENGTH_MS = 50;

function ownerOf(id: string): LeaseOwner {
  return { id, host: `host of ${id}`, pid: 1 };
}

function said(prompt: string): NewEvent {
  return {
    event_id: newId(),
    timestamp_ms: Date.now(),
    event: { type: "run_started", session_id: "s", prompt },
  };
}
