/**
 * `npm run bench`: measures rkat on this machine, as it was last built.
 *
 *     npm run bench -- memory vectors --size 100000
 */
import { parseArgs } from "node:util";
import { styleFor } from "../src/cli/render/style.ts";
import { processTerminal } from "../src/cli/terminal/process-terminal.ts";
import { ProgressLine } from "../src/cli/terminal/progress-line.ts";
import { type BenchOptions, SUITES, type SuiteName, UsageError } from "./bench.ts";
import { renderReport } from "./render-report.ts";
import { runBench } from "./run-bench.ts";

const SIZE = { min: 1_000, usual: 10_000, max: 10_000_000 } as const;
const WINDOWS = { min: 2_000, usual: 8_000, max: 2_000_000 } as const;
const EXIT = { failed: 1, badUsage: 2, interrupted: 130 } as const;

const HELP = `Usage: npm run bench -- [suite...] [options]

Measures rkat on this machine, offline.

Suites (default: all):
  recall    whether the messages that answer a question are among the first results
  finding   whether questions in many languages, forms and spellings find the right note
  coherence whether the model is sent what answers a question, long after it was said
  memory    searching, adding, opening, disk and memory of a store with --size entries
  vectors   the same with vectors of 384 numbers beside the words
  turns     what a turn costs in a session of 100 messages, and in one of 10 000
  import    taking in transcripts of other agents, and looking for new ones again
  surfaces  what REST, JSON-RPC, MCP and the command add to the cost of the SDK
  hostile   how fast texts are read that were made to slow their reader down

Options:
  --size <n>       entries in the measured stores (default: ${SIZE.usual})
  --quick          fewer questions and runs: rough figures, soon
  --data <folder>  your own conversations, for recall and coherence
  --window <list>  tokens of the windows for coherence, such as 8000,32000 (default: ${WINDOWS.usual})
  --json           print JSON; use \`npm run --silent bench\` to get nothing else
  -h, --help       print this

Texts are made up, always the same ones, or come from --data (for coherence also from
../shared/bench/data, if it is there): a folder with
  docs.jsonl     {"id","conv","session","turn","speaker"?,"time"?,"text"} a line, in order
  queries.jsonl  {"conv","text","relevant":[ids]} a line; an empty list when nothing answers it
or with one such folder per set. Nothing is sent anywhere. The stores are in the system's
temporary folder, and are removed when the run ends.

The ratio is rkat's figure divided by the baseline's, from the same run. The bar shows
rkat's figure (█), and how much more (▓) or less (░) it is than the baseline.
Compare ratios, and figures of one run: two machines, or a busy one, differ by more.
`;

class Interrupted extends Error {}

process.exitCode = await main(process.argv.slice(2));

/** Runs one command line, and returns the exit code. */
async function main(args: readonly string[]): Promise<number> {
  try {
    await bench(args);
    return 0;
  } catch (error) {
    const [code, text] = failure(error);
    process.stderr.write(`error: ${text}\n`);
    return code;
  }
}

async function bench(args: readonly string[]): Promise<void> {
  const terminal = processTerminal();
  const { stdout, stderr, env } = terminal;
  const { values, positionals } = readArgs(args);
  if (values.help) return await stdout.write(HELP);
  const options: BenchOptions = {
    suites: suitesOf(positionals, values.data),
    size: sizeOf(values.size),
    quick: values.quick,
    windows: values.window.split(",").map(windowOf),
    ...(values.data === undefined ? {} : { data: values.data }),
  };
  const progress = new ProgressLine(stderr);
  try {
    const report = await terminal.interruptible(async (signal) => {
      const watch = { signal, onProgress: (text: string) => progress.show(text) };
      return await runBench(options, watch).catch((error) => {
        throw signal.aborted ? new Interrupted() : error;
      });
    });
    progress.clear();
    const text = values.json
      ? `${JSON.stringify(report, null, 2)}\n`
      : renderReport(report, stdout.columns, styleFor(stdout, env));
    await stdout.write(text);
  } finally {
    progress.clear();
  }
}

function readArgs(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        size: { type: "string" },
        quick: { type: "boolean", default: false },
        data: { type: "string" },
        window: { type: "string", default: String(WINDOWS.usual) },
        json: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

/** All suites when none is named; only those that take it when `--data` is given. */
function suitesOf(names: readonly string[], data: string | undefined): readonly SuiteName[] {
  const unknown = names.find((name) => !SUITES.some((suite) => suite === name));
  if (unknown !== undefined) {
    throw new UsageError(`${unknown} is not a suite. The suites are ${SUITES.join(", ")}.`);
  }
  const named = SUITES.filter((suite) => names.includes(suite));
  const takesData = named.includes("recall") || named.includes("coherence");
  if (data !== undefined && names.length > 0 && !takesData) {
    throw new UsageError("--data is for the suites recall and coherence only.");
  }
  if (named.length > 0) return named;
  return data === undefined ? SUITES : ["recall", "coherence"];
}

function sizeOf(text: string = String(SIZE.usual)): number {
  return wholeNumber("--size", text, SIZE);
}

function windowOf(text: string): number {
  return wholeNumber("--window", text, WINDOWS);
}

function wholeNumber(
  flag: string,
  text: string,
  { min, max }: { readonly min: number; readonly max: number },
): number {
  const value = /^\d[\d_]*$/.test(text) ? Number(text.replaceAll("_", "")) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new UsageError(`${flag} must be a whole number from ${min} to ${max}.`);
}

function failure(error: unknown): readonly [code: number, text: string] {
  if (error instanceof Interrupted) {
    return [EXIT.interrupted, "Interrupted. Nothing is left behind; --quick takes less time."];
  }
  if (error instanceof UsageError) return [EXIT.badUsage, `${error.message}\nSee --help.`];
  return [EXIT.failed, error instanceof Error ? (error.stack ?? "") : String(error)];
}
