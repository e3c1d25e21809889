import { existsSync, statSync } from "node:fs";
import { basename, resolve } from "node:path";
import type { Command } from "commander";
import { openReplay } from "../../app/open-project-service.ts";
import { useOpened } from "../../app/opened.ts";
import { text, wholeNumber } from "../../config/setting-kind.ts";
import { ERRORS, type ErrorCode, SessionError } from "../../core/errors.ts";
import type { AnchorReport } from "../../core/event.ts";
import { given } from "../../core/fields.ts";
import { diskFile } from "../../import/disk-file.ts";
import { recogniseFile } from "../../import/find-transcripts.ts";
import { readSession } from "../../import/read-sessions.ts";
import { Replay, type ReplayWatcher } from "../../replay/replay.ts";
import {
  compactedNow,
  type RecordedCompaction,
  type ReplayedCompaction,
  type ReplayReport,
  recordedCompactions,
} from "../../replay/replayed-session.ts";
import { IMPORT_FORMATS } from "../../transcripts/import-formats.ts";
import { AGENTS, type Recording } from "../../transcripts/imported.ts";
import { hasChatLines, readTranscript } from "../../transcripts/read-transcript.ts";
import type { CliContext } from "../cli-context.ts";
import { plural, thousands } from "../render/amounts.ts";
import { oneLine, printable } from "../render/printable.ts";
import { renderEvent } from "../render/render-event.ts";
import { type Column, renderFacts, renderTable, type Style, styleFor } from "../render/style.ts";
import { inputChunks } from "../terminal/input-file.ts";
import { printJson } from "../terminal/print.ts";
import { ProgressLine } from "../terminal/progress-line.ts";
import { requireName } from "./find-session.ts";
import { longestSession } from "./find-transcript.ts";
import { flagOf, labelFlag } from "./flags.ts";
import { sourceOfStored } from "./handoff-command.ts";
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
    .argument(
      "[file]",
      'a transcript of any agent, a folder of them, {"role","content"} lines, a session\'s id, or -',
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
      const { recording, isTrial } = await recordingOf(file, flags, context, command);
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
  context: CliContext,
  command: Command,
): Promise<{ readonly recording: Recording; readonly isTrial: boolean }> {
  const { terminal } = context;
  if ((file === undefined) === (longest === undefined)) {
    throw new SessionError("INVALID_PARAMS", {
      message: "A replay needs either a file or --longest.",
      hint: "Name a transcript, or run `rkat replay --longest`.",
    });
  }
  if (file !== undefined) requireName(file);
  const path = file === undefined || file === "-" ? undefined : resolve(terminal.cwd, file);
  const agent = AGENTS.find((name) => name === longest);
  if (typeof longest === "string" && !agent) {
    throw new SessionError("INVALID_PARAMS", {
      message: `"${longest}" is not an agent.`,
      hint: `Name one of ${AGENTS.join(", ")}.`,
    });
  }
  const stored =
    file !== undefined && path !== undefined && !existsSync(path)
      ? await storedRecording(file, context, command)
      : undefined;
  if (stored) return { recording: stored, isTrial: true };
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

/** A session of this project or of the user-wide store, by its id. It is only looked at, too. */
async function storedRecording(
  id: string,
  context: CliContext,
  command: Command,
): Promise<Recording | undefined> {
  try {
    const { id: name, messages } = await sourceOfStored(id, context, command);
    const recorded = messages.map(({ message, origin }) => ({ message, ...given({ origin }) }));
    return { name, messages: recorded };
  } catch (error) {
    // Then it is the name of a file, and the error about that file is the one to show.
    if (SessionError.is(error) && NO_SUCH_SESSION.includes(error.code)) return undefined;
    throw error;
  }
}

const NO_SUCH_SESSION: readonly ErrorCode[] = ["SESSION_NOT_FOUND", "SESSION_PERSISTENCE_DISABLED"];

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

/** The report of a replay, for people. */
function renderReplay(report: ReplayReport, style: Style): string {
  const { compactions, failures, recorded } = report;
  const stopped = report.interrupted ? ", interrupted" : "";
  const failed = failures.length > 0 ? `, ${failures.length} failed` : "";
  const facts = renderFacts(
    [
      ["session", recorded ? "none: nothing is stored" : report.session_id],
      ["recording", printable(report.file) + stopped],
      ["replayed", `${plural(report.turns, "turn")}, ${plural(report.messages, "message")}`],
      ["took", `${(report.duration_ms / 1000).toFixed(1)} s`],
      ["history", tokens(report.tokens_before, report.tokens_after)],
      ["compactions", `${compactions.length}${failed}`],
      [
        "discarded",
        `${plural(report.discarded_messages, "message")}, ${thousands(report.discarded_with_text)} with text`,
      ],
      ["in memory", recorded ? undefined : plural(report.indexed_messages, "message")],
    ],
    style,
  );
  const table = compactions.length > 0 ? `\n${renderCompactions(compactions, style)}` : "";
  const problems = failures.map(
    ({ turn, reason, error }) =>
      `${style.red("failed")} in turn ${turn}: ${reason}: ${printable(error)}\n`,
  );
  const none = recorded && compactions.length === 0 ? renderUncompacted(report) : "";
  return (
    facts + table + problems.join("") + none + (recorded ? renderRecorded(recorded, style) : "")
  );
}

/** The worth of a compaction now, for a history that was never compacted. */
function renderUncompacted({ compacted_now: now }: ReplayReport): string {
  const fits = "\nrkat would not have compacted it. --compact-threshold sets a lower limit.\n";
  if (!now || now.tokens_after >= now.tokens_before) return fits;
  const [kept] = share(now.names_kept, now.names);
  const size = `${thousands(now.tokens_after)} in place of ${thousands(now.tokens_before)} tokens`;
  const names = `${kept} of its ${plural(now.names, "path, name or number", "paths, names and numbers")}`;
  return `${fits}Compacted now, without a model, it would take ${size}, and keep ${names}.\n`;
}

const RECORDED_COLUMNS: readonly Column[] = [
  { title: "compacted", align: "right" },
  { title: "names", align: "right" },
  { title: "their summary", align: "right" },
  { title: "kept", align: "right" },
  { title: "" },
  { title: "rkat", align: "right" },
  { title: "kept", align: "right" },
  { title: "" },
];

/** A comparison of the agent's own compactions with rkat's of the same messages. */
function renderRecorded(recorded: readonly RecordedCompaction[], style: Style): string {
  if (recorded.length === 0) return "\nThe agent recorded no compaction of its own.\n";
  const cells = recorded.map(({ tokens_before, names, theirs, ours }) => [
    thousands(tokens_before),
    thousands(names),
    thousands(theirs.tokens_after),
    ...share(theirs.names_kept, names),
    thousands(ours.tokens_after),
    ...share(ours.names_kept, names),
  ]);
  return `\n${style.bold("The agent's own compactions, and rkat's of the same messages")}
${style.dim("tokens, and the part of the paths, names and numbers that is still there")}
${renderTable(RECORDED_COLUMNS, cells, style)}`;
}

const BAR_COLUMNS = 8;

/** A part in percent, and as a bar. */
function share(part: number, whole: number): readonly [string, string] {
  const ratio = whole === 0 ? 1 : part / whole;
  const filled = Math.round(ratio * BAR_COLUMNS);
  return [`${Math.round(ratio * 100)} %`, "█".repeat(filled) + "░".repeat(BAR_COLUMNS - filled)];
}

const COLUMNS: readonly (Column & { readonly cell: (row: ReplayedCompaction) => string })[] = [
  { title: "turn", align: "right", cell: ({ turn }) => thousands(turn) },
  { title: "call", align: "right", cell: ({ call }) => thousands(call) },
  { title: "tokens", align: "right", cell: (row) => change(row.tokens_before, row.tokens_after) },
  {
    title: "messages",
    align: "right",
    cell: (row) => change(row.messages_before, row.messages_after),
  },
  { title: "discarded", align: "right", cell: ({ discarded }) => thousands(discarded) },
  { title: "pruned", align: "right", cell: ({ pruned }) => thousands(pruned) },
  {
    title: "names kept",
    align: "right",
    cell: ({ anchors }) => (anchors ? namesKept(anchors) : ""),
  },
  { title: "summary by", cell: ({ summarised_by }) => summarised_by },
];

function namesKept({ found, only_in_memory }: AnchorReport): string {
  return found === 0 ? "" : `${Math.round(((found - only_in_memory) / found) * 100)} %`;
}

function renderCompactions(compactions: readonly ReplayedCompaction[], style: Style): string {
  // Columns without a number take room that a terminal of 80 columns does not have.
  const columns = COLUMNS.filter(({ cell }) =>
    compactions.some((compaction) => !["", "0"].includes(cell(compaction))),
  );
  const rows = compactions.map((compaction) => columns.map(({ cell }) => cell(compaction)));
  return renderTable(columns, rows, style);
}

function tokens(before: number, after: number): string {
  return `${thousands(before)} tokens in the recording, ${thousands(after)} left in the window`;
}

function change(before: number, after: number): string {
  return `${thousands(before)} → ${thousands(after)}`;
}
