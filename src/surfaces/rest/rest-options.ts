import type { SessionService } from "../../core/session-service.ts";
import type { Metric } from "../../core/traces.ts";
import type { NameOptions, TokenOptions } from "../http/acting-service.ts";
import type { BodyLimits } from "../http/body-reader.ts";

/** Every request but `/`, `/health` and `/ready` needs a token, if there are any. */
export interface RestOptions extends NameOptions, TokenOptions {
  readonly service: SessionService;
  /** Reported by `/`, `/health` and `/openapi.json`. Not told to requests without a token. */
  readonly version?: string;
  readonly limits?: Partial<RestLimits>;
  /**
   * More numbers for `/metrics`, such as those of `Meters`. Without it there is no such route. Who has the token of a
   * user does not get them.
   */
  readonly metrics?: () => readonly Metric[] | Promise<readonly Metric[]>;
  /** Fails while the server cannot work, because its store does not answer. `/ready` asks it. Default: it is ready. */
  readonly ready?: () => Promise<unknown>;
  /** Called for unexpected failures. Default: a process warning. */
  readonly onError?: (error: unknown) => void;
}

export interface RestLimits extends BodyLimits {
  /** Bytes of one transcript that is sent as a file. They are on the disk meanwhile. Default 1 GiB. */
  readonly importBytesMax: number;
  /** Imports at once. Default 4. */
  readonly importsMax: number;
  /** Running turns and compactions at once. Default 512. */
  readonly turnsMax: number;
  /** Open event streams at once, those of turns included. Default 2048. */
  readonly streamsMax: number;
  /** A quiet event stream gets a heartbeat after this time. Default 15 000. */
  readonly heartbeatMs: number;
  /** An event stream ends when its reader takes nothing for this time. Default 120 000. */
  readonly stallMs: number;
}

export const DEFAULT_LIMITS: RestLimits = {
  bodyBytesMax: 8 * 1024 * 1024,
  allBodiesBytesMax: 128 * 1024 * 1024,
  importBytesMax: 1024 * 1024 * 1024,
  importsMax: 4,
  turnsMax: 512,
  streamsMax: 2048,
  heartbeatMs: 15_000,
  stallMs: 120_000,
};
