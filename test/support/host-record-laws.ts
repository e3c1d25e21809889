import assert from "node:assert/strict";
import type { HostRecord } from "../../src/core/host-record.ts";
import { durable, type Law, lawsOf } from "../../src/testing/law.ts";

/** A list of a host's items, each of which is a text that the user said, and what forgets a text in all of rkat. */
export interface ForgettableRecord {
  readonly record: HostRecord;
  forget(text: string): Promise<void>;
}

/** The promises of every list that a host keeps. A law that opens twice expects two processes with the same list. */
export const hostRecordLaws: readonly Law<ForgettableRecord>[] = lawsOf({
  "a list is empty before its first change, and a change that is none leaves it so": async ({
    record,
  }) => {
    await record.change(() => undefined);
    const { items, changedAtMs } = await record.read();
    assert.deepEqual(items, []);
    assert.equal(changedAtMs, 0);
  },
  "what was changed is read as it was given, in order": async ({ record }) => {
    const odd = {
      text: "the \u0000 end \ud83c\udf82",
      nested: [{ snake_case: null }, 1.5, true],
    };
    await record.change(() => ({ items: [said("one"), odd, said("two")] }));
    await record.change(() => ({ items: [said("three")] }));
    await record.change(() => ({ replaced: { from: 0, count: 1 }, items: [said("first"), odd] }));
    const { items } = await record.read();
    assert.deepEqual(items, [said("first"), odd, odd, said("two"), said("three")]);
  },
  "a change that throws changes nothing, and the next one is done": async ({ record }) => {
    await record.change(() => ({ items: [said("one")] }));
    const failing = record.change(() => {
      throw new RangeError("no such item");
    });
    await assert.rejects(failing, RangeError);
    await record.change(({ items }) => ({ items: [said(`${items.length + 1}`)] }));
    assert.deepEqual((await record.read()).items, [said("one"), said("2")]);
  },
  "changes at the same time happen one after the other, each whole": async ({ record }) => {
    const add = (by: number) =>
      record.change(({ items }) => ({ items: [said(`${by} at ${items.length}`), said("end")] }));
    await Promise.all(Array.from({ length: 8 }, (_, by) => add(by)));
    const { items } = await record.read();
    assert.equal(items.length, 16);
    for (let at = 0; at < 16; at += 2) {
      assert.match(JSON.stringify(items[at]), new RegExp(` at ${at}"`));
      assert.deepEqual(items[at + 1], said("end"));
    }
  },
  "an operation is known by its id when it is tried again, until the list begins again": async ({
    record,
  }) => {
    const operation = { id: "op-1", change: { add: 1 } };
    await record.change(() => ({ items: [said("one")], operation }));
    const now = await record.read();
    assert.equal(now.done(operation), "same");
    assert.equal(now.done({ id: "op-1", change: { add: 2 } }), "other");
    assert.equal(now.done({ id: "op-2", change: { add: 1 } }), "no");
    await record.change(() => ({ replaced: { from: 0, count: 1 }, items: [], restarts: true }));
    assert.equal((await record.read()).done(operation), "no");
  },
  "every process reads the changes of the others, and theirs and its own happen one after the other":
    durable(async (open) => {
      const [here, there] = [await open(), await open()];
      const add = ({ record }: ForgettableRecord) =>
        record.change(({ items }) => ({ items: [{ at: items.length }] }));
      await Promise.all([here, there, here, there].map(add));
      const all = [{ at: 0 }, { at: 1 }, { at: 2 }, { at: 3 }];
      assert.deepEqual((await here.record.read()).items, all);
      assert.deepEqual((await there.record.read()).items, all);
    }),
  "a forgotten text is in no item, and the others stay": async ({ record, forget }) => {
    const secret = "The key of the lighthouse lies under the third stone.";
    await record.change(() => ({ items: [said("one"), said(secret), said("two")] }));
    await forget(secret);
    const { items } = await record.read();
    assert.ok(!JSON.stringify(items).includes("third stone"));
    assert.deepEqual([items[0], items.at(-1)], [said("one"), said("two")]);
  },
});

function said(text: string): unknown {
  return { text };
}
