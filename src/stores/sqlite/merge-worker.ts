import { workerData } from "node:worker_threads";
import type { MergeWork } from "./background-merger.ts";
import { giveFreePagesBack } from "./connection.ts";
import { indexCommands } from "./index-commands.ts";
import { openConnection } from "./open-connection.ts";
import { isBusy, packError, storeFailure } from "./store-failure.ts";

/** The thread that merges segments, step by step, until nothing is left or it is told to stop, and gives back what that frees. */
const { path, namespace, stop } = workerData as MergeWork;
const stopped = new Int32Array(stop);
const db = openConnection(path);
try {
  while (Atomics.load(stopped, 0) === 0 && step());
} finally {
  db.close();
}

function step(): boolean {
  try {
    return indexCommands.mergeMemories(db, namespace) || giveFreePagesBack(db);
  } catch (error) {
    if (!isBusy(error)) throw packError(storeFailure(error, path));
    // Short and uneven, as in `openDatabase`. It ends at once when it is told to stop.
    Atomics.wait(stopped, 0, 0, 1 + 4 * Math.random());
    return true;
  }
}
