import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isMemoryBehind, MEMORY_INDEX } from "../src/projections/log-projection.ts";
import { EphemeralEventStore } from "../src/stores/ephemeral/ephemeral-event-store.ts";
import { RKAT } from "./support/built-package.ts";
import { ClaudeLines } from "./support/claude-lines.ts";
import { temporaryFolder } from "./support/obey.ts";
import { execFileSync, spawnSync } from "./support/start-process.ts";
import { sampled } from "./support/trials.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "rkat-search-start-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("`memory search` loads no schemas, no models, no servers, and nothing that only writers need", () => {
  const entry = JSON.stringify({ content: "We chose SQLite.", session_id: "s" });
  writeFileSync(join(folder, "entries.jsonl"), entry);
  built("memory", "add", "--jsonl", join(folder, "entries.jsonl"));
  const loaded = rkat("memory", "search", "SQLite");
  expect(loaded).toContain("memory/search-command.ts");
  expect(loaded).not.toMatch(
    /node_modules\/(?:zod|hono|@ai-sdk|@modelcontextprotocol)|project-knowledge|projection-runner|message-assembler/,
  );
});

test("the start of a session of Claude Code loads no schemas, no agent and no models", () => {
  const session_id = "0f3c2b1a-1111-4222-8333-444455556666";
  const input = JSON.stringify({ session_id, cwd: folder, source: "startup" });
  // Only rules that it has to tell are looked through for credentials. No other command is loaded, and no index of memory.
  expect(loadedBy(["hook", "SessionStart"], input)).not.toMatch(
    /redact-secrets|knowledge-addendum|commander|src\/indexing\/score/,
  );
  built("knowledge", "add", "Always run the linter.");
  const loaded = loadedBy(["hook", "SessionStart"], input);
  expect(loaded).toContain("knowledge/knowledge-addendum.ts");
  expect(loaded).not.toMatch(
    /node_modules\/(?:zod|hono|@ai-sdk|@modelcontextprotocol)|agent\/run-turn|projection-runner|compaction\/|knowledge-distiller|learned-entries/,
  );
});

test("the built start of a session that has rules to tell loads no more of the core than any hook", async () => {
  const home = await temporaryFolder();
  execFileSync(process.execPath, [RKAT, "knowledge", "add", "Always run the linter."], {
    cwd: home,
    env: { HOME: home },
    stdio: "pipe",
  });
  const print = `
    import { registerHooks } from "node:module";
    import { writeSync } from "node:fs";
    registerHooks({ load: (url, context, next) => (writeSync(1, url + "\\n"), next(url, context)) });`;
  const watch = ["--import", `data:text/javascript,${encodeURIComponent(print)}`];
  const told = execFileSync(process.execPath, [...watch, RKAT, "hook", "SessionStart"], {
    input: JSON.stringify({ session_id: "s", cwd: home, source: "startup" }),
    env: { HOME: home },
  });
  expect(String(told)).toContain("Always run the linter.");
  expect(String(told)).toMatch(/\/core-first-[^/]+\.js$/m);
  expect(String(told)).not.toMatch(/\/(?:start|base|core|store|search)-(?!first-)[^/]+\.js$/m);
});

test("the hooks of a compaction read what an import has kept: they weigh no text and load nothing that does", () => {
  const session_id = "0f3c2b1a-2222-4222-8333-444455556666";
  const transcript_path = join(folder, ".claude", "projects", "-p", `${session_id}.jsonl`);
  mkdirSync(join(folder, ".claude", "projects", "-p"), { recursive: true });
  writeFileSync(
    transcript_path,
    String(new ClaudeLines(session_id, { cwd: folder }).user("Never touch src/billing.ts.")),
  );
  const input = JSON.stringify({ session_id, cwd: folder, transcript_path, source: "compact" });
  execFileSync(process.execPath, [RKAT, "hook", "import", "--now", "--dir", folder], {
    input,
    env: { HOME: folder },
    stdio: "pipe",
  });
  for (const event of sampled(["PreCompact", "SessionStart"], { of: 2, at: 0 }, "cases")) {
    const loaded = loadedBy(["hook", event], input);
    expect(loaded).toContain("coding-agents/window-record.ts");
    expect(loaded).not.toMatch(
      /redact-secrets|carry-over|latest-state|compaction\/anchors|commander|src\/indexing\/score/,
    );
  }
});

test("what draws a chat is loaded for a chat on a terminal only", () => {
  for (const name of sampled(["chat", "--help"], { of: 2, at: 0 }, "cases")) {
    const loaded = rkat(name);
    expect(loaded).toContain("chat/chat-command.ts");
    expect(loaded).not.toMatch(/pi-tui|codemirror/);
  }
});

test("the built `memory search` does not load Node's crypto, which takes as long as a search", () => {
  writeFileSync(join(folder, "entries.jsonl"), '{"content":"We chose SQLite.","session_id":"s"}');
  const project = ["--dir", join(folder, "built")];
  const add = [RKAT, "memory", "add", "--jsonl", join(folder, "entries.jsonl"), ...project];
  mkdirSync(join(folder, "built"));
  execFileSync(process.execPath, add);
  const print = `process.on("exit", () => { for (const name of process.moduleLoadList) console.log(name) });`;
  const loaded = execFileSync(process.execPath, [
    "--import",
    `data:text/javascript,${encodeURIComponent(print)}`,
    ...[RKAT, "memory", "search", "SQLite", ...project],
  ]);
  expect(String(loaded)).toContain("NativeModule sqlite");
  expect(String(loaded)).not.toMatch(/^NativeModule crypto$/m);
});

test("a built hook does not load Node's crypto, and keeps compiled code only beside what an import has kept, where nobody else can write", () => {
  const home = join(folder, "home");
  const hooks = join(home, ".config", "rkat", "hooks");
  mkdirSync(home);
  const hook = () => {
    const print = `process.on("exit", () => { for (const name of process.moduleLoadList) console.log(name) });`;
    return execFileSync(
      process.execPath,
      [
        ...["--import", `data:text/javascript,${encodeURIComponent(print)}`],
        ...[RKAT, "hook", "SessionStart"],
      ],
      {
        input: JSON.stringify({ session_id: "s", cwd: folder }),
        env: { HOME: home, NODE_COMPILE_CACHE: undefined },
      },
    );
  };
  expect(String(hook())).not.toMatch(/^NativeModule crypto$/m);
  expect(existsSync(hooks)).toBe(false);
  mkdirSync(hooks, { recursive: true, mode: 0o700 });
  chmodSync(hooks, 0o777);
  hook();
  expect(existsSync(join(hooks, "code"))).toBe(false);
  chmodSync(hooks, 0o700);
  hook();
  expect(existsSync(join(hooks, "code"))).toBe(true);
});

test("the built `memory search` takes all of its code compiled from beside what an import has kept, and keeps none elsewhere", () => {
  const home = join(folder, "compiled");
  const hooks = join(home, ".config", "rkat", "hooks");
  for (const made of [home, join(folder, "compiled-project")]) mkdirSync(made);
  const run = (...args: readonly string[]) =>
    spawnSync(process.execPath, [RKAT, ...args, "--dir", join(folder, "compiled-project")], {
      env: { HOME: home, NODE_COMPILE_CACHE: undefined, NODE_DEBUG_NATIVE: "COMPILE_CACHE" },
      encoding: "utf8",
    });
  writeFileSync(join(folder, "entries.jsonl"), '{"content":"We chose SQLite.","session_id":"s"}');
  run("memory", "add", "--jsonl", join(folder, "entries.jsonl"));
  const search = () => run("memory", "search", "SQLite");
  const without = search();
  expect(existsSync(hooks)).toBe(false);
  mkdirSync(hooks, { recursive: true });
  chmodSync(hooks, 0o777);
  search();
  expect(existsSync(join(hooks, "code"))).toBe(false);
  chmodSync(hooks, 0o700);
  search();
  const { stdout, stderr } = search();
  expect(stdout).toBe(without.stdout);
  expect(stdout).toContain("We chose SQLite.");
  const loaded = stderr.match(/^.*reading cache from .* for ESM /gm) ?? [];
  expect(loaded.length).toBeGreaterThan(10);
  expect(stderr.match(/ was accepted/g)).toHaveLength(loaded.length);
  // They empty the folder, so they must not fill it again.
  expect(run("uninstall", "claude-code").stderr).not.toContain("reading cache");
});

test("memory is behind until it, and what the project learns, have reached the end of the log", async () => {
  const events = new EphemeralEventStore();
  expect(await isMemoryBehind(events, "all")).toBe(false);
  await events.append("s", 0, [
    { event_id: "e", timestamp_ms: 0, event: { type: "text_forgotten", messages: [], events: [] } },
  ]);
  expect(await isMemoryBehind(events, "all")).toBe(true);
  const [last] = await events.readAll(0, 1);
  await events.saveCheckpoint(MEMORY_INDEX.all, last?.position ?? 0);
  expect(await isMemoryBehind(events, "all")).toBe(false);
  expect(await isMemoryBehind(events, "all", { position: async () => 0 })).toBe(true);
});

/** Runs the command that users have, in the same folder. */
function built(...args: readonly string[]): void {
  const env = { HOME: folder };
  execFileSync(process.execPath, [RKAT, ...args, "--dir", folder], { env, stdio: "pipe" });
}

/** Runs `rkat …` without input and returns what it loaded, a line each. */
function rkat(...args: readonly string[]): string {
  return loadedBy(args, "");
}

function loadedBy(args: readonly string[], input: string): string {
  const list = join(folder, "loaded.txt");
  writeFileSync(list, "");
  const watch = `
    import { registerHooks } from "node:module";
    import { appendFileSync } from "node:fs";
    registerHooks({
      load(url, context, next) {
        appendFileSync(${JSON.stringify(list)}, url + "\\n");
        return next(url, context);
      },
    });`;
  const command = [
    "--disable-warning=ExperimentalWarning",
    "--import",
    `data:text/javascript,${encodeURIComponent(watch)}`,
    "test/support/run-cli.ts",
    ...[...args, "--dir", folder],
  ];
  execFileSync(process.execPath, command, { input, env: { HOME: folder }, stdio: "pipe" });
  return readFileSync(list, "utf8");
}
