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
export { sessionServiceLaws } from "./testing/session-service-laws.ts";
export { leaseLaws, sessionStoreLaws } from "./testing/session-store-laws.ts";
export { usersLaws } from "./testing/users-laws.ts";
export {
  type TestedWindow,
  type WindowInUse,
  type WindowMaker,
  type WindowSetup,
  windowLaws,
} from "./testing/window-laws.ts";
