import { PersistentSessionService } from "../../src/app/create-session-service.ts";
import { OPERATIONS } from "../../src/core/operations.ts";

/** Which of the two meets a failure of the store first: what a command does, or what works behind it. */
export type Order = "background first" | "command first";

/** Lets one of the two wait for the other in this process. Returns what ends that when the command has ended. */
export function inOrder(order: Order | undefined): () => void {
  if (order === undefined) return () => {};
  const { emitWarning } = process;
  if (order === "command first") {
    const waiting: (string | Error)[] = [];
    process.emitWarning = (warning: string | Error) => void waiting.push(warning);
    return () => {
      process.emitWarning = emitWarning;
      for (const warning of waiting) process.emitWarning(warning);
    };
  }
  const { promise: warned, resolve } = Promise.withResolvers<void>();
  process.emitWarning = (warning: string | Error) => {
    emitWarning.call(process, warning);
    // The listeners are called in the next tick.
    process.nextTick(resolve);
  };
  const restore = Object.keys(OPERATIONS).map((name) => beginAfter(warned, name));
  return () => {
    process.emitWarning = emitWarning;
    for (const each of restore) each();
  };
}

/** Lets an operation of services begin when something has warned. A service is given its operations when it is made. */
function beginAfter(warned: Promise<void>, name: string): () => void {
  const { prototype } = PersistentSessionService;
  Object.defineProperty(prototype, name, {
    configurable: true,
    set(this: object, operation: (...args: unknown[]) => unknown) {
      const value = async (...args: unknown[]) => {
        await warned;
        return await operation(...args);
      };
      Object.defineProperty(this, name, { value, configurable: true, enumerable: true });
    },
  });
  return () => void Reflect.deleteProperty(prototype, name);
}
