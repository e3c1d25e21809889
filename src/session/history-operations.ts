import type { HistoryOperations } from "../core/operations/history.ts";
import type { Part } from "./checked-operations.ts";
import { readCompaction, readLog, readMessage } from "./history-views.ts";
import type { ServiceCore, ToolsOf } from "./service-core.ts";
import { undoCompaction } from "./undo-compaction.ts";

/** Takes back what compactions did to a history. */
export function historyOperations(
  core: ServiceCore,
  toolsOf: ToolsOf,
): Part<keyof HistoryOperations> {
  return {
    undoCompaction: (request) => undoCompaction(core, toolsOf, request),
    readCompaction: (request) => readCompaction(core, request),
    readMessage: (request) => readMessage(core, request),
    readLog: (request) => readLog(core, request),
  };
}
