import { resolve } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import { type BenchReport, SUITES, type SuiteName } from "../../../bench/bench-report.ts";
import { SessionError } from "../../../core/errors.ts";
import type { CliContext } from "../cli-context.ts";
import { renderBench } from "../render/render-bench.ts";
import { styleFor } from "../render/style.ts";
import { printJson } from "../terminal/print-json.ts";
import { ProgressLine } from "../terminal/progress-line.ts";
import { given } from "./flags.ts";

interface BenchFlags {
  readonly size: number;
  readonly quick?: true;
  readonly data?: string;
  readonly json?: true;
}

const SIZE = { min: 1_000, usual: 10_000, max: 10_000_000 } as const;

/** `rkat bench`: measures rkat on this machine. */
export function benchCommand(program: Command, context: CliContext): void {
  const { terminal } = context;
  program
    .command("bench")
    .description("measure rkat on this machine, offline")
    .argument("[suite...]", `what to measure: ${SUITES.join(", ")} (default: all)`)
    .option("--size <n>", "entries in the stores that are measured", size, SIZE.usual)
    .option("--quick", "fewer questions and runs: soon there, and rough")
    .option("--data <folder>", "your own conversations, for recall")
    .option("--json", "for scripts")
    .addHelpText("after", HELP)
    .action(async (names: string[], { json, quick, data, size }: BenchFlags) => {
      const suites = suitesOf(names, data);
      const options = { suites, size, quick: quick === true };
      const folder = data === undefined ? undefined : resolve(terminal.cwd, data);
      const progress = new ProgressLine(terminal.stderr);
      let report: BenchReport;
      try {
        report = await terminal.interruptible(async (signal) => {
          const watch = { signal, onProgress: (text: string) => progress.show(text) };
          return await context.engine
            .bench({ ...options, ...given({ data: folder }) }, watch)
            .catch((error) => {
              throw signal.aborted ? interrupted(error) : error;
            });
        });
      } finally {
        progress.clear();
      }
      if (json) return await printJson(terminal.stdout, report);
      const { stdout, env } = terminal;
      await stdout.write(renderBench(report, stdout.columns, styleFor(stdout, env)));
    });
}

const HELP = `
Suites:
  recall    whether the messages that answer a question are among the first results
  memory    searching, adding, opening, disk and memory of a store with --size entries
  vectors   the same with vectors of 384 numbers beside the words
  turns     what a turn costs in a session of 100 messages, and in one of 10 000
  surfaces  what REST, JSON-RPC, MCP and the command cost on top of the SDK

Texts are made up, always the same ones, or come from --data: a folder with
  docs.jsonl     {"id","conv","session","turn","speaker"?,"time"?,"text"} a line, in order
  queries.jsonl  {"conv","text","relevant":[ids]} a line; nothing relevant: no ids
or with folders that have those. Nothing is sent anywhere, and nothing is left behind:
stores are made in the system's temporary folder, and go when the command ends.

The ratio is rkat's figure divided by that of what it is compared with in the same run;
the bar is rkat's figure, and what it has more (▓) or less (░) than the other.
Compare ratios, and figures of one run; two machines, or a busy one, differ by more.

Examples:
  rkat bench --quick
  rkat bench memory --size 100000
  rkat bench recall --data conversations/ --json
`;

/** All of them when none is named; conversations of one's own are for recall. */
function suitesOf(names: readonly string[], data: string | undefined): readonly SuiteName[] {
  const unknown = names.find((name) => !SUITES.some((suite) => suite === name));
  if (unknown !== undefined) {
    throw new SessionError("INVALID_PARAMS", {
      detail: `${unknown} is not a suite.`,
      hint: `Name some of ${SUITES.join(", ")}, or none for all.`,
    });
  }
  const named = SUITES.filter((suite) => names.includes(suite));
  if (data !== undefined && names.length > 0 && !named.includes("recall")) {
    throw new SessionError("INVALID_PARAMS", {
      detail: "--data is for the suite recall only.",
      hint: "Say `rkat bench recall --data <folder>`.",
    });
  }
  if (named.length > 0) return named;
  return data === undefined ? SUITES : ["recall"];
}

function size(text: string): number {
  const value = /^\d[\d_]*$/.test(text) ? Number(text.replaceAll("_", "")) : Number.NaN;
  if (value >= SIZE.min && value <= SIZE.max) return value;
  throw new InvalidArgumentError(`It must be a whole number from ${SIZE.min} to ${SIZE.max}.`);
}

function interrupted(cause: unknown): SessionError {
  return new SessionError("TURN_INTERRUPTED", {
    detail: "The measuring was interrupted.",
    hint: "Nothing is left behind; --quick takes less time.",
    cause,
  });
}
