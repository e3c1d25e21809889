import { once } from "node:events";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { IMPORTS_BUILT_PACKAGE } from "../test/support/built-package.ts";
import { temporaryFolder } from "../test/support/obey.ts";
import { type ChildProcess, spawn } from "../test/support/start-process.ts";
import { IN_LONG_FORM, LONG } from "../test/support/trials.ts";

interface Run {
  readonly child: ChildProcess;
  readonly ended: Promise<{ code: number | null; stdout: string; stderr: string }>;
  /** The temporary files that the run made and did not remove. */
  left(): readonly string[];
}

/** A run on the package that was built for the tests, with its own temporary folder. */
async function bench(...args: readonly string[]): Promise<Run> {
  const temporary = await temporaryFolder();
  const command = [...IMPORTS_BUILT_PACKAGE, "bench/run.ts", ...args];
  const child = spawn(process.execPath, command, {
    env: { TMPDIR: temporary, TEMP: temporary },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const output = Promise.all([text(child.stdout), text(child.stderr)]);
  const ended = once(child, "close").then(async ([code]) => {
    const [stdout, stderr] = await output;
    return { code, stdout, stderr };
  });
  return { child, ended, left: () => readdirSync(temporary) };
}

test("`recall --quick --json` prints what was measured, and leaves nothing behind", async () => {
  const { ended, left } = await bench("recall", "--quick", "--json");
  const { code, stdout } = await ended;
  expect(code).toBe(0);
  const { machine, tables } = JSON.parse(stdout);
  expect(machine).toMatchObject({ node: process.versions.node, cores: expect.any(Number) });
  expect(tables).toHaveLength(2);
  for (const { suite, method, figures } of tables) {
    expect({ suite, method }).toEqual({ suite: "recall", method: expect.any(String) });
    expect(figures).toContainEqual({
      name: "R@10",
      unit: "%",
      value: expect.any(Number),
      against: { name: "FTS5", value: expect.any(Number) },
      ratio: expect.any(Number),
    });
  }
  expect(left()).toEqual([]);
});

// In the short form, bench/coherence/talk.test.ts holds what is played and asked.
test.skipIf(!LONG)(
  "`coherence` asks about a talk of your own, in a window of any size",
  IN_LONG_FORM,
  async () => {
    const data = await temporaryFolder();
    const said = Array.from({ length: 40 }, (_, turn) => ({
      id: `m${turn}`,
      conv: "c",
      session: "s",
      turn,
      speaker: turn % 2 === 0 ? "Ada" : "Ben",
      text: `Number ${turn} is about the ${turn === 4 ? "lighthouse of Kiel" : "weather"}, as usual, and so on.`,
    }));
    const asked = { conv: "c", text: "Who saw the lighthouse of Kiel?", relevant: ["m4"] };
    const lines = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).join("\n");
    writeFileSync(join(data, "docs.jsonl"), lines(said));
    writeFileSync(join(data, "queries.jsonl"), lines([asked]));
    const { ended, left } = await bench(
      ...["coherence", "--quick", "--json", "--window", "2000", "--data", data],
    );
    const { code, stdout, stderr } = await ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const [{ title, figures }] = JSON.parse(stdout).tables;
    expect(title).toBe("coherence, data, a window of 2000 tokens");
    const value = (name: string) =>
      figures.find((one: { name: string }) => one.name === name)?.value;
    expect(value("answers by one search")).toBe(100);
    expect(value("compactions of a talk")).toBeGreaterThan(0);
    expect(value("a request, at most")).toBeLessThan(2000);
    expect(value("violations")).toBe(0);
    expect(left()).toEqual([]);
  },
);

const SUITES = [
  { suite: "turns", figures: ["a turn after 10 000 messages"] },
  { suite: "memory", figures: ["search p50", "one add", "rkat memory search, whole"] },
  { suite: "vectors", figures: ["hybrid search p99", "open and first result"] },
  { suite: "surfaces", figures: ["a token, rest", "rkat --version, whole"] },
  { suite: "hostile", figures: ["anchors", "secrets"] },
  { suite: "import", figures: ["transcripts", "a second import"] },
];

// In the short form, the suite above runs, and bench/render-report.test.ts holds the table.
test.skipIf(!LONG).for(SUITES)(
  "$suite runs on a small store, and people get a table",
  IN_LONG_FORM,
  async ({ suite, figures }) => {
    const { ended, left } = await bench(suite, "--quick", "--size", "1000");
    const { code, stdout, stderr } = await ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    for (const figure of figures) {
      // The cost of a token is a difference of two medians: on a busy machine it may be negative.
      const line = new RegExp(
        `^${figure} +-?[\\d. ]+ ([mµ]s|MB/s) +-?[\\d. ]+ ([mµ]s|MB/s) .+ × `,
        "m",
      );
      expect(stdout, stdout).toMatch(line);
    }
    expect(left()).toEqual([]);
  },
);

test("a folder without conversations, an unknown suite and a bad size are refused", async () => {
  for (const [args, complaint] of [
    [["--data", "nowhere"], "nowhere cannot be read"],
    [["--data", "demo"], "There is no docs.jsonl in"],
    [["turns", "--data", "demo"], "--data is for the suites recall and coherence only"],
    [["speed"], "speed is not a suite"],
    [["coherence", "--window", "8k"], "--window must be a whole number from 2000"],
    [["--size", "7"], "--size must be a whole number from 1000"],
    [["--speed"], "'--speed'"],
  ] as const) {
    const { ended, left } = await bench(...args);
    const { code, stdout, stderr } = await ended;
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(complaint);
    expect(left()).toEqual([]);
  }
});

test.skipIf(process.platform === "win32")("an interrupted run leaves nothing behind", async () => {
  const { child, ended, left } = await bench("memory", "--size", "1000000", "--json");
  while (left().length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  child.kill("SIGINT");
  const { code, stdout, stderr } = await ended;
  expect({ code, stdout }).toEqual({ code: 130, stdout: "" });
  expect(stderr).toContain("Interrupted");
  expect(left()).toEqual([]);
});
