import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { NewEvent } from "../core/event.ts";
import { newId } from "../core/ids.ts";
import type { LeaseOwner } from "../core/session-store.ts";
import type { Stores } from "../core/stores.ts";
import { expects, inWords, type Law } from "./law.ts";

/** What leases promise to those who append. A law that opens twice expects two sets of stores on the same data. */
export const leaseLaws: readonly Law<Pick<Stores, "events" | "sessions">>[] = inWords([
  {
    name: "an append under a lease is refused when another owner has taken the lease",
    durable: true,
    async holds(open) {
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
  },
]);

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
