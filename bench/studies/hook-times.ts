/**
 * How long each hook of rkat takes, from the start of the process to its end, beside a Node that does nothing. They
 * alternate. The transcript grows by one turn before each import, as it does before a Stop hook, and the project has rules.
 *
 *     npm run build && node bench/studies/hook-times.ts [megabytes of the transcript] [runs]
 */

import { once } from "node:events";
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ClaudeLines } from "../../test/support/claude-lines.ts";
import { execFileSync, spawn } from "../../test/support/start-process.ts";
import { median } from "../measuring.ts";
import { RKAT } from "../programs.ts";

const [megabytes = "1", runs = "30"] = process.argv.slice(2);
const RUNS = Number(runs);
const ID = "0f3c2b1a-1111-4222-8333-444455556666";

/** A session begins with them. */
const RULES = [
  "Always run the linter before you commit.",
  "Never touch src/legacy/billing-rates.ts.",
  "Use pnpm, not npm.",
];

const home = mkdtempSync(join(tmpdir(), "rkat-hooks-"));
const folder = join(home, "project");
const projects = join(home, ".claude", "projects", "-project");
const lock = join(home, ".config", "rkat", "hooks", `${ID}.pid`);
const env = { HOME: home };

async function timeOf(args: readonly string[], input: object): Promise<number> {
  const start = performance.now();
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env,
    stdio: ["pipe", "ignore", "inherit"],
  });
  child.stdin.on("error", () => {});
  child.stdin.end(JSON.stringify(input));
  await once(child, "exit");
  const elapsedMs = performance.now() - start;
  // An import that was handed over still works.
  await sleep(args.includes("import") ? 300 : 0);
  while (existsSync(lock)) await sleep(50);
  return elapsedMs;
}

try {
  mkdirSync(folder);
  mkdirSync(projects, { recursive: true });
  const transcript_path = join(projects, `${ID}.jsonl`);
  const lines = new ClaudeLines(ID, { cwd: folder });
  let turn = 0;
  let size = 0;
  const write = () => {
    const text = String(lines);
    appendFileSync(transcript_path, text);
    lines.lines.length = 0;
    size += text.length;
  };
  const grow = () => {
    turn += 1;
    lines.user(`Look at src/part-${turn}.ts and never touch port ${7000 + turn}.`);
    lines.text(`msg_${turn}`, `Part ${turn} is as it should be. `.repeat(40));
    write();
  };
  while (size < Number(megabytes) * 1e6) grow();
  for (const rule of RULES) {
    const add = [...RKAT, "knowledge", "add", rule];
    execFileSync(process.execPath, add, { cwd: folder, env, stdio: "ignore" });
  }
  const input = { session_id: ID, transcript_path, cwd: folder };
  const measured = [
    { name: "node -e 0", args: ["-e", "0"], more: {}, ms: [] as number[] },
    {
      name: "import, handed over",
      args: [...RKAT, "hook", "import"],
      more: {},
      ms: [] as number[],
    },
    {
      name: "import, the work itself",
      args: [...RKAT, "hook", "import", "--now"],
      more: {},
      ms: [] as number[],
    },
    {
      name: "SessionStart, rules",
      args: [...RKAT, "hook", "SessionStart"],
      more: { source: "startup" },
      ms: [] as number[],
    },
    {
      name: "SessionStart, after a compaction",
      args: [...RKAT, "hook", "SessionStart"],
      more: { source: "compact" },
      ms: [] as number[],
    },
    { name: "PreCompact", args: [...RKAT, "hook", "PreCompact"], more: {}, ms: [] as number[] },
    {
      name: "UserPromptSubmit",
      args: [...RKAT, "hook", "UserPromptSubmit"],
      more: { prompt: "Which port must not be touched for part 20?" },
      ms: [] as number[],
    },
  ];
  // Fills the store, and the caches of the system and of Node.
  for (const { args, more } of [...measured, ...measured])
    await timeOf(args, { ...input, ...more });
  console.log(`${(statSync(transcript_path).size / 1e6).toFixed(0)} MB, ${turn} turns`);
  for (let run = 0; run < RUNS; run += 1) {
    for (const { args, more, ms } of measured) {
      if (args.includes("import")) grow();
      ms.push(await timeOf(args, { ...input, ...more }));
    }
  }
  const base = median(measured[0]?.ms ?? []);
  for (const { name, ms } of measured) {
    const own = median(ms);
    console.log(
      `${name.padEnd(34)} ${own.toFixed(0).padStart(5)} ms   + ${(own - base).toFixed(0)} ms, ${(own / base).toFixed(1)} x`,
    );
  }
} finally {
  rmSync(home, { recursive: true, force: true });
}
