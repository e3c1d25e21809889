import type { Command } from "commander";
import { projectSessions, repairSessions } from "../../app/project-sessions.ts";
import { hasCapability } from "../../config/workspace.ts";
import { ERRORS } from "../../core/errors.ts";
import type { CliContext } from "../cli-context.ts";
import { plural } from "../render/amounts.ts";
import { printable } from "../render/printable.ts";
import { printJson } from "../terminal/print.ts";
import { ProgressLine } from "../terminal/progress-line.ts";
import { withMemory, workspaceOf } from "./with-service.ts";

/** `rkat repair`: makes everything again that comes from the log, and events readable that are not. It deletes nothing of the log. */
export function repairCommand(program: Command, context: CliContext): void {
  const { terminal } = context;
  const command = program
    .command("repair")
    .description(
      "make again what comes from the log: unreadable events, memory, the files of sessions",
    )
    .option("--json", "for scripts")
    .action(({ json }: { json?: true }) =>
      terminal.interruptible(async (signal) => {
        const progress = new ProgressLine(terminal.stderr);
        progress.show("repairing");
        try {
          const done = await repaired(context, command, signal);
          progress.clear();
          if (json) return await printJson(terminal.stdout, done);
          await terminal.stdout.write(said(done));
        } catch (error) {
          if (!signal.aborted) throw error;
          progress.clear();
          context.exitCode = ERRORS.TURN_INTERRUPTED.exitCode;
          await terminal.stderr.write("Stopped. `rkat repair` goes on where it was.\n");
        } finally {
          progress.clear();
        }
      }),
    );
}

interface Repaired {
  readonly events: readonly { session_id: string; seq: number; type: string }[];
  /** Not there without the memory-store capability. */
  readonly memory?: { readonly entries: number; readonly mended: readonly string[] };
  /** How many have files. Sessions of users have none. */
  readonly sessions?: number;
}

async function repaired(
  context: CliContext,
  command: Command,
  signal: AbortSignal,
): Promise<Repaired> {
  const workspace = await workspaceOf(context, command);
  // Events first: the rest is made from them.
  const events = (await repairSessions(workspace)).map(({ sessionId, seq, type }) => ({
    session_id: sessionId,
    seq,
    type,
  }));
  signal.throwIfAborted();
  let memory: Repaired["memory"];
  if (hasCapability(workspace.config, "memory-store")) {
    await withMemory(context, command, async (operations) => {
      const { mended } = await operations.reindex({ signal });
      const { entries } = await operations.memoryStats({});
      memory = { entries, mended };
    });
  }
  signal.throwIfAborted();
  if (workspace.user !== undefined) return { events, ...(memory ? { memory } : {}) };
  const { sessions } = await projectSessions(workspace);
  return { events, ...(memory ? { memory } : {}), sessions };
}

function said({ events, memory, sessions }: Repaired): string {
  const lines = events.map(({ session_id, seq, type }) => {
    const what = type === "event_lost" ? "nothing of it could be kept" : `is ${type} again`;
    return `Event ${seq} of session ${session_id}: ${what}.`;
  });
  for (const problem of memory?.mended ?? []) lines.push(`Mended: ${printable(problem)}`);
  lines.push("Every event can be read.");
  if (memory)
    lines.push(`Memory has what the log has: ${plural(memory.entries, "entry", "entries")}.`);
  if (sessions !== undefined)
    lines.push(`Wrote the files of ${plural(sessions, "session")} again.`);
  lines.push("What the project learned stays as it is, because the log does not have all of it.");
  return `${lines.join("\n")}\n`;
}
