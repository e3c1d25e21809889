import { requireArguments } from "./options.ts";
import { STORE_METHODS } from "./store-arguments.ts";

/** Methods that return something to read or a function instead of a promise: they throw at once. */
const AT_ONCE: ReadonlySet<string> = new Set(["read of events", "watch of events"]);

/** The method, which refuses arguments that are not what it takes before it does anything. */
export function checkedMethod<Method extends (...args: never[]) => unknown>(
  store: string,
  name: string,
  method: Method,
): Method {
  const named = STORE_METHODS[store]?.[name];
  if (!named) return method;
  const of = `${store}.${name}()`;
  const throwsAtOnce = AT_ONCE.has(`${name} of ${store}`);
  const checked = function (this: unknown, ...args: never[]) {
    try {
      requireArguments(of, named, args);
    } catch (error) {
      if (throwsAtOnce) throw error;
      return Promise.reject(error);
    }
    return method.apply(this, args);
  };
  return checked as Method;
}

/** Lets the methods of a class refuse arguments that are not what they take. */
export function checkMethods(store: string, { prototype }: { readonly prototype: object }): void {
  for (const name of Object.keys(STORE_METHODS[store] ?? {})) {
    const method = Object.getOwnPropertyDescriptor(prototype, name)?.value;
    if (typeof method !== "function") continue;
    const value = checkedMethod(store, name, method);
    Object.defineProperty(prototype, name, { value, configurable: true, writable: true });
  }
}
