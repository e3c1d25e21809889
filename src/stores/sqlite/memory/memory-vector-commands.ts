import {
  deleteOtherSpaces,
  openVectorSpace,
  pendingPassages,
  vectorStats,
} from "./memory-vector-pending.ts";
import { saveCalibration, storeVectors } from "./memory-vector-store.ts";

/** What keeping vectors asks of the database. */
export const memoryVectorCommands = {
  openVectorSpace,
  pendingPassages,
  storeVectors,
  saveCalibration,
  deleteOtherSpaces,
  vectorStats,
};
