import { setImmediate as settle } from "node:timers/promises";
import { createSessionService, type EventEnvelope } from "../../src/index.ts";
import { scriptedModel } from "../../src/testing.ts";

/**
 * Subscribes to a session, takes the events of some turns and waits for more. Prints how many of the
 * events that it took are still in memory. Needs `--expose-gc`.
 */
const service = createSessionService({ model: scriptedModel(() => "Done.") });
const { sessionId } = await service.createSession({});
const stop = new AbortController();
const taken: WeakRef<EventEnvelope>[] = [];

/** In a function of its own, so that no variable of this file keeps an event. */
async function take(events: AsyncIterator<EventEnvelope>): Promise<boolean> {
  const { value } = await events.next();
  taken.push(new WeakRef(value));
  return value.payload.type === "run_completed";
}

const events = service
  .subscribe({ sessionId, afterSeq: 0 }, { signal: stop.signal })
  [Symbol.asyncIterator]();
for (let turn = 0; turn < 2; turn += 1) {
  await service.startTurn({ sessionId, prompt: `Turn ${turn}` });
  while (!(await take(events)));
}
const next = events.next();
for (let pass = 0; pass < 8; pass += 1) {
  await settle();
  globalThis.gc?.();
}
const kept = taken.filter((event) => event.deref() !== undefined);
process.stdout.write(JSON.stringify({ taken: taken.length, kept: kept.length }));
stop.abort();
await next;
await service.close();
