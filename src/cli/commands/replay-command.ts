import { existsSync, statSync } from "node:fs";
import { basename, resolve } from "node:path";
import type { Command } from "commander";
import { openReplay } from "../../app/open-project-service.ts";
import { useOpened } from "../../app/opened.ts";
import { text, wholeNumber } from "../../config/setting-kind.ts";
import { ERRORS, SessionError } from "../../core/errors.ts";
import { given } from "../../core/fields.ts";
import { diskFile } from "../../import/disk-file.ts";
import { recogniseFile } from "../../import/find-transcripts.ts";
import { readSession } from "../../import/read-sessions.ts";
import { Replay, type ReplayWatcher } from "../../replay/replay.ts";
import { compactedNow, recordedCompactions } from "../../replay/replayed-session.ts";
import { IMPORT_FORMATS } from "../../transcripts/import-formats.ts";
import { AGENTS, type Recording } from "../../transcripts/imported.ts";
import { hasChatLines, readTranscript } from "../../transcripts/read-transcript.ts";
import type { CliContext } from "../cli-context.ts";
import { oneLine } from "../render/printable.ts";
import { renderEvent } from "../render/render-event.ts";
import { renderReplay } from "../render/render-replay.ts";
import { styleFor } from "../render/style.ts";
import { inputChunks } from "../terminal/input-file.ts";
import { printJson } from "../terminal/print.ts";
import { ProgressLine } from "../terminal/progress-line.ts";
import { longestSession } from "./find-transcript.ts";
import { flagOf, labelFlag } from "./flags.ts";
import { type CompactionFlags, compactionOf } from "./run-flags.ts";
import { workspaceOf } from "./with-service.ts";

interface ReplayFlags extends CompactionFlags {
  readonly model?: string;
  readonly label?: Readonly<Record<string, string>>;
  readonly verbose?: true;
  readonly json?: true;
  /** True without the name of an agent. */
  readonly longest?: string | true;
}

const PROMPT_COLUMNS = 100;

const HELP = `
A transcript of an agent is only looked at: nothing is stored. \`rkat import\` stores it.
`;

const count = flagOf(wholeNumber);

/** `rkat replay`. Needs no network, unless `--model` names a model for the summaries. */
export function replayCommand(program: Command, context: CliContext): void {
  const { terminal } = context;
  const style = styleFor(terminal.stdout, terminal.env);
  const command = program
    .command("replay")
    .description("replay a recorded conversation into a new session, without its model")
    .argument(
      "[file]",
      'a transcript of any agent, a folder of them, {"role","content"} lines, or -',
    )
    .option("--longest [agent]", "your longest session with an agent on this machine")
    .option("--compact-threshold <n>", "compact the history at this many tokens", count)
    .option("--recent-turn-budget <n>", "turns that a compaction keeps", count)
    .option("--max-summary-tokens <n>", "limit of tokens of a summary", count)
    .option(
      "--min-turns-between-compactions <n>",
      "at least this many model calls between compactions",
      count,
    )
    .option(
      "-m, --model <provider/model>",
      "the model that writes summaries (default: none)",
      flagOf(text),
    )
    .option("-l, --label <name=value>", "label the session (repeatable)", labelFlag)
    .option("-v, --verbose", "print events to stderr")
    .option("--json", "for scripts")
    .addHelpText("after", HELP)
    .action(async (file: string | undefined, flags: ReplayFlags) => {
      const { recording, isTrial } = await recordingOf(file, flags, context);
      const replay = new Replay(recording);
      const workspace = await workspaceOf(context, command);
      const opened = await openReplay(workspace, replay, {
        isTrial,
        ...given({ summarizer: flags.model }),
      });
      await useOpened(opened, async ({ service, memory }) => {
        const progress = new ProgressLine(terminal.stderr);
        const options = {
          memory: isTrial ? undefined : memory,
          labels: flags.label,
          compaction: compactionOf(flags),
        };
        const watch = watcher(context, progress, flags.verbose === true);
        const replayed = await terminal
          .interruptible((signal) => replay.run(service, { signal, watch, ...given(options) }))
          .finally(() => progress.clear());
        const recorded = isTrial ? await recordedCompactions(recording.messages) : undefined;
        const isWhole = recorded?.length === 0 && replayed.compactions.length === 0;
        const compacted_now =
          isWhole && replayed.turns > 1 ? await compactedNow(recording.messages) : undefined;
        const report = { ...replayed, ...given({ recorded, compacted_now }) };
        if (flags.json) await printJson(terminal.stdout, report);
        else await terminal.stdout.write(renderReplay(report, style));
        if (report.interrupted) context.exitCode = ERRORS.TURN_INTERRUPTED.exitCode;
      });
    });
}

/**
 * The recording to replay. A plain recording becomes a session of the project. A transcript of an agent is only
 * looked at, because `rkat import` is the way to store it.
 */
async function recordingOf(
  file: string | undefined,
  { longest }: ReplayFlags,
  { terminal }: CliContext,
): Promise<{ readonly recording: Recording; readonly isTrial: boolean }> {
  if ((file === undefined) === (longest === undefined)) {
    throw new SessionError("INVALID_PARAMS", {
      message: "A replay needs either a file or --longest.",
      hint: "Name a transcript, or run `rkat replay --longest`.",
    });
  }
  const path = file === undefined || file === "-" ? undefined : resolve(terminal.cwd, file);
  const agent = AGENTS.find((name) => name === longest);
  if (typeof longest === "string" && !agent) {
    throw new SessionError("INVALID_PARAMS", {
      message: `"${longest}" is not an agent.`,
      hint: `Name one of ${AGENTS.join(", ")}.`,
    });
  }
  if (file !== undefined && (path === undefined || !(await isTranscript(path)))) {
    const name = file === "-" ? "stdin" : basename(file);
    return { recording: await readTranscript(inputChunks(file, terminal), name), isTrial: false };
  }
  const progress = new ProgressLine(terminal.stderr);
  progress.show("looking for the longest session");
  try {
    const found = await longestSession(given({ path, agent }), terminal);
    const { messages } = await readSession(found);
    const name = `${found.session.agent} ${found.session.nativeId}`;
    return { recording: { name, messages }, isTrial: true };
  } finally {
    progress.clear();
  }
}

/** Whether a path is a folder, or a file of an agent. Plain chat lines and rkat's own logs are recordings. */
async function isTranscript(path: string): Promise<boolean> {
  if (!existsSync(path)) return false;
  const file = diskFile(path, () => []);
  if (!file) return statSync(path).isDirectory();
  const format = await recogniseFile(file, IMPORT_FORMATS);
  if (format?.agent === "chat") return !(await hasChatLines(file));
  return format !== undefined && format.agent !== "rkat";
}

/** Shows the progress of a replay and, when verbose, its events. */
function watcher(
  { terminal: { stderr, env } }: CliContext,
  progress: ProgressLine,
  verbose: boolean,
): ReplayWatcher {
  const style = styleFor(stderr, env);
  let happened = "";
  return {
    onEvent({ payload }) {
      if (!verbose) return;
      if (payload.type === "run_started")
        happened += `\n▸ ${oneLine(payload.prompt, PROMPT_COLUMNS)}`;
      happened += renderEvent(payload);
    },
    async onTurn(session, turns) {
      if (happened !== "") {
        progress.clear();
        await stderr.write(style.dim(happened));
        happened = "";
      }
      progress.show(`replaying, turn ${session.turns} of ${turns}`);
    },
  };
}
