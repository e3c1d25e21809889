import type { Law } from "./testing/law.ts";
import { asOfLaws } from "./testing/service/as-of-laws.ts";
import { compactionLaws } from "./testing/service/compaction-laws.ts";
import { bringBackLaws, forkLaws } from "./testing/service/fork-laws.ts";
import { historyLaws, sourceLaws } from "./testing/service/history-laws.ts";
import { learningLaws } from "./testing/service/learning-laws.ts";
import { memoryLaws } from "./testing/service/memory-laws.ts";
import type { OpenService } from "./testing/service/service-scenes.ts";
import { sessionLaws } from "./testing/service/session-laws.ts";
import { turnLaws } from "./testing/service/turn-laws.ts";

export {
  type AdaptedLoop,
  adapterLaws,
  type LoopCall,
  type LoopRecord,
  type LoopScript,
  type LoopStep,
  type LoopTurn,
} from "./testing/adapter-laws.ts";
export { approvalStoreLaws } from "./testing/approval-store-laws.ts";
export { compactorLaws } from "./testing/compactor-laws.ts";
export { embedderLaws } from "./testing/embedder-laws.ts";
export { eventStoreLaws } from "./testing/event-store-laws.ts";
export { historySearchLaws } from "./testing/history-search-laws.ts";
export { importStoreLaws, type StoresOfImports } from "./testing/import-store-laws.ts";
export { knowledgeStoreLaws } from "./testing/knowledge-store-laws.ts";
export type { Law } from "./testing/law.ts";
export { memoryStoreLaws } from "./testing/memory-store-laws.ts";
export { type ScriptedModel, type ScriptedReply, scriptedModel } from "./testing/scripted-model.ts";
export { BUILDS, type OpenService, type ServiceSetup } from "./testing/service/service-scenes.ts";
export { leaseLaws, sessionStoreLaws } from "./testing/session-store-laws.ts";
export { usersLaws } from "./testing/users-laws.ts";
export {
  type TestedWindow,
  type WindowInUse,
  type WindowMaker,
  type WindowSetup,
  windowLaws,
} from "./testing/window-laws.ts";

/** The promises of every session service, on every surface. */
export const sessionServiceLaws: readonly Law<OpenService>[] = [
  ...sessionLaws,
  ...turnLaws,
  ...compactionLaws,
  ...historyLaws,
  ...forkLaws,
  ...bringBackLaws,
  ...sourceLaws,
  ...memoryLaws,
  ...asOfLaws,
  ...learningLaws,
];
