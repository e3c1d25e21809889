import assert from "node:assert/strict";
import type { ApprovalStore, PendingApproval } from "../core/approval.ts";
import { durable, type Law, lawsOf } from "./law.ts";

/** The promises of every approval store. A law that opens twice expects two stores on the same approvals. */
export const approvalStoreLaws: readonly Law<ApprovalStore>[] = lawsOf({
  "an added approval is listed until it is answered or removed, oldest first": async (store) => {
    const all = [approval("b", "one"), approval("a", "two"), approval("c", "one")];
    await store.add(all);
    assert.deepEqual(await store.list({}), all);
    assert.deepEqual(await store.list({ sessionId: "one" }), [all[0], all[2]]);
    await store.answer("b", "one", { decision: "allow" });
    await store.remove({ approvalIds: ["a", "nobody"] });
    assert.deepEqual(await store.list({}), [all[2]]);
    await store.remove({ sessionId: "one" });
    assert.deepEqual(await store.list({}), []);
    assert.equal((await store.answers(["b"])).size, 0);
  },
  "an approval is there once, however often it is added": async (store) => {
    await store.add([approval("a", "one")]);
    await store.answer("a", "one", { decision: "deny" });
    await store.add([approval("a", "one"), approval("b", "one")]);
    assert.deepEqual(
      (await store.list({})).map(({ approvalId }) => approvalId),
      ["b"],
    );
  },
  "of several answers the first one counts, and it has to name the session": async (store) => {
    await store.add([approval("a", "one")]);
    assert.equal(await store.answer("a", "two", { decision: "allow" }), false);
    assert.equal(await store.answer("nobody", "one", { decision: "allow" }), false);
    const first = { decision: "deny", reason: "no" } as const;
    assert.equal(await store.answer("a", "one", first), true);
    assert.equal(await store.answer("a", "one", { decision: "allow" }), false);
    assert.deepEqual([...(await store.answers(["a", "b"]))], [["a", first]]);
  },
  "a replaced approval keeps its place and its answer; a missing one is not added": async (
    store,
  ) => {
    const all = [approval("a", "one"), approval("b", "one"), approval("c", "one")];
    await store.add(all);
    await store.answer("b", "one", { decision: "allow" });
    const changed = all.map((before) => ({ ...before, goal: "[forgotten]" }));
    await store.replace([...changed, approval("d", "one")]);
    assert.deepEqual(await store.list({}), [changed[0], changed[2]]);
    assert.deepEqual((await store.answers(["b", "d"])).get("b"), { decision: "allow" });
  },
  "another process sees the waiting approvals, and its answer is seen here": durable(
    async (open) => {
      const here = await open();
      const there = await open();
      await here.add([approval("a", "one")]);
      assert.equal((await there.list({})).length, 1);
      assert.equal(await there.answer("a", "one", { decision: "allow" }), true);
      assert.deepEqual((await here.answers(["a"])).get("a"), { decision: "allow" });
    },
  ),
});

function approval(approvalId: string, sessionId: string): PendingApproval {
  return {
    approvalId,
    sessionId,
    toolUseId: "call",
    tool: "shell",
    args: { command: "ls", nested: { snake_case: [1, null] } },
    goal: "see what is there",
    requestedAt: "2026-01-02T03:04:05.678Z",
  };
}
