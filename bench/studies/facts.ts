// Does recording tool results as facts leave junk, and does repeated work add more?
//
// Real commands run on a folder (ls, cat, grep, git log, wc, find, a test run …). Made-up sessions
// call them, some often and some rarely, and their logs are recorded like any other. Then the same
// sessions run twice more, with what such commands change by themselves: times, durations, process ids.
//
//   node bench/studies/facts.ts [--folder .] [--sessions 1000] [--calls 8] [--show 3] [--json]

import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { DurableEvent } from "../../src/core/event.ts";
import { newId } from "../../src/core/ids.ts";
import { Outages } from "../../src/core/warn.ts";
import { factOf } from "../../src/knowledge/learned-entries.ts";
import { ProjectKnowledge } from "../../src/knowledge/project-knowledge.ts";
import { KnowledgeRecorder } from "../../src/projections/knowledge-recorder.ts";
import { ProjectionRunner } from "../../src/projections/projection-runner.ts";
import { sqliteStores } from "../../src/sqlite.ts";
import { execFileSync } from "../../test/support/start-process.ts";

const { values } = parseArgs({
  options: {
    folder: { type: "string", default: "." },
    sessions: { type: "string", default: "1000" },
    calls: { type: "string", default: "8" },
    show: { type: "string", default: "3" },
    json: { type: "boolean", default: false },
  },
});
const SESSIONS = Number(values.sessions);
const CALLS = Number(values.calls);
const ROUNDS = 3;
const random = randomFrom(20260101);

interface Call {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** What came back, as it is the n-th time. */
  readonly results: readonly string[];
}

interface Round {
  readonly results: number;
  readonly facts: number;
  readonly memoryEntries: number;
  readonly memoryTextKiB: number;
  readonly microsecondsPerResult: number;
}

const calls = capture();
const folder = await mkdtemp(join(tmpdir(), "rkat-bench-"));
const path = join(folder, "rkat.db");
const stores = sqliteStores({ path });
const knowledge = new ProjectKnowledge(stores.knowledge, {}, { memory: stores.memory });
const recorder = new KnowledgeRecorder(stores.events, knowledge);
const runner = new ProjectionRunner(
  stores.events,
  [recorder],
  new Outages((error) => {
    throw error;
  }),
);

const dropped = new Map<string, { count: number; examples: Set<string> }>();
const plan = Array.from({ length: SESSIONS }, () =>
  Array.from({ length: CALLS }, () => Math.floor(calls.length * random() ** 2)),
);
const rounds: Round[] = [];
for (let round = 0; round < ROUNDS; round += 1) {
  for (const [session, picked] of plan.entries()) {
    await stores.events.append(...sessionLog(picked, round * SESSIONS + session));
  }
  const startedAt = performance.now();
  await runner.flush();
  const tookMs = performance.now() - startedAt;
  const facts = (await stores.knowledge.counts()).fact;
  const { entries, textBytes } = await stores.memory.stats();
  rounds.push({
    results: SESSIONS * CALLS,
    facts,
    memoryEntries: entries,
    memoryTextKiB: Math.round(textBytes / 1024),
    microsecondsPerResult: Math.round((tookMs * 1000) / (SESSIONS * CALLS)),
  });
}
const facts = await stores.knowledge.list({ kind: "fact", limit: 100_000 });
const heard = facts.reduce((sum, { count }) => sum + count, 0);
const twice = duplicates(facts.map(({ content }) => content));
const report = {
  differentCalls: calls.length,
  rounds,
  recorded: facts.length,
  merged: heard - facts.length,
  dropped: Object.fromEntries([...dropped].map(([why, { count }]) => [why, count])),
  sameTextTwice: twice,
  databaseMiB: Math.round((await stat(path)).size / 1024 / 1024),
};
if (values.json) process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
else print();
await stores.close();
await rm(folder, { recursive: true });

function print(): void {
  console.table(rounds);
  console.log(
    `Of ${rounds.length * SESSIONS * CALLS} results of ${calls.length} different calls: ${report.recorded} facts, ${report.merged} merged into them, ${Object.values(report.dropped).reduce((sum, count) => sum + count, 0)} not recorded. ${twice} facts have the same text as another.`,
  );
  for (const [why, { count, examples }] of dropped) {
    console.log(`\nnot recorded, ${why}: ${count}`);
    for (const example of examples) console.log(`  ${example}`);
  }
  const show = Number(values.show);
  const shown = (title: string, list: typeof facts) => {
    console.log(`\n${title}`);
    for (const { count, args, content } of list.slice(0, show)) {
      console.log(`  ${count} × ${args ?? ""}\n      ${oneLine(content)}`);
    }
  };
  const byCount = [...facts].sort((one, other) => other.count - one.count);
  shown("heard most often:", byCount);
  shown("heard least often:", byCount.toReversed());
}

/** The log of a session that makes these calls. */
function sessionLog(picked: readonly number[], number: number) {
  const id = `session-${number}`;
  const settings = { model: "none", memory: true, knowledge: true, labels: {} };
  const events: DurableEvent[] = [
    { type: "session_created", session_id: id, settings },
    { type: "run_started", session_id: id, prompt: "Look around." },
  ];
  for (const [place, index] of picked.entries()) {
    const call = calls[index];
    if (!call) continue;
    const { tool: name, args, results } = call;
    const result = results[number % results.length] ?? "";
    const callId = `call-${place}`;
    events.push(
      { type: "tool_call_requested", id: callId, name, args },
      {
        type: "tool_execution_completed",
        id: callId,
        name,
        result,
        is_error: false,
        duration_ms: 1,
      },
    );
    const seq = events.length;
    const made = factOf({ name, args, result, sessionId: id, seq, time: "" });
    if ("dropped" in made)
      drop(made.dropped, `${name} ${JSON.stringify(args)}: ${oneLine(result)}`);
  }
  const now = Date.now();
  const batch = events.map((event) => ({ event_id: newId(), timestamp_ms: now, event }));
  return [id, 0, batch] as const;
}

function drop(why: string, example: string): void {
  const sofar = dropped.get(why) ?? { count: 0, examples: new Set<string>() };
  sofar.count += 1;
  if (sofar.examples.size < Number(values.show)) sofar.examples.add(example);
  dropped.set(why, sofar);
}

/** Runs the commands, those whose output changes by itself several times. */
function capture(): Call[] {
  const files = shell("git ls-files || find . -type f -not -path '*/node_modules/*'")
    .split("\n")
    .filter((file) => /\.(?:ts|md|json|toml)$/.test(file));
  const words = ["SessionState", "compaction", "throw new", "TODO", "redactSecrets", "lease"];
  const folders = [...new Set(files.map((file) => file.split("/").slice(0, -1).join("/") || "."))];
  const commands: (readonly [tool: string, args: Record<string, unknown>, command: string])[] = [
    ...files.map((file) => ["read_file", { path: file }, `cat '${file}'`] as const),
    ...files.map((file) => ["head", { path: file, lines: 20 }, `head -20 '${file}'`] as const),
    ...folders.map((path) => ["list_directory", { path }, `ls -la '${path}'`] as const),
    ...folders.map((path) => ["list_directory", { path: `${path}/` }, `ls '${path}'`] as const),
    ...words.flatMap((word) =>
      folders.map(
        (path) => ["grep", { word, path }, `grep -rn '${word}' '${path}' | head -40`] as const,
      ),
    ),
    ...words.map((word) => ["grep", { word }, `grep -rlE '${word}' src test | sort`] as const),
    ...[1, 5, 20].map((n) => ["shell", { command: `git log -${n}` }, `git log -${n}`] as const),
    ...files
      .slice(0, 60)
      .map((file) => ["shell", { command: `wc ${file}` }, `wc '${file}'`] as const),
    ["shell", { command: "git status" }, "git status | head -30"],
    ["shell", { command: "date" }, "date; date -u +%FT%TZ"],
    ["shell", { command: "ps" }, "ps -o pid,etime,args | head -5"],
    ["shell", { command: "df -h ." }, "df -h ."],
    ["shell", { command: "mkdir -p out" }, "true"],
    ["shell", { command: "touch x && echo ok" }, "echo ok"],
    ["write_file", { path: "a.txt" }, "echo 'Successfully wrote 120 bytes to a.txt'"],
    ["search_project_history", { query: "port" }, 'echo \'[{"content":"the port is 5433"}]\''],
    ["memory_search", { query: "port" }, 'echo \'[{"content":"the port is 5433","score":1}]\''],
    ["query", { sql: "select 1" }, 'echo \'{"rows":[],"count":0,"duration_ms":3}\''],
    ["query", { sql: "select port" }, 'echo \'{"rows":[{"port":5433}],"duration_ms":3}\''],
    ["shell", { command: "npm test" }, "npx vitest run src/knowledge 2>/dev/null | tail -40"],
  ];
  const changes = /^(?:date|ps|npm test|git status)/;
  const captured = commands.map(([tool, args, command]): Call => {
    const times = changes.test(String(args.command ?? "")) ? 3 : 1;
    return { tool, args, results: Array.from({ length: times }, () => shell(command)) };
  });
  // The common calls first: which those are is drawn.
  return captured
    .map((call) => ({ call, place: random() }))
    .sort((one, other) => one.place - other.place)
    .map(({ call }) => call);
}

function shell(command: string): string {
  try {
    const options = { cwd: values.folder, encoding: "utf8", maxBuffer: 1 << 26 } as const;
    return execFileSync("sh", ["-c", command], { ...options, stdio: ["ignore", "pipe", "ignore"] });
  } catch (error) {
    return String((error as { stdout?: string }).stdout ?? "");
  }
}

/** Texts that are there more than once, however many times. */
function duplicates(texts: readonly string[]): number {
  return texts.length - new Set(texts.map((text) => text.replace(/\s+/g, " "))).size;
}

function oneLine(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > 120 ? `${line.slice(0, 120)}…` : line;
}

/** Numbers from 0 to 1, the same at every run (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
