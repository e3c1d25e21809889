import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isObject } from "../core/fields.ts";
import { makeFolders } from "../files/make-folders.ts";
import { IMPORTED_END } from "./hook-input.ts";

export interface ToldRecords {
  /** Ids of the records that the session's window has. */
  readonly told: readonly string[];
  /** Whether a prompt was answered since the window began: it comes with what a person pinned. */
  readonly begun?: boolean;
  /** When the last compaction took the window away, ISO 8601. What was said before it may come back. */
  readonly left?: string;
  /** The score that records need, as it was measured for this session. */
  readonly bar?: number;
}

/** Files of sessions that ended long ago are removed. */
const KEPT_DAYS = 30;
const END = ".recalled.json";

/** The records that a hook has told a session of a coding agent, so that it tells none twice. */
export function readTold(folder: string, sessionId: string): ToldRecords {
  try {
    const read: unknown = JSON.parse(readFileSync(fileOf(folder, sessionId), "utf8"));
    if (!isObject(read)) return { told: [] };
    const { told, begun, left, bar } = read;
    return {
      told: Array.isArray(told) ? told.map(String) : [],
      ...(begun === true ? { begun } : {}),
      ...(typeof left === "string" ? { left } : {}),
      ...(typeof bar === "number" ? { bar } : {}),
    };
  } catch {
    return { told: [] };
  }
}

export function writeTold(folder: string, sessionId: string, told: ToldRecords): void {
  makeFolders(folder, 0o700);
  removeOld(folder);
  writeFileSync(fileOf(folder, sessionId), JSON.stringify(told), { mode: 0o600 });
}

function fileOf(folder: string, sessionId: string): string {
  return join(folder, sessionId + END);
}

function removeOld(folder: string): void {
  const oldest = Date.now() - KEPT_DAYS * 86_400_000;
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if ([END, IMPORTED_END].some((end) => name.endsWith(end)) && statSync(path).mtimeMs < oldest)
      rmSync(path, { force: true });
  }
}
