import { basename } from "node:path";
import type { Command } from "commander";
import { text, wholeNumber } from "../../../config/setting-kind.ts";
import { ERRORS } from "../../../core/errors.ts";
import type { CompactionSettings } from "../../../core/requests.ts";
import { Replay, type ReplayWatcher } from "../../../replay/replay.ts";
import { readTranscript } from "../../../transcripts/read-transcript.ts";
import type { CliContext } from "../cli-context.ts";
import { oneLine } from "../render/printable.ts";
import { renderEvent } from "../render/render-event.ts";
import { renderReplay } from "../render/render-replay.ts";
import { styleFor } from "../render/style.ts";
import { inputChunks } from "../terminal/input-chunks.ts";
import { printJson } from "../terminal/print-json.ts";
import { ProgressLine } from "../terminal/progress-line.ts";
import { flagOf, given, labelFlag } from "./flags.ts";
import { workspaceOf } from "./with-service.ts";

interface ReplayFlags {
  readonly compactThreshold?: number;
  readonly recentTurnBudget?: number;
  readonly maxSummaryTokens?: number;
  readonly minTurnsBetweenCompactions?: number;
  readonly model?: string;
  readonly label?: Readonly<Record<string, string>>;
  readonly verbose?: true;
  readonly json?: true;
}

const PROMPT_COLUMNS = 100;

const count = flagOf(wholeNumber);

/** `rkat replay`. Needs no network, unless a model is to write the summaries. */
export function replayCommand(program: Command, context: CliContext): void {
  const { terminal, engine } = context;
  const style = styleFor(terminal.stdout, terminal.env);
  const command = program
    .command("replay")
    .description("replay a recorded conversation into a new session, without its model")
    .argument("<file>", '{"role","content"} a line, or an events.jsonl of rkat; - for stdin')
    .option("--compact-threshold <n>", "tokens at which the history is compacted", count)
    .option("--recent-turn-budget <n>", "recent turns that a compaction keeps", count)
    .option("--max-summary-tokens <n>", "tokens that a summary may take", count)
    .option("--min-turns-between-compactions <n>", "model calls between two compactions", count)
    .option(
      "-m, --model <provider/model>",
      "who writes summaries (default: no model)",
      flagOf(text),
    )
    .option("-l, --label <name=value>", "label the session (repeatable)", labelFlag)
    .option("-v, --verbose", "say on stderr what happens")
    .option("--json", "for scripts")
    .action(async (file: string, flags: ReplayFlags) => {
      const name = file === "-" ? "stdin" : basename(file);
      const replay = new Replay(await readTranscript(inputChunks(file, terminal), name));
      const workspace = await workspaceOf(context, command);
      const opened = await engine.openReplay(workspace, replay, given({ summarizer: flags.model }));
      const progress = new ProgressLine(terminal.stderr);
      try {
        const { service, memory } = opened.it;
        const options = { memory, labels: flags.label, compaction: compactionOf(flags) };
        const watch = watcher(context, progress, flags.verbose === true);
        const report = await terminal.interruptible((signal) =>
          replay.run(service, { signal, watch, ...given(options) }),
        );
        progress.clear();
        if (flags.json) await printJson(terminal.stdout, report);
        else await terminal.stdout.write(renderReplay(report, style));
        if (report.interrupted) context.exitCode = ERRORS.TURN_INTERRUPTED.exitCode;
      } finally {
        progress.clear();
        await opened.close();
      }
    });
}

/** Says how far a replay is; and what happens in it, to whom wants to know. */
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

function compactionOf(flags: ReplayFlags): CompactionSettings | undefined {
  const { compactThreshold, recentTurnBudget, maxSummaryTokens, minTurnsBetweenCompactions } =
    flags;
  const settings = given({
    autoCompactThreshold: compactThreshold,
    recentTurnBudget,
    maxSummaryTokens,
    minTurnsBetweenCompactions,
  });
  return Object.keys(settings).length > 0 ? settings : undefined;
}
