import type { SessionService } from "../../core/session-service.ts";
import type { BodyLimits } from "../http/body-reader.ts";
import type { NameOptions } from "../http/guard-names.ts";

/** What a REST app is made of. */
export interface RestOptions extends NameOptions {
  readonly service: SessionService;
  /** Shown by `/health` and in `/openapi.json`. */
  readonly version?: string;
  /** What every route but `/health` asks for, as `Authorization: Bearer <token>`. */
  readonly token?: string;
  readonly limits?: Partial<RestLimits>;
  /** Told of failures that should not be. Default: a process warning. */
  readonly onError?: (error: unknown) => void;
}

export interface RestLimits extends BodyLimits {
  /** Turns and compactions that run at once. Default 512. */
  readonly turns: number;
  /** Event streams that are open at once, those of turns included. Default 2048. */
  readonly streams: number;
  /** How long an event stream is silent at the most. Default 15 000. */
  readonly heartbeatMs: number;
  /** How long the reader of an event stream may take nothing. Default 120 000. */
  readonly stallMs: number;
}

export const DEFAULT_LIMITS: RestLimits = {
  bodyBytes: 8 * 1024 * 1024,
  allBodiesBytes: 128 * 1024 * 1024,
  turns: 512,
  streams: 2048,
  heartbeatMs: 15_000,
  stallMs: 120_000,
};
