import { describe, expect, onTestFinished, test } from "vitest";
import { CostTotals } from "../src/core/cost-totals.ts";
import type { EventStore } from "../src/core/event-store.ts";
import { createSessionService, ephemeralStores } from "../src/index.ts";
import { CostLedger } from "../src/session/session-cost.ts";
import type { Stores } from "../src/sqlite.ts";
import { scriptedModel } from "../src/testing.ts";
import { newProject, PLACE_KINDS } from "./support/backup-places.ts";
import { longSession } from "./support/long-log.ts";
import { LONG } from "./support/trials.ts";

/** Of two messages each. The bounds are the same for 2600 messages and for 10 200. */
const TURNS = LONG ? 5100 : 1300;

const KINDS = [...PLACE_KINDS, "this process"] as const;

async function storesOf(kind: (typeof KINDS)[number]): Promise<Stores> {
  if (kind === "this process") return ephemeralStores() as unknown as Stores;
  return (await newProject(kind)).open();
}

/** Counts the events that a store gives out. */
function counted(events: EventStore): { events: number } {
  const count = { events: 0 };
  const { read, readKinds } = events;
  events.read = async function* (...range) {
    for await (const event of read.apply(events, range)) {
      count.events += 1;
      yield event;
    }
  };
  if (!readKinds) throw new Error("A store without an index.");
  events.readKinds = async (...range) => {
    const found = await readKinds.apply(events, range);
    count.events += found.length;
    return found;
  };
  return count;
}

describe.each(KINDS)("a long session in %s", (kind) => {
  // Takes over two seconds: it makes a session of 1 300 turns.
  test("is asked about what is in it without a read of its log", async () => {
    const stores = await storesOf(kind);
    const { sessionId, lastSeq } = await longSession(stores, TURNS);
    const all = await Array.fromAsync(stores.events.read(sessionId, 0));
    expect(all).toHaveLength(lastSeq);
    const prompts = all.flatMap(({ seq, event }) => (event.type === "run_started" ? [seq] : []));
    expect(prompts).toHaveLength(TURNS);
    const compactions = all.flatMap(({ seq, event }) =>
      event.type === "compaction_completed" ? [seq] : [],
    );
    const service = createSessionService({ model: scriptedModel(() => "Noted."), stores });
    onTestFinished(() => service.close());
    // What is made of the log reads it too, in the background. A search waits for that.
    const search = () => service.searchMemory({ query: "harbour" });
    await expect.poll(async () => (await search()).behind).toBeUndefined();
    const count = counted(stores.events);
    const cost = async <Answer>(ask: Promise<Answer>): Promise<readonly [Answer, number]> => {
      count.events = 0;
      const answer = await ask;
      return [answer, count.events];
    };
    // The messages of the window, of which there are up to 406 between two compactions.
    const [, opened] = await cost(service.read({ sessionId }));
    expect(opened).toBeLessThan(900);

    const changes = compactions.length;
    for (const turn of [0, 700, TURNS - 1]) {
      const message = prompts[turn] ?? 0;
      const [trace, read] = await cost(service.readMessage({ sessionId, message }));
      expect(trace).toMatchObject({ turn, message: { content: `Ship ${turn}?` } });
      // Among them the events that a record came back with: one in a hundred turns.
      expect(read).toBeLessThan(changes + TURNS / 100 + 20);
    }
    const [, page] = await cost(service.readLog({ sessionId, limit: 50, beforeSeq: 4000 }));
    expect(page).toBe(50);
    for (const event of [compactions.at(-1) ?? 0, compactions[3] ?? 0]) {
      const [view, read] = await cost(service.readCompaction({ sessionId, event }));
      expect(view).toMatchObject({ messageCount: 406, inForce: true });
      expect(view.messages[0]?.turn).toBe(view.messages[1]?.turn);
      expect(read).toBeLessThan(changes + 900);
    }
    const [sources, readSources] = await cost(
      service.readSources({ sessionId, offset: 2000, limit: 20 }),
    );
    expect(sources.messageCount).toBe(2 * (changes * 200 - 3));
    expect(sources.messages[0]).toMatchObject({ text: "Ship 1000?" });
    expect(readSources).toBeLessThan(changes + 900);
    const [shown, readTurn] = await cost(service.bringBack({ sessionId, turn: 900 }));
    expect(shown).toMatchObject({ broughtBack: true });
    expect(readTurn).toBeLessThan(50);

    const [told, readCost] = await cost(service.sessionCost({ sessionId, limit: 20 }));
    expect(readCost).toBeLessThan(600);
    const [ledger, totals] = [new CostLedger(20), new CostTotals()];
    for (const stored of all) {
      ledger.note(stored);
      totals.note(stored);
    }
    const whole = ledger.view(sessionId, totals);
    expect(told).toEqual(whole);
    expect(whole).toMatchObject({ calls: TURNS + changes, earlier: { turns: TURNS - 20 } });

    // The compaction of turn 999 kept turn 997 and those after it.
    const [fork, readFork] = await cost(
      service.forkSession({ sessionId, event: (prompts[1100] ?? 0) - 1 }),
    );
    expect(fork.messages).toBe(2 * 103 + 1);
    // What the fork shows, and what the compaction before it had: 406 messages at the most, each of two events.
    expect(readFork).toBeLessThan(3600);
    const undone = await cost(service.undoCompaction({ sessionId }));
    expect(undone[0]).toMatchObject({ undone: true, messages: 407 + 2 * (TURNS % 200) });
    expect(undone[1]).toBeLessThan(4800);
    const redone = await cost(service.undoCompaction({ sessionId, redo: true }));
    expect(redone[0]).toMatchObject({ undone: true, messages: 7 + 2 * (TURNS % 200) });
    expect(redone[1]).toBeLessThan(4800);
    // Compactions kept each of the histories apart, so going back to one shows all that was said since then.
    const back = await cost(service.undoCompaction({ sessionId, event: compactions.at(-2) ?? 0 }));
    expect(back[0]).toMatchObject({ undone: true, messages: 407 + 400 + 2 * (TURNS % 200) });
    expect(back[1]).toBeLessThan(9600);
  });
});
