import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { DatabaseSync, StatementSync } from "node:sqlite";
import { parseArgs } from "node:util";
import pg from "pg";
import { SessionError } from "../../src/index.ts";
import { openStoresAt, serviceOver, WORK } from "./interrupted-work.ts";
import { say } from "./say.ts";

/**
 * A program that does some work on a store. At its write number `at` it is killed, or stops until it is told to go on,
 * when its clock jumps, or the disk is full from then on.
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
    clock: { type: "string", default: "0" },
    jump: { type: "string", default: "0" },
  },
});
const { store = "", folder = "", work = "", prepared = "{}", at = "0", how = "kill" } = values;

/** How far ahead its clock is, in milliseconds. */
let ahead = Number(values.clock);
const realNow = Date.now;
if (how === "stop" || ahead !== 0) Date.now = () => realNow() + ahead;
/** The connections that are in a transaction, and whether it is about to end. */
const inTransaction = new Map<unknown, boolean>();

let isCounting = false;
let writes = 0;

/** Notes a write that is about to be made. */
function aboutToWrite(failure: () => Error): void {
  if (!isCounting) return;
  writes += 1;
  if (Number(at) === 0 || writes < Number(at)) return;
  if (how === "kill") process.kill(process.pid, "SIGKILL");
  if (how !== "stop") throw failure();
  if (writes > Number(at)) return;
  say(inTransaction.size > 0 ? "stops in a transaction" : "stops");
  process.kill(process.pid, "SIGSTOP");
  ahead += Number(values.jump);
}

function noteTransaction(connection: unknown, sql: string): void {
  if (inTransaction.get(connection)) inTransaction.delete(connection);
  if (/^\s*begin\b/i.test(sql)) inTransaction.set(connection, false);
  else if (/^\s*(?:commit|rollback)\b/i.test(sql)) inTransaction.set(connection, true);
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
    noteTransaction(DatabaseSync, sourceSQL);
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
  noteTransaction(this, text);
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
if (how === "stop") {
  // Leases are renewed all the time, so that it is also stopped in that.
  const realInterval = globalThis.setInterval;
  const hurried = (work: () => void) => realInterval(work, 1);
  globalThis.setInterval = hurried as typeof globalThis.setInterval;
}

const place = { store, folder, ...(how === "tell" ? { told: say } : {}) };
const stores = openStoresAt(store);
// Tables are made, and prepared, before it counts.
await stores.events.lastSeq("none");
await stores.memory.stats();
const service = serviceOver(stores, place);
if (how === "tell") say("begins");
isCounting = true;
let failure = "";
try {
  await WORK[work]?.(service, JSON.parse(prepared), stores, place);
  if (how === "tell") say("done");
} catch (error) {
  failure = `${SessionError.from(error).code} ${error}`;
}
await service.close().catch(() => {});
await stores.close().catch(() => {});
isCounting = false;
say(`${writes} ${failure}`);
process.exit(0);
