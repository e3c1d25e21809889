import { statSync } from "node:fs";
import { openImport } from "../../app/open-import.ts";
import { openProjectService } from "../../app/open-project-service.ts";
import { type StoreAccess, useOpened } from "../../app/opened.ts";
import { keepNextWindow, noteTask, readLatest } from "../../app/read-stored.ts";
import {
  INSTRUCTIONS_NOTE,
  instructionsNote,
  LOST_NOTE,
  linesOf,
  lostNames,
  lostNote,
} from "../../coding-agents/carry-over.ts";
import {
  type HookInput,
  hooksFolder,
  noteImported,
  oneAtATime,
} from "../../coding-agents/hook-input.ts";
import { requireHome } from "../../config/config-places.ts";
import type { Environment } from "../../config/config-source.ts";
import type { Workspace } from "../../config/workspace.ts";
import { SessionError } from "../../core/errors.ts";
import type { SessionService } from "../../core/session-service.ts";

/**
 * Takes in what is new of the transcript. After a compaction it notes what the summary lost, where the
 * next start of the session finds it.
 */
export async function importTranscript(
  workspace: Workspace,
  input: HookInput,
  env: Environment,
): Promise<void> {
  const { importedId: sessionId, sessionId: name, transcript, summary } = input;
  if (!transcript) return;
  const folder = hooksFolder(env) ?? requireHome(env);
  await oneAtATime({ folder, name, waits: summary !== undefined }, async () => {
    const importer = await openImport(workspace, {
      isTrial: false,
      isChosen: true,
    });
    const { size } = statSync(transcript.path);
    await useOpened(importer, ({ run }) => run({ agent: "claude-code", ...transcript }));
    noteImported(folder, name, size);
  });
  await withServiceOf(workspace, "create", async (service) => {
    // The project learns from the new messages now, so that no start has to wait for it.
    if (workspace.config.get("knowledge.enabled")) await service.listKnowledge({ limit: 1 });
    if (summary === undefined) return;
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
  await keepNextWindow(workspace, sessionId, async () => linesOf);
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

export async function withServiceOf<Result>(
  workspace: Workspace,
  access: StoreAccess,
  work: (service: SessionService) => Promise<Result>,
): Promise<Result> {
  return await useOpened(await openProjectService(workspace, access), work);
}
