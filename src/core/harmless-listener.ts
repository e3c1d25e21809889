import type { EventEnvelope } from "./event.ts";
import { warn } from "./warn.ts";

type Listener = (event: EventEnvelope) => void;

/**
 * A listener that cannot end the turn it listens to. If it throws or rejects, the first failure is a
 * process warning, and it still gets every later event.
 */
export function harmlessListener(listener: Listener): Listener {
  let hasFailed = false;
  const failed = (error: unknown) => {
    if (!hasFailed) warn(error, "An event listener failed. The turn goes on.");
    hasFailed = true;
  };
  return (event) => {
    try {
      // It may be an async function.
      const result: unknown = listener(event);
      if (result instanceof Promise) result.catch(failed);
    } catch (error) {
      failed(error);
    }
  };
}
