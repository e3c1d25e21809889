import { SessionError } from "../../../core/errors.ts";
import { newId } from "../../../core/ids.ts";
import type { OpenMemory } from "../../../core/operations/memory.ts";
import type { SessionService } from "../../../core/session-service.ts";
import type { CliContext } from "../../cli-context.ts";
import { renderLag } from "../../render/render-memory.ts";
import { ProgressLine } from "../../terminal/progress-line.ts";

/**
 * Waits until memory has what the log has, however long that takes: what it lacks would not be found, and would stay.
 *
 * @throws SessionError why memory does not get it: a full disk, for example, or a writer that holds events back
 */
export async function waitForMemory(
  { terminal, rkat }: Pick<CliContext, "terminal" | "rkat">,
  service: Pick<SessionService, "forgetMemory"> & Pick<OpenMemory, "memoryStats">,
): Promise<void> {
  const progress = new ProgressLine(terminal.stderr);
  progress.show("waiting until memory has all of the log");
  const lag = async () => renderLag((await service.memoryStats({})).behind, rkat).trimEnd();
  try {
    // Forgetting waits for everything. Nothing has a new id, so it forgets nothing.
    await service.forgetMemory({ ids: [newId()] });
    const lacks = await lag();
    if (lacks === "") return;
    throw new SessionError("NOT_POSSIBLE", {
      message: `Nothing was forgotten. ${lacks}`,
      hint: "Run the command again when it has caught up.",
    });
  } catch (thrown) {
    const { code, message, hint } = SessionError.from(thrown);
    if (code !== "SESSION_STORE_ERROR") throw thrown;
    const told = ["Nothing was forgotten.", await lag(), message];
    throw new SessionError(code, { message: told.filter(Boolean).join(" "), hint, cause: thrown });
  } finally {
    progress.clear();
  }
}
