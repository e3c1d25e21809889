import { realpathSync } from "node:fs";
import { join, relative } from "node:path";
import { isObject } from "../core/fields.ts";
import { lookAtFile } from "../files/plain-files.ts";
import { systemHome } from "../files/system-home.ts";

/** The input that Claude Code gives a hook. */
export interface HookInput {
  /** Claude Code's id of the session. */
  readonly sessionId: string;
  /** The session's id in rkat, once its transcript is imported. */
  readonly importedId: string;
  /** The folder that Claude Code works in. */
  readonly cwd: string;
  /** The transcript, which is a regular file of yours in Claude Code's own folder. */
  readonly transcript: Transcript | undefined;
  /** The start of the session: `startup`, `resume`, `clear`, `compact` or `fork`. */
  readonly source: string;
  /** The summary of a compaction that has ended. */
  readonly summary: string | undefined;
}

interface Transcript {
  readonly path: string;
  /** Claude Code's own folder. */
  readonly root: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Undefined when it is not the input of a hook. */
export function readHookInput(text: string, env: Environment): HookInput | undefined {
  const given = parsed(text);
  const [sessionId, cwd] = [textIn(given.session_id), textIn(given.cwd)];
  // The id becomes the name of a file.
  if (!/^[\w-]{1,128}$/.test(sessionId) || cwd === "") return undefined;
  return {
    sessionId,
    importedId: `claude-code:${sessionId}`,
    cwd,
    transcript: transcriptAt(textIn(given.transcript_path), env),
    source: textIn(given.source),
    summary: textIn(given.compact_summary) || undefined,
  };
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
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
