import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { DatabaseSync, StatementSync } from "node:sqlite";
import { parseArgs } from "node:util";
import pg from "pg";
import { openStoresAt, serviceOver, WORK } from "./interrupted-work.ts";
import { say } from "./say.ts";

/**
 * A program that does some work on a store. At its write number `at` it is killed, or the disk is full from then on.
 * Writes are the statements that change a database, and the calls that change a file. It prints how many there were.
 * When it only is to `tell`, it does all of the work, and prints what is acknowledged at once.
 */
const { values } = parseArgs({
  options: {
    store: { type: "string" },
    folder: { type: "string" },
    work: { type: "string" },
    prepared: { type: "string" },
    at: { type: "string" },
    how: { type: "string" },
  },
});
const { store = "", folder = "", work = "", prepared = "{}", at = "0", how = "kill" } = values;

let isCounting = false;
let writes = 0;

/** Notes a write that is about to be made. */
function aboutToWrite(failure: () => Error): void {
  if (!isCounting) return;
  writes += 1;
  if (Number(at) === 0 || writes < Number(at)) return;
  if (how === "kill") process.kill(process.pid, "SIGKILL");
  throw failure();
}

const CHANGES = /^\s*(?:insert|update|delete|replace|with|commit|vacuum|create|alter|drop)\b/i;
const full = (text: string, fields: object) => () => Object.assign(new Error(text), fields);
const sqliteFull = full("database or disk is full", { code: "ERR_SQLITE_ERROR", errcode: 13 });
const postgresFull = full("could not extend file: No space left on device", { code: "53100" });
const fileFull = full("ENOSPC: no space left on device, write", { code: "ENOSPC" });

function before<Owner extends object>(
  owner: Owner,
  name: keyof Owner & string,
  note: (owner: unknown, args: readonly unknown[]) => void,
): void {
  const original = Reflect.get(owner, name) as (...args: unknown[]) => unknown;
  Reflect.set(owner, name, function (this: unknown, ...args: unknown[]) {
    note(this, args);
    return original.apply(this, args);
  });
}

for (const name of ["run", "get", "all"] as const) {
  before(StatementSync.prototype, name, (statement) => {
    const { sourceSQL } = statement as StatementSync;
    if (CHANGES.test(sourceSQL)) aboutToWrite(sqliteFull);
  });
}
before(DatabaseSync.prototype, "exec", (_, [sql]) => {
  if (CHANGES.test(String(sql))) aboutToWrite(sqliteFull);
});
const query = pg.Client.prototype.query as (...args: unknown[]) => unknown;
Reflect.set(pg.Client.prototype, "query", function (this: unknown, ...args: unknown[]) {
  const [asked] = args as readonly (string | { readonly text?: string })[];
  const text = typeof asked === "string" ? asked : (asked?.text ?? "");
  try {
    if (CHANGES.test(text)) aboutToWrite(postgresFull);
  } catch (error) {
    const told = args.at(-1);
    if (typeof told !== "function") return Promise.reject(error);
    setImmediate(() => told(error));
    return undefined;
  }
  return query.apply(this, args);
});
for (const name of [
  "writeSync",
  "renameSync",
  "ftruncateSync",
  "unlinkSync",
  "mkdirSync",
  "rmdirSync",
] as const) {
  before(fs, name, () => aboutToWrite(fileFull));
}
syncBuiltinESMExports();

const place = { store, folder, ...(how === "tell" ? { told: say } : {}) };
const stores = openStoresAt(store);
// Tables are made, and prepared, before it counts.
await stores.events.lastSeq("none");
await stores.memory.stats();
const service = serviceOver(stores, place);
isCounting = true;
let failure = "";
try {
  await WORK[work]?.(service, JSON.parse(prepared), stores, place);
  if (how === "tell") say("done");
} catch (error) {
  failure = String(error);
}
await service.close().catch(() => {});
await stores.close().catch(() => {});
isCounting = false;
say(`${writes} ${failure}`);
process.exit(0);
