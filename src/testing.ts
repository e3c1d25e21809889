export { eventStoreLaws } from "./testing/event-store-laws.ts";
export type { Law } from "./testing/law.ts";
export { type ScriptedModel, type ScriptedReply, scriptedModel } from "./testing/scripted-model.ts";
export { sessionStoreLaws } from "./testing/session-store-laws.ts";
export {
  BUILDS,
  type OpenService,
  type ServiceSetup,
  sessionServiceLaws,
} from "./testing/session-service-laws.ts";
