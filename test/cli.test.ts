import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { sqliteStores } from "../src/sqlite.ts";
import { shellWord } from "../src/text/quoting.ts";
import { RKAT } from "./support/built-package.ts";
import { temporaryFolder } from "./support/obey.ts";
import { chatOnTerminal, hasScript, ON_TERMINAL } from "./support/on-terminal.ts";
import { providerForTest } from "./support/provider-for-test.ts";
import { Project } from "./support/rkat-process.ts";
import { spawn, spawnSync } from "./support/start-process.ts";

/** A command of these is started as a user starts it. The others run in processes that have run some before. */
const openProject: typeof Project.open = (options) =>
  Project.open({ ...options, ownProcesses: true });

test("`--help` lists every command, `--version` prints the version", async () => {
  const project = await openProject();
  const { code, stdout } = await project.rkat(["--help"]);
  expect(code).toBe(0);
  for (const name of [
    "run",
    "resume",
    "continue|c",
    "sessions",
    "history",
    "memory",
    "replay",
    "init",
    "config",
    "capabilities",
    "doctor",
  ]) {
    expect(stdout).toContain(`\n  ${name} `);
  }
  const warm = await Project.open();
  expect((await warm.rkat(["help", "memory"])).stdout).toContain("search [options]");
  expect((await warm.rkat(["help", "memory", "search"])).stdout).toContain("--neighbours");
  const { version } = JSON.parse(readFileSync("package.json", "utf8"));
  expect(await project.rkat(["--version"])).toEqual({
    code: 0,
    stdout: `${version}\n`,
    stderr: "",
  });
});

test("a wrong command line is refused with code 2", async () => {
  const project = await Project.open();
  for (const args of [
    ["--nonsense"],
    ["sessions"],
    ["sessions", "shwo"],
    ["resume"],
    ["run", "--output", "xml", "hi"],
    ["config", "extra"],
    ["help", "memory", "serch"],
  ]) {
    const { code, stdout, stderr } = await project.rkat(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    // A command without its subcommand prints its help.
    expect(stderr).toMatch(/^error: [A-Z`"].*\.\nhint: .*\.\n$|^Usage: rkat sessions/);
  }
});

test("a wrong command line is answered with the help of its command, also behind flags", async () => {
  const project = await Project.open();
  const { stderr } = await project.rkat(["--dir", ".", "--no-color", "memory", "serch"]);
  expect(stderr).toContain("`rkat memory --help` lists what it takes.");
});

test("a script gets a wrong command line as a failure in JSON", async () => {
  const project = await Project.open();
  for (const [args, said] of [
    [["sessions", "show", "--json"], "Missing required argument 'session'"],
    [["resume", "--output=jsonl"], "Missing required argument 'session'"],
    [["run", "hi", "--colour", "red", "--output", "json"], "Unknown option '--colour'"],
    [["run", "hi", "--max-tokens", "0", "--output", "jsonl"], "--max-tokens"],
    [["history", "--json"], "Unknown option '--json'"],
  ] as const) {
    const { code, stderr } = await project.rkat(args);
    expect(code).toBe(2);
    expect(JSON.parse(stderr)).toMatchObject({
      code: "INVALID_PARAMS",
      message: expect.stringContaining(said),
      hint: expect.any(String),
    });
  }
});

test("`init` creates a commented config.toml, and never changes an existing one", async () => {
  const project = await openProject();
  expect(await project.rkat(["init"])).toMatchObject({
    code: 0,
    stdout: "created  .rkat\ncreated  .rkat/.gitignore\ncreated  .rkat/config.toml\n",
  });
  expect(statSync(join(project.folder, ".rkat")).mode & 0o777).toBe(0o700);
  project.write(".rkat/config.toml", 'model = "a/b"\n');
  expect(await project.rkat(["init"])).toMatchObject({
    code: 0,
    stdout: ".rkat exists already. Nothing was changed.\n",
  });
  expect(readFileSync(join(project.folder, ".rkat/config.toml"), "utf8")).toBe('model = "a/b"\n');
});

test("`config` shows each value and where it comes from", async () => {
  const project = await Project.open({ config: 'model = "anthropic/claude"\n' });
  const { stdout } = await project.rkat(["config"], "", { RKAT_MAX_TOKENS: "77" });
  expect(stdout).toMatch(/^model +"anthropic\/claude" +\S+\/\.rkat\/config\.toml$/m);
  expect(stdout).toMatch(/^max_tokens +77 +RKAT_MAX_TOKENS$/m);
  expect(stdout).toMatch(/^memory\.enabled +true +default$/m);
  expect(await project.json(["config", "--json"])).toMatchObject({
    files: [
      { owner: "user", exists: false },
      { owner: "project", exists: true },
    ],
    settings: expect.arrayContaining([
      { key: "compaction.recent_turn_budget", value: 4, origin: "default" },
    ]),
  });
});

test("with a bad setting every command fails with code 3, and `config` still shows the rest", async () => {
  const project = await Project.open({ config: 'modle = "a/b"\nmax_tokens = 5\n' });
  const run = await project.rkat(["hello"]);
  expect(run.code).toBe(3);
  expect(run.stderr).toContain("config.toml: modle is not a setting. Did you mean model?");
  const config = await project.rkat(["config"]);
  expect(config.code).toBe(3);
  expect(config.stdout).toMatch(/^max_tokens +5 /m);
  expect((await project.rkat(["doctor"])).stdout).toContain("✗ config");
});

test("`.rkat` is found from the folders below it", async () => {
  const project = await Project.open({ config: "max_tokens = 5\n" });
  mkdirSync(join(project.folder, "src/deep"), { recursive: true });
  const inside = Object.create(project, { folder: { value: join(project.folder, "src/deep") } });
  expect((await inside.rkat(["config"])).stdout).toMatch(/^max_tokens +5 /m);
});

test("`capabilities` shows what is on", async () => {
  const project = await Project.open({ config: "[capabilities]\nmemory_store = false\n" });
  expect(await project.json(["capabilities", "--json"])).toMatchObject({
    capabilities: [
      { id: "session-store", available: true },
      { id: "memory-store", available: false },
      { id: "session-compaction", available: true },
    ],
  });
  const { stdout } = await project.rkat(["capabilities"]);
  expect(stdout).toMatch(/^off {2}memory-store/m);
});

test("a missing capability is reported in the specification's words, and turns still run", async () => {
  const provider = await providerForTest();
  const project = await Project.open({
    provider,
    config:
      "[capabilities]\nsession_store = false\nmemory_store = false\nsession_compaction = false\n",
  });
  expect(await project.rkat(["hi"])).toMatchObject({ code: 0, stdout: "ok\n" });
  const persistence = "error: Session persistence is disabled (build without 'session-store').";
  const compaction = "error: Session compaction is disabled (build without 'session-compaction').";
  const memory = "error: Session memory is disabled (build without 'memory-store').";
  const refused: [string[], string][] = [
    [["resume", "last", "hi"], persistence],
    [["continue", "hi"], persistence],
    [["sessions", "list"], persistence],
    [["sessions", "show", "last"], persistence],
    [["sessions", "delete", "last"], persistence],
    [["run", "--auto-compact-threshold", "4000", "hi"], compaction],
    [["run", "--compact-threshold", "4000", "hi"], compaction],
    [["run", "--recent-turn-budget", "2", "hi"], compaction],
    [["run", "--memory", "hi"], memory],
    [["memory", "search", "hi"], memory],
    [["memory", "stats"], memory],
  ];
  for (const [args, sentence] of refused) {
    const { code, stderr } = await project.rkat(args);
    expect({ args, code, said: stderr.split("\n")[0] }).toEqual({ args, code: 40, said: sentence });
  }
  expect(existsSync(join(project.folder, ".rkat/rkat.db"))).toBe(false);
});

test("`doctor` finds a damaged store and permissions that are too open, and fails", async () => {
  const project = await Project.open();
  project.write(".rkat/rkat.db", "this is no database, and it is long enough to be looked at");
  // Your umask may have made them private.
  for (const path of [".rkat", ".rkat/rkat.db"]) chmodSync(join(project.folder, path), 0o755);
  const { code, stdout } = await project.rkat(["doctor"]);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^✗ store .*rkat\.db: it is not a database \(file is not a database\)/m);
  expect(stdout).toMatch(/^✗ permissions .*chmod go=/m);
  const report = await project.rkat(["doctor", "--json"]);
  expect(report.code).toBe(1);
  expect(JSON.parse(report.stdout)).toMatchObject({ ok: false });
});

test("`doctor` names the processes that work in a session", async () => {
  const project = await Project.open();
  expect((await project.rkat(["sessions", "create", "--model", "ollama/a"])).code).toBe(0);
  expect((await project.rkat(["doctor"])).stdout).toMatch(/✓ leases +none\n/);
  const stores = sqliteStores({ path: join(project.folder, ".rkat", "rkat.db") });
  onTestFinished(() => stores.close());
  const owner = { id: "o", host: "harbour", pid: 4242 };
  await stores.sessions.acquire("session:s1", owner, 60_000);
  expect((await project.rkat(["doctor"])).stdout).toMatch(
    /✓ leases +session:s1 by process 4242 of harbour, until \d\d:\d\d:\d\d UTC or longer\n/,
  );
});

test("`doctor` fails when the store is not trusted, as every other command would", async () => {
  const project = await Project.open();
  const stores = sqliteStores({ path: join(project.folder, ".rkat/rkat.db") });
  await stores.sessions.list({});
  await stores.close();
  const env = { RKAT_TRUST: "" };
  const { code, stdout } = await project.rkat(["doctor"], "", env);
  expect([code, stdout]).toEqual([1, expect.stringMatching(/^✗ trust .*rkat trust/m)]);
  expect(await project.rkat(["trust"], "", env)).toMatchObject({ code: 0 });
  const trusted = await project.rkat(["doctor"], "", env);
  expect([trusted.code, trusted.stdout]).toEqual([0, expect.not.stringContaining("trust ")]);
});

test("`doctor` names keys, and shows none", async () => {
  const project = await Project.open();
  const { stdout } = await project.rkat(["doctor"], "", { OPENAI_API_KEY: "sk-very-secret" });
  expect(stdout).toContain("OPENAI_API_KEY is set");
  expect(stdout).not.toContain("sk-very-secret");
});

test("a pipe that is closed early is no failure", async () => {
  const project = await Project.open();
  const { child, ended } = project.start(["config"]);
  child.stdout?.destroy();
  expect(await ended).toMatchObject({ code: 0, stderr: "" });
});

async function runBin(folder: string, nodeFlags: readonly string[], args: readonly string[]) {
  const child = spawn(process.execPath, [...nodeFlags, RKAT, ...args], {
    cwd: folder,
    stdio: "pipe",
  });
  const closed = once(child, "close");
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: (await closed)[0], stdout, stderr };
}

test("bin/rkat.js starts the command, without Node's warning about its SQLite", async () => {
  const folder = await temporaryFolder();
  const { code, stdout, stderr } = await runBin(
    folder,
    [],
    ["memory", "stats", "--dir", folder, "--json"],
  );
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(JSON.parse(stdout)).toMatchObject({ entries: 0 });
});

test("bin/rkat.js lets other warnings through", async () => {
  const folder = await temporaryFolder();
  const warns = join(folder, "warns.mjs");
  writeFileSync(
    warns,
    'setTimeout(() => process.emitWarning("mind the gap", "ExperimentalWarning"), 1);',
  );
  const { stderr } = await runBin(folder, ["--import", warns], ["--version"]);
  expect(stderr).toContain("mind the gap");
});

test("the version is printed without loading the command", async () => {
  const folder = await temporaryFolder();
  const watches = join(folder, "watches.mjs");
  writeFileSync(
    watches,
    `import { registerHooks } from "node:module";
    registerHooks({
      load(url, context, next) {
        if (url.includes("/dist/")) console.error(url.split("/").at(-1));
        return next(url, context);
      },
    });`,
  );
  for (const flag of ["--version", "-V"]) {
    const { stdout, stderr } = await runBin(folder, ["--import", watches], [flag]);
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    // Its own file, in one or two parts.
    expect(stderr).toMatch(/^(?:cli[-\w]*\.js\n)+$/);
  }
});

test("a Node that is too old is reported in one line", async () => {
  const folder = await temporaryFolder();
  const old = join(folder, "old.cjs");
  writeFileSync(old, 'Object.defineProperty(process.versions, "node", { value: "20.20.2" });');
  const { code, stdout, stderr } = await runBin(folder, ["--require", old], ["--version"]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(
    /^error: rkat needs Node 22\.18 or newer, and this is Node 20\.20\.2; .*\n$/,
  );
});

test("`completion` writes a script for each shell, and `complete --` says what can follow", async () => {
  const project = await Project.open();
  for (const shell of ["bash", "zsh", "fish"]) {
    const { code, stdout } = await project.rkat(["completion", shell]);
    expect(code).toBe(0);
    expect(stdout).toContain("rkat complete --");
  }
  const { stdout: script } = await project.start(["completion", "bash"]).ended;
  project.write("completion.bash", script);
  const twice = spawnSync("bash", ["-c", "source ./completion.bash; source ./completion.bash"], {
    cwd: project.folder,
    encoding: "utf8",
  });
  expect({ status: twice.status, stderr: twice.stderr }).toEqual({ status: 0, stderr: "" });
  // A shell without the package bash-completion.
  const line = `rkat() { ${project.program.map(shellWord).join(" ")} "$@"; }; source ./completion.bash
    compopt() { :; }; COMP_WORDS=(rkat sessions sho) COMP_CWORD=2; __rkat_complete; echo "\${COMPREPLY[@]}"`;
  const bare = spawnSync("bash", ["--norc", "-c", line], {
    cwd: project.folder,
    env: project.env,
    encoding: "utf8",
  });
  expect([bare.stdout.trim(), bare.stderr]).toEqual(["show", ""]);
  const after = async (...words: string[]) =>
    (await project.rkat(["complete", "--", ...words])).stdout
      .split("\n")
      .map((line) => line.split("\t")[0]);
  expect(await after("mem")).toContain("memory");
  expect(await after("memory", "")).toEqual(expect.arrayContaining(["search", "forget"]));
  expect(await after("memory", "search", "--")).toContain("--neighbours");
  expect((await project.rkat(["completion", "tcsh"])).stderr).toContain("Allowed choices are");
});

test("a press of Tab runs nothing of what is typed, and writes to no file", async () => {
  const project = await Project.open();
  for (const shell of ["bash", "zsh"]) {
    const { stdout } = await project.start(["completion", shell]).ended;
    project.write(`completion.${shell}`, stdout);
  }
  project.write("notes.txt", "precious");
  const command = `rkat() { ${project.program.map(shellWord).join(" ")} "$@"; }`;
  const line = `${command}; source ./completion.bash; compopt() { :; }
    try() { COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); __rkat_complete; echo "\${COMPREPLY[@]}"; }
    try rkat run '$(touch ran)' '"\`touch ran\`' --mod
    try rkat sessions show last '>' notes.txt --j
    try rkat run "don't" 'a b' --mod
    try rkat import ./no`;
  const options = { cwd: project.folder, env: project.env, encoding: "utf8" } as const;
  const bash = spawnSync("bash", ["--norc", "-c", line], options);
  expect([bash.stdout, bash.stderr]).toEqual(["--model\n--json\n--model\n\n", ""]);
  expect(readFileSync(join(project.folder, "notes.txt"), "utf8")).toBe("precious");
  expect(existsSync(join(project.folder, "ran"))).toBe(false);
  // What stands before the last = goes through `eval` there.
  const zsh = readFileSync(join(project.folder, "completion.zsh"), "utf8");
  const [, pattern = ""] = /=~ '(.*)' \]\]/.exec(zsh) ?? [];
  expect(new RegExp(pattern).exec("--model=$(touch ran)=")?.[0]).toBe("--model=");
});

test("where rkat has nothing to offer, the shell offers files", async () => {
  const project = await Project.open();
  const after = async (...words: string[]) =>
    (await project.rkat(["complete", "--", ...words])).stdout.trim().split("\n").at(-1);
  expect([await after("import", "./tra"), await after("sessions", "")]).toEqual([":0", ":4"]);
  const { stdout } = await project.rkat(["completion", "bash"]);
  expect(stdout).toContain("complete -o default -F __rkat_complete rkat");
});

test("a file is refused as the project's folder", async () => {
  const project = await Project.open();
  const file = project.write("notes.md", "");
  const { code, stderr } = await project.rkat(["--dir", file, "sessions", "list"]);
  expect([code, stderr]).toEqual([2, expect.stringContaining("notes.md is not a folder.")]);
});

test("a file where the folder of the project's settings should be is refused with the way out", async () => {
  const project = await Project.open();
  project.write(".rkat", "");
  const { code, stderr } = await project.rkat(["sessions", "list"]);
  expect([code, stderr]).toEqual([3, expect.stringContaining("Remove it, or move it away.")]);
});

test("a folder that was removed is said, to who still stands in it", async () => {
  const { program, env, folder: cwd } = await Project.open();
  const line = `mkdir gone && cd gone && rmdir ../gone && ${program.map(shellWord).join(" ")} sessions list`;
  const { status, stderr } = spawnSync("sh", ["-c", line], { env, cwd, encoding: "utf8" });
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: "error: The folder that you are in was removed. Go to another one.\n",
  });
});

test("the version is printed as any other text: a closed pipe is no failure, a full disk is", async () => {
  const project = await openProject();
  const { child, ended } = project.start(["--version"]);
  child.stdout?.destroy();
  expect(await ended).toMatchObject({ code: 0, stderr: "" });
  if (!existsSync("/dev/full")) return;
  const full = spawnSync(
    "sh",
    ["-c", `exec "$0" "$1" --version > /dev/full`, process.execPath, RKAT],
    {
      env: project.env,
      encoding: "utf8",
    },
  );
  expect(full.status).toBe(1);
  expect(full.stderr).toBe("error: The output cannot be written (ENOSPC).\n");
});

test("a folder that is not there is named by every command, but those that fill a store", async () => {
  const project = await Project.open();
  for (const command of [
    ["run", "Hello."],
    ["continue", "Hello."],
    ["chat"],
    ["serve", "--port", "0"],
    ["rpc"],
    ["mcp"],
    ["inspect", "--no-open"],
    ["install", "claude-code", "--scope", "project"],
    ["uninstall", "claude-code", "--scope", "project"],
    ["sessions", "create"],
    ["memory", "add", "A note."],
    ["memory", "forget", "a"],
    ["knowledge", "add", "Use pnpm.", "--kind", "preference"],
    ["approvals", "list"],
    ["replay", "talk.jsonl"],
    ["backup", "nosuch.backup"],
    ["export", "-"],
    ["sessions", "context", "last"],
    ["sessions", "project"],
    ["knowledge", "list"],
    ["approvals", "revoke", "run_command"],
    ["mcp", "list"],
    ["capabilities"],
    ["config"],
  ]) {
    const { code, stderr } = await project.rkat(["--dir", "nosuch", ...command]);
    expect([command, code, stderr]).toEqual([
      command,
      2,
      expect.stringContaining(`There is no folder ${join(project.folder, "nosuch")}.`),
    ]);
  }
  const doctor = await project.rkat(["--dir", "nosuch", "doctor"]);
  expect(doctor).toMatchObject({ code: 1, stdout: expect.stringContaining("There is no folder") });
  expect(existsSync(join(project.folder, "nosuch"))).toBe(false);
});

test("`config` shows what the flags of the command line set", async () => {
  const project = await Project.open();
  const store = "postgres://ada:secret@127.0.0.1:1/x";
  const { stdout } = await project.rkat(["--store", store, "config", "--json"]);
  const { settings } = JSON.parse(stdout) as { settings: readonly { key: string }[] };
  expect(settings.find(({ key }) => key === "store")).toEqual({
    key: "store",
    value: "postgres://***@127.0.0.1:1/x",
    origin: "--store",
  });
});

test("`trust --show` changes nothing, so it goes with no --revoke", async () => {
  const project = await Project.open();
  await project.rkat(["init"]);
  const { code, stderr } = await project.rkat(["trust", "--show", "--revoke"]);
  expect([code, stderr]).toEqual([2, expect.stringContaining("cannot be used with")]);
});

test("commands that `doctor` and others name can be pasted into a shell", async () => {
  const project = await Project.open();
  const as = ["--dir", "my notes"];
  await project.rkat([...as, "init"]);
  await project.rkat([...as, "memory", "add", "hello"]);
  const store = join(project.folder, "my notes/.rkat/rkat.db");
  chmodSync(store, 0o644);
  const { stdout } = await project.rkat([...as, "doctor"]);
  expect(stdout).toContain(`Run: chmod go= '${store}'`);
  const servers = await project.rkat([...as, "mcp", "list"]);
  expect(servers.stderr).toContain("`rkat --dir 'my notes' mcp add ");
  const planned = await project.rkat([
    ...as,
    "install",
    "claude-code",
    "--scope=project",
    "--print",
  ]);
  expect(planned.stderr).toContain("`rkat --dir 'my notes' install claude-code --scope project`");
  expect(planned.stdout).toContain(join(project.folder, "my notes"));
});

test.skipIf(!hasScript)("`--no-color` does what NO_COLOR does", async () => {
  const project = await Project.open();
  const written = async (flags: string) =>
    (await chatOnTerminal(project, {}, `${ON_TERMINAL} ${flags}`).ends()).written;
  expect(await written("capabilities")).toContain("\u001b[32m");
  expect(await written("--no-color capabilities")).not.toContain("\u001b");
  expect(await written("capabilities --no-color")).not.toContain("\u001b");
});

test("an address of yours is shown without what may be a key in it", async () => {
  const project = await Project.open();
  await project.rkat(["mcp", "add", "docs", "--url", "https://ada:secret@docs.example/mcp?key=k1"]);
  for (const command of [
    ["config"],
    ["config", "--json"],
    ["mcp", "list"],
    ["mcp", "list", "--json"],
  ]) {
    const { stdout } = await project.rkat(command);
    expect(stdout).toContain("https://***@docs.example/mcp?***");
    expect(stdout).not.toMatch(/secret|k1/);
  }
});

test("a command that would do nothing says what it lacks", async () => {
  const project = await Project.open();
  await project.rkat(["knowledge", "add", "Always use pnpm."]);
  for (const [command, said] of [
    [["knowledge", "edit", "preference"], "Nothing to change is named."],
    [["history", "search"], "There is no query."],
    [["history", "search", " "], "There is no query."],
  ] as const) {
    const { code, stderr } = await project.rkat(command);
    expect([code, stderr]).toEqual([2, expect.stringContaining(said)]);
  }
});

test.each([
  [["handoff", "last", "--session", "x"], "--session is for a file with several sessions"],
  [["inspect", "--export", "page.html", "--write"], "'--write' cannot be used with"],
  [["mcp", "--port", "8081"], "--port is for a server over HTTP."],
  [["mcp", "--user-tokens", "tokens.json"], "--user-tokens is for a server over HTTP."],
])("a flag that nothing would heed is refused: %j", async (command, said) => {
  const project = await Project.open();
  const { code, stderr } = await project.rkat(command);
  expect([code, stderr]).toEqual([2, expect.stringContaining(said)]);
});

test.each([
  [["restore", "gone"], "gone cannot be read: no such file."],
  [["restore", "file/gone"], "file/gone cannot be read: a part of its path is not a folder."],
  [["serve", "--user-tokens", "gone"], "cannot be read from gone: no such file."],
  [["serve", "--user-tokens", "."], "cannot be read from .: it is a folder."],
  [["replay", "gone"], "Cannot read gone: no such file."],
])("a file that cannot be read is told in words, with the way out: %j", async (command, said) => {
  const project = await Project.open();
  project.write("file", "");
  const { stderr } = await project.rkat(command);
  expect(stderr).toContain(said);
  expect(stderr).toMatch(/\nhint: (Name|Write) a /);
  expect(stderr).not.toMatch(/ENO|EIS/);
});

test("a hint says what the message does not, or is left out", async () => {
  const project = await Project.open();
  await project.rkat(["sessions", "create", "--model", "ollama/none"]);
  const { code, stderr } = await project.rkat(["sessions", "task", "last", "--done", "7"]);
  expect([code, stderr]).toEqual([17, "error: The task has no sub-task 7; it has none.\n"]);
});

test("where no store is, nothing is said to be sound or written again", async () => {
  const project = await Project.open();
  for (const command of [
    ["repair"],
    ["sessions", "project"],
    ["memory", "verify"],
    ["memory", "reindex"],
  ]) {
    const { code, stderr } = await project.rkat(command);
    expect([code, stderr]).toEqual([17, expect.stringContaining("There is no store at ")]);
  }
});

test("a list that goes on after an entry that is not there is refused, and is neither empty nor the first page", async () => {
  const project = await Project.open();
  await project.rkat(["memory", "add", "The port is 4310."]);
  await project.rkat(["knowledge", "add", "Always use pnpm."]);
  for (const [kind, after, expected] of [
    ["memory", "gone", 2],
    ["knowledge", "gone", 15],
    ["knowledge", "", 2],
  ] as const) {
    const { code, stdout } = await project.rkat([kind, "list", "--after", after, "--json"]);
    expect([code, stdout]).toEqual([expected, ""]);
  }
  const listed = (await project.json(["memory", "list", "--json"])) as { id: string }[];
  const last = listed.at(-1)?.id ?? "";
  expect(await project.json(["memory", "list", "--after", last, "--json"])).toEqual([]);
});
