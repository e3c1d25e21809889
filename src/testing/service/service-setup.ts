import type { ToolPolicy } from "../../core/approval.ts";
import type { CompactionConfig } from "../../core/compactor.ts";
import type { Capability, SessionService } from "../../core/session-service.ts";
import type { ScriptedReply } from "../scripted-model.ts";

/** Settings of a service under test. Plain data, so that another process can make the service. */
export interface ServiceSetup {
  readonly capabilities: readonly Capability[];
  /** The answers of the model, in order. After the last one it answers "ok". */
  readonly replies?: readonly ScriptedReply[];
  readonly compaction?: Partial<CompactionConfig>;
  /** Which tools need approval, and how long a turn waits for it. */
  readonly approvals?: {
    readonly policies?: Readonly<Record<string, ToolPolicy>>;
    readonly timeoutMs?: number;
  };
}

/** Makes a service. In one place, services with `session-store` share their stores. */
export type OpenService = (setup: ServiceSetup) => Promise<SessionService>;

/** The six builds of the specification. */
export const BUILDS: Readonly<Record<string, readonly Capability[]>> = {
  A: [],
  B: ["session-store"],
  C: ["memory-store"],
  D: ["session-compaction"],
  E: ["session-store", "memory-store"],
  F: ["session-store", "memory-store", "session-compaction"],
};
