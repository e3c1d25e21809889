export { type ConnectRestOptions, connectRest } from "./surfaces/rest/connect-rest.ts";
export {
  createRestApp,
  type RestApp,
  type RestServer,
  type ServeRestOptions,
  serveRest,
} from "./surfaces/rest/rest-app.ts";
export type { RestLimits, RestOptions } from "./surfaces/rest/rest-options.ts";
