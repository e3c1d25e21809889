import { basename } from "node:path";
import type { Command } from "commander";
import { text, wholeNumber } from "../../../config/setting-kind.ts";
import { ERRORS } from "../../../core/errors.ts";
import { given } from "../../../core/fields.ts";
import { Replay, type ReplayWatcher } from "../../../replay/replay.ts";
import { readTranscript } from "../../../transcripts/read-transcript.ts";
import type { CliContext } from "../cli-context.ts";
import { oneLine } from "../render/printable.ts";
import { renderEvent } from "../render/render-event.ts";
import { renderReplay } from "../render/render-replay.ts";
import { styleFor } from "../render/style.ts";
import { inputChunks } from "../terminal/input-file.ts";
import { printJson } from "../terminal/print.ts";
import { ProgressLine } from "../terminal/progress-line.ts";
import { flagOf, labelFlag } from "./flags.ts";
import { type CompactionFlags, compactionOf } from "./run-flags.ts";
import { useOpened, workspaceOf } from "./with-service.ts";

interface ReplayFlags extends CompactionFlags {
  readonly model?: string;
  readonly label?: Readonly<Record<string, string>>;
  readonly verbose?: true;
  readonly json?: true;
}

const PROMPT_COLUMNS = 100;

const count = flagOf(wholeNumber);

/** `rkat replay`. Needs no network, unless `--model` names a model for the summaries. */
export function replayCommand(program: Command, context: CliContext): void {
  const { terminal, engine } = context;
  const style = styleFor(terminal.stdout, terminal.env);
  const command = program
    .command("replay")
    .description("replay a recorded conversation into a new session, without its model")
    .argument("<file>", 'one {"role","content"} per line, or an events.jsonl of rkat; - for stdin')
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
    .action(async (file: string, flags: ReplayFlags) => {
      const name = file === "-" ? "stdin" : basename(file);
      const replay = new Replay(await readTranscript(inputChunks(file, terminal), name));
      const workspace = await workspaceOf(context, command);
      const opened = await engine.openReplay(workspace, replay, given({ summarizer: flags.model }));
      await useOpened(opened, async ({ service, memory }) => {
        const progress = new ProgressLine(terminal.stderr);
        const options = { memory, labels: flags.label, compaction: compactionOf(flags) };
        const watch = watcher(context, progress, flags.verbose === true);
        const report = await terminal
          .interruptible((signal) => replay.run(service, { signal, watch, ...given(options) }))
          .finally(() => progress.clear());
        if (flags.json) await printJson(terminal.stdout, report);
        else await terminal.stdout.write(renderReplay(report, style));
        if (report.interrupted) context.exitCode = ERRORS.TURN_INTERRUPTED.exitCode;
      });
    });
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
