import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ownFolder } from "../config/config-places.ts";
import type { Environment } from "../config/config-source.ts";
import { isObject } from "../core/fields.ts";
import { parsedJson } from "../core/json-values.ts";
import { makeFolders, systemHome } from "../files/make-folders.ts";
import { lookAtFile } from "../files/plain-files.ts";

/** The input that a coding agent gives a hook: Claude Code, and rkat's own extension in other agents. */
export interface HookInput {
  /** The agent's id of the session. */
  readonly sessionId: string;
  /** The session's id in rkat, once its transcript is imported. */
  readonly importedId: string;
  /** The folder that the agent works in. */
  readonly cwd: string;
  /** The transcript, which is a regular file of yours in Claude Code's own folder. */
  readonly transcript: Transcript | undefined;
  /** The start of the session: `startup`, `resume`, `clear`, `compact` or `fork`. Of a prompt: who gave it. */
  readonly source: string;
  readonly prompt: string;
  /** The agent's window has what was said in the session from then on, ISO 8601; empty when it is not told. */
  readonly windowFrom: string;
  /** Tokens that records of memory may take in it, where the agent says so. */
  readonly roomTokens: number | undefined;
  /** The records before earlier prompts leave the window, so they may come again. */
  readonly othersLeave: boolean;
  /** The summary of a compaction that has ended. */
  readonly summary: string | undefined;
}

interface Transcript {
  readonly path: string;
  /** Claude Code's own folder. */
  readonly root: string;
}

/** Undefined when it is not the input of a hook. */
export function readHookInput(
  text: string,
  env: Environment,
  agent?: string,
): HookInput | undefined {
  const given = objectIn(text);
  const [sessionId, cwd] = [textIn(given.session_id), textIn(given.cwd)];
  // The id becomes the name of a file.
  if (!/^[\w-]{1,128}$/.test(sessionId) || cwd === "") return undefined;
  return {
    sessionId,
    importedId: `${importedAgent(agent ?? given.agent)}:${sessionId}`,
    cwd,
    transcript: transcriptAt(textIn(given.transcript_path), env),
    source: textIn(given.source),
    prompt: textIn(given.prompt),
    windowFrom: textIn(given.window_from),
    othersLeave: given.others_leave === true,
    roomTokens: Number(given.room_tokens) > 0 ? Number(given.room_tokens) : undefined,
    summary: textIn(given.compact_summary) || undefined,
  };
}

/** The agent whose sessions an import takes. Claude Code does not say that it is one. */
function importedAgent(agent: unknown): string {
  return IMPORTED.find((name) => name === agent) ?? "claude-code";
}

const IMPORTED = ["pi", "opencode", "codex", "gemini", "qwen"];

/** The object of a JSON text; empty for any other text. */
export function objectIn(text: string): Readonly<Record<string, unknown>> {
  const value = parsedJson(text);
  return isObject(value) ? value : {};
}

function textIn(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The path, if it is that of a transcript. No other file that the input names is read. */
function transcriptAt(path: string, env: Environment): Transcript | undefined {
  const home = systemHome(env);
  const folder = join(env.CLAUDE_CONFIG_DIR || join(home, ".claude"), "projects");
  if (!path.endsWith(".jsonl")) return undefined;
  try {
    if (!lookAtFile(folder, path)) return undefined;
    const root = realpathSync(folder);
    return { root, path: join(root, relative(folder, path)) };
  } catch {
    return undefined;
  }
}

const WAIT_MS = 200;
const WAIT_MAX_MS = 60_000;

/**
 * Does work that is never done by two processes for one name. If another process is at it, that one
 * does it once more, and this one ends. With `waits` it waits for the other one instead.
 *
 * `name.wanted` says that there is work, and `name.pid` that a process does it. The first is written
 * before the second is looked at, and the second is removed before the first is looked at again. So
 * no work is forgotten.
 */
export async function oneAtATime(
  {
    folder,
    name,
    waits,
  }: { readonly folder: string; readonly name: string; readonly waits: boolean },
  work: () => Promise<void>,
): Promise<void> {
  makeFolders(folder, 0o700);
  const wanted = join(folder, `${name}.wanted`);
  const lock = join(folder, `${name}.pid`);
  writeFileSync(wanted, "", { mode: 0o600 });
  for (let waitedMs = 0; existsSync(wanted) || (waits && isHeld(lock)); ) {
    if (!take(lock)) {
      if (!waits || waitedMs >= WAIT_MAX_MS) return;
      await sleep(WAIT_MS);
      waitedMs += WAIT_MS;
      continue;
    }
    try {
      while (existsSync(wanted)) {
        rmSync(wanted, { force: true });
        await work();
      }
    } finally {
      rmSync(lock, { force: true });
    }
  }
}

const ENDED_WAIT_MS = 20;
const ENDED_WAIT_MAX_MS = 5_000;

/** Says before a compaction that the new part of the transcript is to be imported. `importEnded` waits for that. */
export function wantImport(folder: string, { sessionId: name, transcript }: HookInput): void {
  if (!transcript || importedBytes(folder, name) === statSync(transcript.path).size) return;
  makeFolders(folder, 0o700);
  writeFileSync(join(folder, `${name}.wanted`), "", { mode: 0o600 });
}

/** Waits until no import of the session is wanted or at work. Returns false after `waitMs`: five seconds, if none is given. */
export async function importEnded(
  folder: string,
  { sessionId: name }: HookInput,
  waitMs = ENDED_WAIT_MAX_MS,
): Promise<boolean> {
  const [wanted, lock] = [join(folder, `${name}.wanted`), join(folder, `${name}.pid`)];
  for (let ms = 0; ms < waitMs; ms += ENDED_WAIT_MS) {
    if (!existsSync(wanted) && !isHeld(lock)) return true;
    await sleep(ENDED_WAIT_MS);
  }
  return false;
}

/** Whether the part of a transcript that is not imported may have a prompt. An agent may write one after the import that it asked for. */
export function lacksPrompt(folder: string, { sessionId, transcript }: HookInput): boolean {
  if (!transcript) return false;
  const isPrompt = (line: string) =>
    line.includes('"type":"user"') && !/"tool_result"|"is(?:CompactSummary|Meta)":true/.test(line);
  return tailOf(transcript.path, importedBytes(folder, sessionId)).split("\n").some(isPrompt);
}

/** Bytes of a transcript that are looked at, from its end. */
const TAIL_BYTES = 1_000_000;

/** The end of a file; no more of it than what is behind `from`, unless the file became shorter than that. */
export function tailOf(path: string, from = 0): string {
  const file = openSync(path, "r");
  try {
    const { size } = fstatSync(file);
    const start = Math.max(from > size ? 0 : from, size - TAIL_BYTES);
    const bytes = Buffer.alloc(size - start);
    return bytes.toString("utf8", 0, readSync(file, bytes, 0, bytes.length, start));
  } finally {
    closeSync(file);
  }
}

/** Notes how much of a session's transcript is imported. */
export function noteImported(folder: string, name: string, bytes: number): void {
  writeFileSync(join(folder, name + IMPORTED_END), String(bytes), { mode: 0o600 });
}

const IMPORTED_END = ".imported";

function importedBytes(folder: string, name: string): number {
  try {
    return Number(readFileSync(join(folder, name + IMPORTED_END), "utf8")) || 0;
  } catch {
    return 0;
  }
}

/** Takes the lock, also from a process that has ended. */
function take(lock: string): boolean {
  for (let tries = 0; tries < 2; tries += 1) {
    try {
      writeFileSync(lock, String(process.pid), { flag: "wx", mode: 0o600 });
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    if (isHeld(lock)) return false;
    rmSync(lock, { force: true });
  }
  return false;
}

/** A process that has made its lock writes its number into it within this time. */
const WRITTEN_MS = 10_000;

function isHeld(lock: string): boolean {
  try {
    const pid = Number(readFileSync(lock, "utf8"));
    if (pid === 0) return Math.abs(Date.now() - statSync(lock).mtimeMs) < WRITTEN_MS;
    process.kill(pid, 0);
    return pid > 0;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Your private folder for what hooks keep between their runs. Undefined without a home. */
export function hooksFolder(env: Environment): string | undefined {
  const own = ownFolder(env);
  return own && join(own, "hooks");
}

/** The file with the last failure of an import, for `rkat doctor`. */
export function failedFile(env: Environment): string | undefined {
  const folder = hooksFolder(env);
  return folder && join(folder, "failed.txt");
}

interface ToldRecords {
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
    if (![END, IMPORTED_END].some((end) => name.endsWith(end))) continue;
    // Another hook may have removed it meanwhile.
    const { mtimeMs = oldest } = statSync(path, { throwIfNoEntry: false }) ?? {};
    if (mtimeMs < oldest) rmSync(path, { force: true });
  }
}
