import { SessionError } from "../core/errors.ts";
import { closingEvents, interruptedCalls, runFailed } from "./run-events.ts";
import type { TurnLog } from "./turn-log.ts";

/**
 * Closes a run whose process was killed. Calls without a result get one that says so, and the run
 * ends. Calls that wait for approval have had no effects, so they go on waiting.
 */
export async function recoverRun(log: TurnLog): Promise<void> {
  const { state } = log;
  const why = "The process ended before the call did; it may have had effects.";
  const events = closingEvents(interruptedCalls(state), why);
  if (state.running) {
    const failure = new SessionError("TURN_INTERRUPTED", { detail: "Its process ended." });
    events.push(runFailed(state.id, failure));
  }
  if (events.length > 0) await log.commit(events);
}
