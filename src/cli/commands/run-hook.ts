import { rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Command } from "commander";
import { readNextWindow, readRules } from "../../app/read-stored.ts";
import {
  failedFile,
  type HookInput,
  hooksFolder,
  importEnded,
  lacksPrompt,
  readHookInput,
  readTold,
  wantImport,
  writeTold,
} from "../../coding-agents/hook-input.ts";
import {
  CHARACTERS_MAX,
  recordForNextWindow,
  recordForSummary,
  roomInWindow,
} from "../../coding-agents/window-record.ts";
import { isHome, requireHome } from "../../config/config-places.ts";
import type { Environment } from "../../config/config-source.ts";
import {
  folderForImport,
  hasStore,
  openWorkspace,
  type Workspace,
} from "../../config/workspace.ts";
import { causeTexts, errorText, SessionError } from "../../core/errors.ts";
import { given } from "../../core/fields.ts";
import { makeFolders } from "../../files/make-folders.ts";
import { unclosable } from "../../text/quoting.ts";
import type { CliContext } from "../cli-context.ts";
import { oneLine } from "../render/printable.ts";

const INPUT_BYTES_MAX = 8 * 1024 * 1024;

/**
 * `rkat hook`: what a coding agent runs by itself at the events of a session. `rkat install` puts it into
 * the agent's settings.
 *
 * A hook never stops the agent. The exit code is always 0: for Claude Code, 2 means to
 * block what it was about to do.
 *
 * An agent waits for it, so it is a file of its own, which loads nothing of the other commands.
 */
export async function runHook(
  event: string,
  agent: string | undefined,
  context: CliContext,
): Promise<void> {
  const { terminal, warnings } = context;
  const { env } = terminal;
  const failed = failedFile(env);
  try {
    const input = readHookInput(await inputOf(context), env, agent);
    if (!input) return;
    if (event === "import") {
      await (await importing()).importTranscript(await workspaceFor(env, input), input, env);
      if (failed !== undefined) rmSync(failed, { force: true });
    } else {
      const answer = await answerTo(event, env, input);
      if (answer) await terminal.stdout.write(agent ? hookAnswer(agent, event, answer) : answer);
    }
  } catch (thrown) {
    const error = SessionError.from(thrown);
    warnings.end(...causeTexts(error));
    const text = oneLine(`rkat: ${errorText(error)}`, 300);
    await terminal.stderr.write(`${text}\n`);
    // The output of an import's process is not seen. `rkat doctor` shows the failure instead.
    if (event === "import" && failed !== undefined) keep(failed, text);
  }
}

function keep(file: string, text: string): void {
  try {
    makeFolders(dirname(file), 0o700);
    writeFileSync(file, text, { mode: 0o600 });
  } catch {
    // The hook must not fail.
  }
}

async function inputOf({ terminal: { stdin } }: CliContext): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  if (stdin.isTerminal) return "";
  for await (const chunk of stdin) {
    size += chunk.length;
    if (size > INPUT_BYTES_MAX) return "";
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** The answer as agents besides Claude Code take it: JSON, which Claude Code does not need. */
function hookAnswer(agent: string, event: string, additionalContext: string): string {
  const isPrompt = event === "UserPromptSubmit";
  const hookEventName = agent === "gemini" && isPrompt ? "BeforeAgent" : event;
  return `${JSON.stringify({ hookSpecificOutput: { hookEventName, additionalContext } })}\n`;
}

/** The agent ends a hook after ten seconds, and one has been half of that. */
const SHORT_WAIT_MS = 2_000;

const ANSWERED = new Set(["SessionStart", "UserPromptSubmit", "PreCompact"]);

/** The text for the model, if the event has one. */
async function answerTo(
  event: string,
  env: Environment,
  input: HookInput,
): Promise<string | undefined> {
  if (!ANSWERED.has(event)) return undefined;
  const hooks = hooksFolder(env);
  const isCompacted = event === "SessionStart" && input.source === "compact";
  if (hooks && event === "PreCompact") wantImport(hooks, input);
  const isImported = hooks && isCompacted && (await importEnded(hooks, input));
  const workspace = await workspaceFor(env, input);
  // Loading the service would only cost time.
  if (!hasStore(workspace)) return undefined;
  if (isImported && lacksPrompt(hooks, input)) {
    await (await importing()).importTranscript(workspace, input, env);
    // Another process may be at it.
    await importEnded(hooks, input, SHORT_WAIT_MS);
  }
  if (event === "UserPromptSubmit") return await recordsFor(workspace, input, env);
  if (isCompacted) windowLeft(input, env);
  if (event === "SessionStart" && !isCompacted) {
    return await rulesFor(workspace, input);
  }
  const lines = await readNextWindow(workspace, input.importedId, linesOf);
  if (!lines) return undefined;
  const record = event === "PreCompact" ? recordForSummary : recordForNextWindow;
  return record(lines, roomInWindow(input, env));
}

/** Loaded lazily: an agent waits for its hooks, and they hardly ever need it. */
const linesOf = async () => (await import("../../coding-agents/carry-over.ts")).linesOf;

/** It brings the agent and all schemas, which the start of a session does not need. */
const importing = () => import("./import-hook.ts");

/** The standing rules: of a project's store all, and of the user-wide store those that were said in this folder. */
async function rulesFor(workspace: Workspace, { cwd }: HookInput) {
  const { config, folder } = workspace;
  if (!config.get("knowledge.enabled") || !config.get("capabilities.memory_store"))
    return undefined;
  const isUserWide = isHome(folder, process.env) && folder !== cwd;
  const stored =
    (await readRules(workspace, isUserWide ? cwd : undefined)) ??
    (await (
      await importing()
    ).withServiceOf(workspace, "existing", async (service) => {
      // The service learns from new messages first.
      const rules = await service.listKnowledge({ kind: "rule" });
      const here = await service.list({ project: cwd, limit: 1000 });
      return { rules, sessions: here.map(({ sessionId }) => sessionId) };
    }));
  // Most of what it loads finds credentials.
  if (stored.rules.length === 0) return undefined;
  const { rulesOf } = await import("../../coding-agents/rules-of.ts");
  const sessions = isUserWide ? new Set(stored.sessions) : undefined;
  return rulesOf(stored.rules, config.get("knowledge.max_rules"), sessions);
}

/**
 * What memory has about a prompt: of other sessions, and of this one what its compactions took away. A prompt that no person
 * gave, and a command of the agent, are about nothing.
 */
async function recordsFor(
  workspace: Workspace,
  input: HookInput,
  env: Environment,
): Promise<string | undefined> {
  const { sessionId, importedId, cwd, prompt, source, windowFrom } = input;
  const { roomTokens = Number.POSITIVE_INFINITY } = input;
  const folder = hooksFolder(env);
  if (!folder || prompt.startsWith("/") || !TYPED.has(source)) return undefined;
  const before = readTold(folder, sessionId);
  // Another beginning of the window: a compaction has taken what was told.
  const isCut = windowFrom !== "" && windowFrom !== before.left;
  const isAnew = isCut || input.othersLeave;
  const now = isAnew ? { ...before, begun: false, told: [] } : before;
  const known = isCut ? { ...now, left: windowFrom } : now;
  const told = new Set(known.told);
  const { left = "" } = known;
  const isUserWide = isHome(workspace.folder, env) && workspace.folder !== cwd;
  const { recallForPrompt } = await import("../../app/recall-for-prompt.ts");
  const room = roomInWindow(input, env);
  const found = await recallForPrompt(workspace, {
    prompt,
    sessionId: importedId,
    ...(isUserWide ? { project: cwd } : {}),
    bar: known.bar,
    // A window with the usual room takes what the setting says. A token has about four characters.
    tokensMax: Math.min(roomTokens, room < CHARACTERS_MAX ? room / 4 : Number.POSITIVE_INFINITY),
    isFirst: !known.begun,
    left,
    isNew: ({ id, sessionId: of, time = "" }) =>
      !told.has(id) && (of !== importedId || (time !== "" && time < left)),
  });
  if (!found) return undefined;
  const { text, ids, bar } = found;
  const isSame = known.begun && ids.length === 0 && bar === known.bar;
  const next = { ...known, begun: true, told: [...known.told, ...ids], ...given({ bar }) };
  if (!isSame) writeTold(folder, sessionId, next);
  return text === "" ? undefined : `<${RECORDS}>\n${unclosable(RECORDS, text)}\n</${RECORDS}>\n`;
}

/** The tag around records. Texts in it are not imported again. */
const RECORDS = "rkat-memory";

/** Claude Code's names for a prompt that a person or a program gave. Older versions have none. */
const TYPED = new Set(["", "user", "sdk"]);

/** A compaction took the window of a session away: what it was told may come back. */
function windowLeft({ sessionId }: HookInput, env: Environment): void {
  const folder = hooksFolder(env);
  if (!folder) return;
  writeTold(folder, sessionId, { told: [], left: new Date().toISOString() });
}

/** The store that the session is imported into. A store of a project counts only if you trust it. */
async function workspaceFor(env: Environment, { cwd }: HookInput): Promise<Workspace> {
  return openWorkspace({ cwd, env }, (await folderForImport(cwd, env)) ?? requireHome(env));
}

/** `rkat hook`, behind flags such as `--dir`. Without them it runs at once. */
export function hookCommand(program: Command, context: CliContext): void {
  program
    .command("hook", { hidden: true })
    .argument("[event]")
    .option("--now")
    .option("--agent <name>")
    .allowUnknownOption()
    .allowExcessArguments()
    .action((event: string = "", { agent }: { agent?: string }) => runHook(event, agent, context));
}
