import type { BringBackOperations } from "../core/operations/bring-back.ts";
import type { ForkOperations } from "../core/operations/forks.ts";
import type { HistoryOperations } from "../core/operations/history.ts";
import type { SourceOperations } from "../core/operations/sources.ts";
import { allowRecall, bringBack, refuseRecall } from "./bring-back.ts";
import type { Part } from "./checked-operations.ts";
import { forkSession } from "./fork-session.ts";
import { readCompaction, readLog } from "./history-views.ts";
import { readMessage } from "./read-message.ts";
import { readSources } from "./read-sources.ts";
import type { ServiceCore, ToolsOf } from "./service-core.ts";
import { undoCompaction } from "./undo-compaction.ts";

/** Shows a history, takes back what compactions did to it, and goes on from a place in it. */
export function historyOperations(
  core: ServiceCore,
  toolsOf: ToolsOf,
): Part<
  | keyof HistoryOperations
  | keyof ForkOperations
  | keyof BringBackOperations
  | keyof SourceOperations
> {
  return {
    undoCompaction: (request) => undoCompaction(core, toolsOf, request),
    readCompaction: (request) => readCompaction(core, request),
    readMessage: (request) => readMessage(core, request),
    readLog: (request) => readLog(core, request),
    forkSession: (request) => forkSession(core, request),
    bringBack: (request) => bringBack(core, toolsOf, request),
    readSources: (request) => readSources(core, request),
    refuseRecall: (request) => refuseRecall(core, request),
    allowRecall: (request) => allowRecall(core, request),
  };
}
