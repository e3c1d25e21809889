import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Command } from "commander";
import { type HookInput, readHookInput } from "../../../coding-agents/hook-input.ts";
import { oneAtATime } from "../../../coding-agents/one-at-a-time.ts";
import { rulesOf } from "../../../coding-agents/rules-of.ts";
import { isHome, userConfigFile } from "../../../config/config-places.ts";
import {
  folderForImport,
  hasStore,
  openWorkspace,
  type Workspace,
} from "../../../config/workspace.ts";
import { errorText, SessionError } from "../../../core/errors.ts";
import type { SessionService } from "../../../core/session-service.ts";
import type { CliContext, StoreAccess } from "../cli-context.ts";
import { oneLine } from "../render/printable.ts";
import { useOpened } from "./with-service.ts";

const INPUT_BYTES_MAX = 8 * 1024 * 1024;

/**
 * `rkat hook`: what a coding agent runs by itself at the events of a session. `rkat install` puts it into
 * the agent's settings.
 *
 * A hook never stops the agent. Whatever happens, the exit code is 0: for Claude Code, 2 means to
 * block what it was about to do.
 */
export function hookCommand(program: Command, context: CliContext): void {
  const { terminal } = context;
  program
    .command("hook", { hidden: true })
    .argument("[event]")
    // Set by `bin/rkat.js` in the process that it starts for the work.
    .option("--now")
    .allowUnknownOption()
    .allowExcessArguments()
    .action(async (event = "") => {
      const failed = failedFile(terminal.env);
      try {
        const input = readHookInput(await inputOf(context), terminal.env);
        if (!input) return;
        if (event === "import") {
          await importTranscript(context, input);
          rmSync(failed, { force: true });
        } else await terminal.stdout.write((await answerTo(event, context, input)) ?? "");
      } catch (error) {
        const text = oneLine(`rkat: ${errorText(SessionError.from(error))}`, 300);
        await terminal.stderr.write(`${text}\n`);
        // No one sees what the process of an import writes. `rkat doctor` shows this.
        if (event === "import") keep(failed, text);
      }
    });
}

/** Where the last failure of an import is kept for `rkat doctor`. */
export function failedFile(env: CliContext["terminal"]["env"]): string {
  return join(hooksFolder(env), "failed.txt");
}

function hooksFolder(env: CliContext["terminal"]["env"]): string {
  return join(dirname(userConfigFile(env)), "hooks");
}

function keep(file: string, text: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
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

/** The text for the model, if the event has one. */
async function answerTo(
  event: string,
  context: CliContext,
  input: HookInput,
): Promise<string | undefined> {
  if (event !== "SessionStart" && event !== "PreCompact") return undefined;
  const workspace = await workspaceFor(context, input);
  // Loading the service would only cost time.
  if (!hasStore(workspace)) return undefined;
  if (event === "SessionStart" && input.source !== "compact") {
    return await rulesFor(context, workspace, input);
  }
  const { recordForNextWindow, recordForSummary } = await carryOver();
  const session = await context.engine.readLatest(workspace, input.importedId);
  if (event === "PreCompact") return session && recordForSummary(session);
  return session && recordForNextWindow(session);
}

/** Loaded lazily, because every start of a session waits for the rules, and they do not need it. */
const carryOver = () => import("../../../coding-agents/carry-over.ts");

/** The standing rules: of a project's store all, and of the user-wide store those that were said in this folder. */
async function rulesFor(context: CliContext, workspace: Workspace, { cwd }: HookInput) {
  const { config, folder } = workspace;
  if (!config.get("knowledge.enabled") || !config.get("capabilities.memory_store"))
    return undefined;
  const stored =
    (await context.engine.readRules(workspace, cwd)) ??
    (await withServiceOf(context, workspace, "existing", async (service) => {
      // The service learns what is new first.
      const rules = await service.listKnowledge({ kind: "rule" });
      const here = await service.list({ project: cwd, limit: 1000 });
      return { rules, sessions: here.map(({ sessionId }) => sessionId) };
    }));
  const isUserWide = isHome(folder, process.env) && folder !== cwd;
  const sessions = isUserWide ? new Set(stored.sessions) : undefined;
  return rulesOf(stored.rules, config.get("knowledge.max_rules"), sessions);
}

/**
 * Takes in what is new of the transcript. After a compaction it notes what the summary lost, where the
 * next start of the session finds it.
 */
async function importTranscript(context: CliContext, input: HookInput): Promise<void> {
  const { importedId: sessionId, sessionId: name, transcript, summary } = input;
  if (!transcript) return;
  const workspace = await workspaceFor(context, input);
  const folder = hooksFolder(context.terminal.env);
  await oneAtATime({ folder, name, waits: summary !== undefined }, async () => {
    const importer = await context.engine.openImport(workspace, {
      isTrial: false,
      isChosen: true,
    });
    await useOpened(importer, ({ run }) => run({ agent: "claude-code", ...transcript }));
  });
  await withServiceOf(context, workspace, "create", async (service) => {
    // What was said teaches the project now, so that no start has to wait for it.
    if (workspace.config.get("knowledge.enabled")) await service.listKnowledge({ limit: 1 });
    if (summary === undefined) return;
    const { INSTRUCTIONS_NOTE, instructionsNote, LOST_NOTE, lostNames, lostNote } =
      await carryOver();
    const latest = await context.engine.readLatest(workspace, sessionId);
    // The first time, what was said before has no note yet. Afterwards it may have no instruction to note.
    const { scratchpad } = latest?.task ?? { scratchpad: {} };
    const isNoted = [INSTRUCTIONS_NOTE, LOST_NOTE].some((name) => name in scratchpad);
    const session = isNoted ? latest : await sessionOf(service, input);
    if (!session) return;
    const notes = {
      [LOST_NOTE]: lostNote(lostNames(session.history, summary)),
      [INSTRUCTIONS_NOTE]: instructionsNote(session),
    };
    if (await context.engine.noteTask(workspace, sessionId, notes)) return;
    await service.updateTask({ sessionId, notes });
  });
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
function workspaceFor({ terminal }: CliContext, { cwd }: HookInput): Promise<Workspace> {
  const { env } = terminal;
  return openWorkspace({ cwd, env }, folderForImport(cwd, env));
}

async function withServiceOf<Result>(
  { engine }: CliContext,
  workspace: Workspace,
  access: StoreAccess,
  work: (service: SessionService) => Promise<Result>,
): Promise<Result> {
  return await useOpened(await engine.openService(workspace, access), work);
}
