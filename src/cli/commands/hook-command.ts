import { rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Command } from "commander";
import { openProjectService } from "../../app/open-project-service.ts";
import { type StoreAccess, useOpened } from "../../app/opened.ts";
import {
  keepNextWindow,
  noteTask,
  readLatest,
  readNextWindow,
  readRules,
} from "../../app/read-stored.ts";
import { type HookInput, oneAtATime, readHookInput } from "../../coding-agents/hook-input.ts";
import { readTold, writeTold } from "../../coding-agents/told-records.ts";
import { recordForNextWindow, recordForSummary } from "../../coding-agents/window-record.ts";
import { isHome, ownFolder, requireHome } from "../../config/config-places.ts";
import {
  folderForImport,
  hasStore,
  openWorkspace,
  type Workspace,
} from "../../config/workspace.ts";
import { causeTexts, errorText, SessionError } from "../../core/errors.ts";
import { given } from "../../core/fields.ts";
import type { SessionService } from "../../core/session-service.ts";
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
 */
export function hookCommand(program: Command, context: CliContext): void {
  const { terminal } = context;
  program
    .command("hook", { hidden: true })
    .argument("[event]")
    // Set by `bin/rkat.js` in the process that it starts for the work.
    .option("--now")
    .option("--agent <name>")
    .allowUnknownOption()
    .allowExcessArguments()
    .action(async (event: string = "", { agent }: { agent?: string }) => {
      const failed = failedFile(terminal.env);
      try {
        const input = readHookInput(await inputOf(context), terminal.env, agent);
        if (!input) return;
        if (event === "import") {
          await importTranscript(context, input);
          if (failed !== undefined) rmSync(failed, { force: true });
        } else {
          const answer = await answerTo(event, context, input);
          if (answer)
            await terminal.stdout.write(agent ? hookAnswer(agent, event, answer) : answer);
        }
      } catch (thrown) {
        const error = SessionError.from(thrown);
        context.warnings.end(...causeTexts(error));
        const text = oneLine(`rkat: ${errorText(error)}`, 300);
        await terminal.stderr.write(`${text}\n`);
        // The output of an import's process is not seen. `rkat doctor` shows the failure instead.
        if (event === "import" && failed !== undefined) keep(failed, text);
      }
    });
}

/** The file with the last failure of an import, for `rkat doctor`. Undefined without a home. */
export function failedFile(env: CliContext["terminal"]["env"]): string | undefined {
  const folder = hooksFolder(env);
  return folder && join(folder, "failed.txt");
}

type Environment = CliContext["terminal"]["env"];

function hooksFolder(env: Environment): string | undefined {
  const own = ownFolder(env);
  return own && join(own, "hooks");
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

const ANSWERED = new Set(["SessionStart", "UserPromptSubmit", "PreCompact"]);

/** The text for the model, if the event has one. */
async function answerTo(
  event: string,
  context: CliContext,
  input: HookInput,
): Promise<string | undefined> {
  if (!ANSWERED.has(event)) return undefined;
  const workspace = await workspaceFor(context, input);
  // Loading the service would only cost time.
  if (!hasStore(workspace)) return undefined;
  const { env } = context.terminal;
  if (event === "UserPromptSubmit") return await recordsFor(workspace, input, env);
  if (event === "SessionStart" && input.source === "compact") windowLeft(input, env);
  if (event === "SessionStart" && input.source !== "compact") {
    return await rulesFor(workspace, input);
  }
  const lines = await readNextWindow(workspace, input.importedId, linesOf);
  if (!lines) return undefined;
  return event === "PreCompact" ? recordForSummary(lines) : recordForNextWindow(lines);
}

/** Loaded lazily: an agent waits for its hooks, and they hardly ever need it. */
const carryOver = () => import("../../coding-agents/carry-over.ts");
const linesOf = async () => (await carryOver()).linesOf;

/** It brings the agent and all schemas, which the start of a session does not need. */
const loadImport = () => import("../../app/open-import.ts");

/** The standing rules: of a project's store all, and of the user-wide store those that were said in this folder. */
async function rulesFor(workspace: Workspace, { cwd }: HookInput) {
  const { config, folder } = workspace;
  if (!config.get("knowledge.enabled") || !config.get("capabilities.memory_store"))
    return undefined;
  const stored =
    (await readRules(workspace, cwd)) ??
    (await withServiceOf(workspace, "existing", async (service) => {
      // The service learns from new messages first.
      const rules = await service.listKnowledge({ kind: "rule" });
      const here = await service.list({ project: cwd, limit: 1000 });
      return { rules, sessions: here.map(({ sessionId }) => sessionId) };
    }));
  // Most of what it loads finds credentials.
  if (stored.rules.length === 0) return undefined;
  const { rulesOf } = await import("../../coding-agents/rules-of.ts");
  const isUserWide = isHome(folder, process.env) && folder !== cwd;
  const sessions = isUserWide ? new Set(stored.sessions) : undefined;
  return rulesOf(stored.rules, config.get("knowledge.max_rules"), sessions);
}

/**
 * What memory has about a prompt: of other sessions, and of this one what its compactions took away. A prompt that no person
 * gave, and a command of the agent, are about nothing.
 */
async function recordsFor(
  workspace: Workspace,
  { sessionId, importedId, cwd, prompt, source, windowFrom }: HookInput,
  env: Environment,
): Promise<string | undefined> {
  const folder = hooksFolder(env);
  if (!folder || prompt.startsWith("/") || !TYPED.has(source)) return undefined;
  const before = readTold(folder, sessionId);
  // Another beginning of the window: a compaction has taken what was told.
  const isCut = windowFrom !== "" && windowFrom !== before.left;
  const known = isCut ? { ...before, begun: false, told: [], left: windowFrom } : before;
  const told = new Set(known.told);
  const { left = "" } = known;
  const isUserWide = isHome(workspace.folder, env) && workspace.folder !== cwd;
  const { recallForPrompt } = await import("../../app/recall-for-prompt.ts");
  const found = await recallForPrompt(workspace, {
    prompt,
    sessionId: importedId,
    ...(isUserWide ? { project: cwd } : {}),
    bar: known.bar,
    isFirst: !known.begun,
    left,
    isNew: ({ id, sessionId: of, time = "" }) =>
      !told.has(id) && (of !== importedId || (time !== "" && time < left)),
  });
  if (!found) return undefined;
  const { text, ids, bar } = found;
  const isSame = known.begun && ids.length === 0 && bar === known.bar;
  const now = { ...known, begun: true, told: [...known.told, ...ids], ...given({ bar }) };
  if (!isSame) writeTold(folder, sessionId, now);
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

/**
 * Takes in what is new of the transcript. After a compaction it notes what the summary lost, where the
 * next start of the session finds it.
 */
async function importTranscript(context: CliContext, input: HookInput): Promise<void> {
  const { importedId: sessionId, sessionId: name, transcript, summary } = input;
  if (!transcript) return;
  const workspace = await workspaceFor(context, input);
  const { env } = context.terminal;
  const folder = hooksFolder(env) ?? requireHome(env);
  await oneAtATime({ folder, name, waits: summary !== undefined }, async () => {
    const { openImport } = await loadImport();
    const importer = await openImport(workspace, {
      isTrial: false,
      isChosen: true,
    });
    await useOpened(importer, ({ run }) => run({ agent: "claude-code", ...transcript }));
  });
  await withServiceOf(workspace, "create", async (service) => {
    // The project learns from the new messages now, so that no start has to wait for it.
    if (workspace.config.get("knowledge.enabled")) await service.listKnowledge({ limit: 1 });
    if (summary === undefined) return;
    const { INSTRUCTIONS_NOTE, instructionsNote, LOST_NOTE, lostNames, lostNote } =
      await carryOver();
    const latest = await readLatest(workspace, sessionId);
    // The first time, earlier messages have no note yet. Afterwards it may have no instruction to note.
    const { scratchpad } = latest?.task ?? { scratchpad: {} };
    const isNoted = [INSTRUCTIONS_NOTE, LOST_NOTE].some((name) => name in scratchpad);
    const session = isNoted ? latest : await sessionOf(service, input);
    if (!session) return;
    const notes = {
      [LOST_NOTE]: lostNote(lostNames(session.history, summary)),
      [INSTRUCTIONS_NOTE]: instructionsNote(session),
    };
    if (await noteTask(workspace, sessionId, notes)) return;
    await service.updateTask({ sessionId, notes });
  });
  await keepNextWindow(workspace, sessionId, linesOf);
}

/** The session, if its transcript was imported. */
async function sessionOf(service: SessionService, { importedId: sessionId }: HookInput) {
  try {
    return await service.read({ sessionId });
  } catch (error) {
    if (error instanceof SessionError && error.code === "SESSION_NOT_FOUND") return undefined;
    throw error;
  }
}

/** The store that the session is imported into. A store of a project counts only if you trust it. */
async function workspaceFor({ terminal }: CliContext, { cwd }: HookInput): Promise<Workspace> {
  const { env } = terminal;
  return openWorkspace({ cwd, env }, (await folderForImport(cwd, env)) ?? requireHome(env));
}

async function withServiceOf<Result>(
  workspace: Workspace,
  access: StoreAccess,
  work: (service: SessionService) => Promise<Result>,
): Promise<Result> {
  return await useOpened(await openProjectService(workspace, access), work);
}
