import { on, once } from "node:events";
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { ERRORS } from "../src/core/errors.ts";
import { reasonOf } from "../src/import/find-transcripts.ts";
import { importTranscripts } from "../src/index.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { fileOfBytes } from "../src/transcripts/found-file.ts";
import { readDatabase } from "../src/transcripts/opencode/opencode-format.ts";
import { RKAT } from "./support/built-package.ts";
import { ClaudeLines } from "./support/claude-lines.ts";
import { ON_TERMINAL } from "./support/on-terminal.ts";
import { Project } from "./support/rkat-process.ts";
import { type ChildProcess, spawn } from "./support/start-process.ts";
import { IN_LONG_FORM, LONG, sampled } from "./support/trials.ts";

const idOf = (number: number) => `${number}f3c2b1a-1111-4222-8333-444455556666`;

/** A home with transcripts of Claude Code, and projects in it. */
async function openHome() {
  const project = await Project.open();
  const home = join(project.folder, "..");
  const transcripts = join(home, ".claude", "projects", "talks");
  mkdirSync(transcripts, { recursive: true });
  return {
    project,
    home,
    /** A session that was held in a folder, with a question and an answer. */
    say(number: number, cwd: string, question: string): string {
      const id = idOf(number);
      const path = join(transcripts, `${id}.jsonl`);
      const lines = new ClaudeLines(id, { cwd }).user(question).text(`msg_${id}`, "I see.");
      writeFileSync(path, String(lines));
      return path;
    },
  };
}

/** What a store has, by the folder that it belongs to. */
async function entriesIn(project: Project, folder: string) {
  const { stdout } = await project.rkat(["--dir", folder, "memory", "export"]);
  const lines = stdout.split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line) as { content: string; role: string });
}

/** What a user said of it. */
async function storedIn(project: Project, folder: string): Promise<readonly string[]> {
  return (await entriesIn(project, folder))
    .filter(({ role }) => role === "user")
    .map(({ content }) => content)
    .sort();
}

const isLinux = process.platform === "linux";

/** Runs the command in a process, under another program that limits it. */
async function runUnder(
  program: readonly string[],
  { env, folder }: Project,
  args: readonly string[],
) {
  const [command = "", ...before] = [...program, process.execPath, RKAT, ...args];
  const child: ChildProcess = spawn(command, before, { env, cwd: folder });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout as NodeJS.ReadableStream),
    text(child.stderr as NodeJS.ReadableStream),
    once(child, "close"),
  ]);
  return { code: code as number | null, stdout, stderr };
}

/** Root may read everything. */
const WITHOUT_ROOTS_RIGHTS =
  process.getuid?.() === 0
    ? ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"]
    : ["env"];

test("a session goes to the store of its project, and to the user-wide one without any", async () => {
  const { project, home, say } = await openHome();
  const shop = join(home, "shop");
  mkdirSync(join(shop, "api"), { recursive: true });
  mkdirSync(join(home, "plain"));
  await project.rkat(["--dir", shop, "init"]);
  say(1, join(shop, "api"), "Where is the price rounded?");
  say(2, join(home, "plain"), "Which port has staging?");
  say(3, "/gone/for/good", "Why is the build slow?");
  const { stdout, code } = await project.rkat(["import", "-y"]);
  expect([code, stdout]).toEqual([
    0,
    expect.stringMatching(/^Added 6 messages of 3 sessions\.\n {2}\d to ~\/.*\n {2}\d to ~\/.*\n$/),
  ]);
  expect(stdout).toContain("  2 to ~/shop/.rkat\n");
  expect(stdout).toContain("  4 to ~/.rkat\n");
  expect(await storedIn(project, shop)).toEqual(["Where is the price rounded?"]);
  expect(await storedIn(project, home)).toEqual([
    "Which port has staging?",
    "Why is the build slow?",
  ]);
  expect(existsSync(join(home, "plain", ".rkat"))).toBe(false);
  const again = await project.rkat(["import", "-y"]);
  expect(again.stdout).toBe("Added 0 messages of 3 sessions. 6 were there already.\n");
});

test("nothing is written to a checkout that you do not trust", async () => {
  const { project, home, say } = await openHome();
  const untrusting = { RKAT_TRUST: "" };
  const mine = join(home, "mine");
  mkdirSync(mine);
  await project.rkat(["--dir", mine, "memory", "add", "A note."], "", untrusting);
  // What came with the checkout, store and settings and all.
  const checkout = join(home, "checkout");
  cpSync(mine, checkout, { recursive: true });
  writeFileSync(join(checkout, ".rkat", "config.toml"), "[capabilities]\nsession_store = true\n");
  const before = readdirSync(join(checkout, ".rkat"));
  say(1, checkout, "What does this checkout do?");
  say(2, mine, "What do I do?");
  const { stdout } = await project.rkat(["import", "-y"], "", untrusting);
  expect(stdout).toContain("  2 to ~/.rkat\n");
  expect(stdout).toContain("  2 to ~/mine/.rkat\n");
  expect(readdirSync(join(checkout, ".rkat"))).toEqual(before);
  expect(await storedIn(project, home)).toEqual(["What does this checkout do?"]);
});

test("an import goes to the store that you name, and to nothing else", async () => {
  const { project, home, say } = await openHome();
  const [shop, library] = [join(home, "shop"), join(home, "library")];
  mkdirSync(shop);
  await project.rkat(["--dir", shop, "init"]);
  say(1, shop, "Where is the price rounded?");
  say(2, home, "Which port has staging?");
  const { stdout } = await project.rkat(["--dir", library, "import", "-y"]);
  expect(stdout).toContain("  4 to ~/library/.rkat\n");
  expect(existsSync(join(home, ".rkat"))).toBe(false);
  expect(await storedIn(project, shop)).toEqual([]);
});

test("a session stays in the store that has it, and comes back to a project whose store was deleted", async () => {
  const { project, home, say } = await openHome();
  const shop = join(home, "shop");
  mkdirSync(shop);
  const first = say(1, shop, "Where is the price rounded?");
  await project.rkat(["import", "-y"]);
  await project.rkat(["--dir", shop, "init"]);
  const more = new ClaudeLines(idOf(1), { cwd: shop })
    .user("Where is the price rounded?")
    .text(`msg_${idOf(1)}`, "I see.")
    .user("And the tax?");
  writeFileSync(first, String(more));
  say(2, shop, "Which currency is it?");
  const grown = await project.rkat(["import", "-y"]);
  expect(grown.stdout).toContain("  1 to ~/.rkat\n");
  expect(grown.stdout).toContain("  2 to ~/shop/.rkat\n");
  expect(await storedIn(project, home)).toEqual(["And the tax?", "Where is the price rounded?"]);

  rmSync(join(shop, ".rkat"), { recursive: true });
  await project.rkat(["--dir", shop, "init"]);
  await project.rkat(["import", "-y"]);
  expect(await storedIn(project, shop)).toEqual(["Which currency is it?"]);
});

test("what was forgotten in the user-wide store does not come back with a project's store", async () => {
  const { project, home, say } = await openHome();
  const shop = join(home, "shop");
  mkdirSync(shop);
  say(1, shop, "The staging password is in the drawer of Ada.");
  await project.rkat(["import", "-y"]);
  const [entry] = (await project.json(["memory", "search", "drawer of Ada", "--json"])) as {
    id: string;
  }[];
  await project.rkat(["--dir", home, "memory", "forget", entry?.id ?? "", "--yes"]);
  await project.rkat(["--dir", shop, "init"]);
  say(2, shop, "The staging password is in the drawer of Ada.");
  await project.rkat(["import", "-y"]);
  expect(await storedIn(project, shop)).toEqual([]);
  expect(await entriesIn(project, shop)).toMatchObject([{ content: "I see." }]);
});

test("--json prints one object with the counts, and asks nothing", async () => {
  const { project, say } = await openHome();
  const file = say(1, "/home/ada/app", "Why is the build slow?");
  appendFileSync(file, "no JSON\n");
  expect(await project.json(["import", "--json"])).toEqual({
    sessions: 1,
    messages: 2,
    added: 2,
    already_there: 0,
    skipped: [{ file, line: 3, reason: "it is not JSON" }],
    unknown_types: {},
    redacted: {},
    other_branches: 0,
    left_out: 0,
    still_written: [],
    stores: [{ store: "~/.rkat", added: 2, sessions: [`claude-code:${idOf(1)}`] }],
  });
  appendFileSync(file, '{"type":"user"');
  expect(await project.json(["import", "--json"])).toMatchObject({
    still_written: [file],
    stores: [],
  });
  expect(await project.json(["import", "--json"])).toMatchObject({ added: 0, already_there: 2 });
});

test("--dry-run counts everything, and stores nothing", async () => {
  const { project, home, say } = await openHome();
  say(1, "/home/ada/app", "Why is the build slow?");
  const { stdout } = await project.rkat(["import", "--dry-run"]);
  expect(stdout).toBe("Would add 2 messages of 1 session.\n  2 to ~/.rkat\n");
  expect(existsSync(join(home, ".rkat"))).toBe(false);
});

test("where nothing is found, one sentence says so, and what to do", async () => {
  const { project, home } = await openHome();
  const { code, stderr } = await project.rkat(["import", "codex"]);
  expect([code, stderr]).toEqual([
    ERRORS.NOT_POSSIBLE.exitCode,
    expect.stringMatching(
      /^error: No transcripts of codex were found in .*\.codex.sessions or .*\nhint: .*\n$/,
    ),
  ]);
  const empty = join(home, "empty");
  mkdirSync(empty);
  expect((await project.rkat(["import", empty])).stderr).toContain(
    `error: No transcripts were found in ${empty}.`,
  );
  writeFileSync(join(empty, "notes.json"), '{"a note": "of no agent"}');
  const { stdout } = await project.rkat(["import", empty]);
  expect(stdout).toMatch(/^Added 0 messages of 0 sessions\.\nSkipped:/);
  const named = join(empty, "notes.json");
  expect((await project.rkat(["import", named])).stderr).toContain(
    `error: Nothing was imported from ${named}: its format is not known.`,
  );
  expect(existsSync(join(home, ".rkat"))).toBe(false);
});

test("--scope says which store gets everything", async () => {
  const { project, home, say } = await openHome();
  const shop = join(home, "shop");
  mkdirSync(shop);
  await project.rkat(["--dir", shop, "init"]);
  say(1, shop, "Where is the price rounded?");
  const { stdout } = await project.rkat(["import", "-y", "--scope", "user"]);
  expect(stdout).toContain("  2 to ~/.rkat\n");
  const there = await project.rkat(["import", "-y", "--scope", "project"]);
  expect(there.stdout).toContain("  2 to ~/project/.rkat\n");
});

test.runIf(isLinux)("on a terminal it asks once, and a no imports nothing", async () => {
  const { project, home, say } = await openHome();
  say(1, "/home/ada/app", "Why is the build slow?");
  const answer = async (typed: string) => {
    const command = `${ON_TERMINAL} import`;
    const child = spawn("script", ["-qec", command, "/dev/null"], { env: project.env, cwd: home });
    child.stdin.write(typed);
    const shown = await text(child.stdout);
    return shown.replaceAll("\r", "");
  };
  const refused = await answer("n\n");
  expect(refused).toMatch(/claude-code +1 +\d+ KB/);
  expect(refused).toContain("otherwise to ~/.rkat.");
  expect(refused.split("Import 1 file? [y/N]")).toHaveLength(2);
  expect(refused).toContain("Nothing was imported.");
  expect(existsSync(join(home, ".rkat", "rkat.db"))).toBe(false);
  const agreed = await answer("y\n");
  expect(agreed).toContain("Added 2 messages of 1 session.");
  expect(agreed).toContain("Search it: ");
});

test.each(sampled(["SIGINT", "SIGTERM"] as const, { of: 2, at: 0 }, "cases"))(
  "--watch takes in what is added, until %s",
  async (signal) => {
    const { project, say } = await openHome();
    const file = say(1, "/home/ada/app", "Why is the build slow?");
    const { child, ended } = project.start(["import", "--watch"]);
    const told = async (pattern: RegExp) => {
      let sofar = "";
      for await (const chunk of on(child.stdout as NodeJS.ReadableStream, "data")) {
        sofar += String(chunk);
        if (pattern.test(sofar)) return;
      }
    };
    await told(/Added 2 messages/);
    appendFileSync(file, `${String(new ClaudeLines(idOf(9)).user("And now?")).trim()}\n`);
    await told(/^\d\d:\d\d:\d\d {2}1 message to ~\/\.rkat\n$/);
    child.kill(signal);
    const { code, stderr } = await ended;
    expect([code, stderr]).toEqual([0, "Stopped. 3 messages added. Import again to go on.\n"]);
  },
);

test.runIf(isLinux)(
  "a file that cannot be read is one skip, and the next import gets it",
  async () => {
    const { project, home, say } = await openHome();
    const closed = say(1, "/home/ada/app", "Why is the build slow?");
    say(2, "/home/ada/app", "Which port has staging?");
    chmodSync(closed, 0);
    const { stdout, code } = await runUnder(WITHOUT_ROOTS_RIGHTS, project, ["import", "-y"]);
    expect([code, stdout]).toEqual([
      0,
      `Added 2 messages of 1 session.\n  2 to ~/.rkat\nSkipped:\n  ${closed}: it cannot be read: you have no permission to read it.\n`,
    ]);
    chmodSync(closed, 0o600);
    expect((await project.rkat(["import", "-y"])).stdout).toContain(
      "Added 2 messages of 2 sessions.",
    );
    expect(await storedIn(project, home)).toHaveLength(2);
  },
);

test.runIf(isLinux)(
  "on a full disk one sentence says so, and the next import goes on",
  async () => {
    const { project, home, say } = await openHome();
    for (let number = 0; number < 9; number += 1) {
      say(
        number,
        "/home/ada/app",
        `Question ${number}: ${"why is it slow, and what is it? ".repeat(3000)}`,
      );
    }
    const limited = ["prlimit", "--fsize=400000"];
    const { code, stderr } = await runUnder(limited, project, ["import", "-y"]);
    expect(code).toBe(ERRORS.SESSION_STORE_ERROR.exitCode);
    expect(stderr).toMatch(/^error: .*rkat\.db .*\nhint: .*\n$/);
    expect(stderr).not.toMatch(/EFBIG|ENOSPC|bug in rkat/);
    const { stdout } = await project.rkat(["import", "-y"]);
    expect(stdout).toMatch(/^Added \d+ messages of 9 sessions\./);
    expect(await storedIn(project, home)).toHaveLength(9);
  },
);

// Takes ten seconds: so long a command waits for a store that is locked. The next test is its sample.
test.skipIf(!LONG)(
  "a store that another process keeps locked is named, and the next import goes on",
  { ...IN_LONG_FORM, timeout: 60_000 },
  async () => {
    const { project, home, say } = await openHome();
    const first = say(1, "/home/ada/app", "Why is the build slow?");
    await project.rkat(["import", "-y"]);
    appendFileSync(first, "\n");
    say(2, "/home/ada/app", "Which port has staging?");
    const file = join(home, ".rkat", "rkat.db");
    const other = new DatabaseSync(file);
    other.exec("BEGIN EXCLUSIVE");
    const { code, stderr } = await project.rkat(["import", "-y"]);
    other.exec("ROLLBACK");
    other.close();
    expect([code, stderr]).toEqual([
      ERRORS.SESSION_STORE_ERROR.exitCode,
      expect.stringMatching(/^error: .*rkat\.db is busy: .*\nhint: Try again.*\n$/),
    ]);
    expect((await project.rkat(["import", "-y"])).stdout).toContain(
      "Added 2 messages of 2 sessions.",
    );
  },
);

test("an import into a locked store ends when its wait does, and the next one goes on", async () => {
  const { home, say } = await openHome();
  const transcript = say(1, "/home/ada/app", "Why is the build slow?");
  const path = join(home, "rkat.db");
  const stores = sqliteStores({ path, busyTimeoutMs: 50 });
  onTestFinished(() => stores.close());
  await stores.sessions.list({});
  const other = new DatabaseSync(path);
  other.exec("BEGIN EXCLUSIVE");
  const refused = importTranscripts({ stores, path: transcript });
  await expect(refused).rejects.toMatchObject({
    code: "SESSION_STORE_ERROR",
    message: expect.stringContaining("rkat.db is busy: "),
    hint: expect.stringContaining("Try again"),
  });
  other.exec("ROLLBACK");
  other.close();
  expect(await importTranscripts({ stores, path: transcript })).toMatchObject({ added: 2 });
});

// Takes five seconds: so long an import waits for another program's database. The next test is its sample.
test.skipIf(!LONG)(
  "a database of opencode that is locked is one sentence, and the next import gets it",
  { ...IN_LONG_FORM, timeout: 60_000 },
  async () => {
    const { project, home } = await openHome();
    const file = join(home, "opencode.db");
    const db = new DatabaseSync(file);
    db.exec("CREATE TABLE session (id TEXT); BEGIN EXCLUSIVE");
    const { code, stderr } = await project.rkat(["import", "opencode", file, "-y"]);
    expect([code, stderr]).toEqual([
      ERRORS.INVALID_PARAMS.exitCode,
      expect.stringContaining(
        `${file}: it cannot be read: another program keeps it locked. Close that program, or import again later.\n`,
      ),
    ]);
    db.exec("ROLLBACK");
    db.close();
    expect((await project.rkat(["import", "opencode", file, "-y"])).stdout).not.toContain(
      "Skipped",
    );
  },
);

test("a database of opencode that stays locked is given up with the reason", async () => {
  const { home } = await openHome();
  const path = join(home, "opencode.db");
  const db = new DatabaseSync(path);
  db.exec("CREATE TABLE session (id TEXT); BEGIN EXCLUSIVE");
  const nothing = () => {};
  const notes = { skip: nothing, unknown: nothing, otherBranch: nothing, unfinished: nothing };
  const read = () =>
    Array.fromAsync(
      readDatabase(fileOfBytes(path, new Uint8Array()), { ...notes, readOn: nothing }, 20),
    );
  const error = await read().catch((error) => error);
  expect(reasonOf(error)).toContain("another program keeps it locked");
  db.exec("ROLLBACK");
  db.close();
  expect(await read()).toEqual([]);
});

test("a named file that cannot be used is an error with the reason, and a link to a transcript is read", async () => {
  const { project, home, say } = await openHome();
  const wrong = join(project.folder, "package.json");
  writeFileSync(wrong, '{"private": true}');
  const { exitCode } = ERRORS.INVALID_PARAMS;
  const failed = await project.rkat(["import", wrong]);
  expect([failed.code, failed.stdout]).toEqual([exitCode, ""]);
  expect(failed.stderr).toContain(`Nothing was imported from ${wrong}: its format is not known.`);
  const asJson = await project.rkat(["import", wrong, "--json"]);
  expect(asJson.code).toBe(exitCode);
  expect(JSON.parse(asJson.stdout).skipped).toEqual([
    {
      file: wrong,
      reason: expect.stringMatching(
        /^its format is not known\. It is an object of JSON\. Known are /,
      ),
    },
  ]);
  const link = join(project.folder, "link.jsonl");
  symlinkSync(say(1, home, "What is behind the link?"), link);
  expect((await project.rkat(["import", link])).stdout).toContain("Added 2 messages of 1 session.");
});

test("what is wrong on the command line is said before anything is read", async () => {
  const { project, home, say } = await openHome();
  say(1, home, "Which port does staging use?");
  const failed = async (...args: string[]) => {
    const { code, stderr } = await project.rkat(args);
    expect(code).toBe(ERRORS.INVALID_PARAMS.exitCode);
    return stderr;
  };
  expect(await failed("import", "--since", "someday")).toMatch(/^error: .*since/);
  expect(await failed("install", "emacs")).toBe(
    'error: "emacs" is not valid for <agent>. Allowed choices are claude-code, codex, cursor, gemini, copilot, vscode, cline, roo, kiro, windsurf, zed, amp, crush, qwen, opencode, pi.\nhint: `rkat install --help` lists what it takes.\n',
  );
  expect(await failed("handoff", "last", "--to", "emacs")).toContain(
    'error: "emacs" is not valid for --to <agent>. Allowed choices are',
  );
  const nowhere = join(home, "not there");
  expect(await failed("--dir", nowhere, "sessions", "list")).toBe(
    `error: There is no folder ${nowhere}.\nhint: Name the project's folder with --dir. \`rkat --dir '${nowhere}' init\` makes one.\n`,
  );
  const { stdout, stderr } = await project.rkat(["import", "--project", nowhere, "--yes"]);
  expect(stdout).toBe("Added 0 messages of 0 sessions.\n");
  expect(stderr).toBe(`No session was found for --project '${nowhere}'.\n`);
});

test("what was denied is listed from the user-wide store in a folder without a store of its own", async () => {
  const { project, home, say } = await openHome();
  const path = say(1, home, "Clean up.");
  const refused =
    "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to proceed, the user said:\nKeep the build.";
  const lines = new ClaudeLines(idOf(1), { cwd: home })
    .user("Clean up.")
    .call("msg_1", "toolu_1", "Bash", { command: "rm -r build" })
    .result("toolu_1", refused, { is_error: true });
  writeFileSync(path, String(lines));
  await project.rkat(["import", "--yes"]);
  const { stdout } = await project.rkat(["knowledge", "list"]);
  expect(stdout).toContain("The user denied this: Keep the build.");
  const [, id = ""] = /^ +(correction:\S+)/m.exec(stdout) ?? [];
  expect((await project.rkat(["knowledge", "show", id])).stdout).toContain("Keep the build.");
  const here = await project.rkat(["knowledge", "list", "--scope", "project"]);
  expect(here).toMatchObject({ code: 0, stdout: "", stderr: "No matching entries.\n" });
  const forgot = await project.rkat(["knowledge", "forget", id, "--scope", "user"]);
  expect(forgot.stderr).toBe(`Forgot ${id}.\n`);
  expect((await project.rkat(["knowledge", "list"])).stdout).toBe("");
});

test("a session is shown with the compactions that its agent made", async () => {
  const { project, say } = await openHome();
  const path = say(1, project.folder, "Fix the parser.");
  const lines = new ClaudeLines(idOf(1)).user("Fix the parser.").text("a1", "Done.");
  const compact = (summary: string) => {
    lines.add("system", { subtype: "compact_boundary", content: "Compacted" });
    lines.user(summary, { isCompactSummary: true });
    writeFileSync(path, String(lines));
  };
  const show = async () => await project.rkat(["sessions", "show", "last"]);
  const json = async () => await project.json(["sessions", "show", "last", "--json"]);

  compact("They fixed the parser.");
  await project.rkat(["import", "claude-code", "-y", "--scope", "project"]);
  expect((await show()).stdout).toMatch(/^compactions +0, and 1 by claude-code$/m);
  lines.user("And the docs?").text("a2", "They are next.");
  compact("They wrote the docs.");
  await project.rkat(["import", "claude-code", "-y", "--scope", "project"]);
  expect((await show()).stdout).toMatch(/^compactions +0, and 2 by claude-code$/m);
  expect(await json()).toMatchObject({ compactions: 0, recorded_compactions: 2 });
});

test("an empty path, such as a script's unset variable, imports nothing of the folder", async () => {
  const { project } = await openHome();
  project.write(
    "talk.jsonl",
    '{"role":"user","content":"Hello."}\n{"role":"assistant","content":"Hi."}',
  );
  const { code, stderr } = await project.rkat(["import", "", "--yes"]);
  expect([code, stderr]).toEqual([2, expect.stringContaining('"" is no agent, and no file')]);
  const ofAgent = await project.rkat(["import", "claude-code", "", "--yes"]);
  expect([ofAgent.code, ofAgent.stderr]).toEqual([2, expect.stringContaining("path is empty")]);
});

test("two paths are refused for what they are", async () => {
  const project = await Project.open();
  for (const name of ["one.json", "two.json"]) writeFileSync(join(project.folder, name), "[]");
  const { code, stderr } = await project.rkat(["import", "one.json", "two.json"]);
  expect([code, stderr]).toEqual([2, expect.stringContaining("An import takes one path.")]);
});

test("an empty folder imports nothing of all projects, and reads and changes nothing of this one", async () => {
  const { project, say } = await openHome();
  say(1, "/elsewhere", "Our secret plan.");
  await project.rkat(["memory", "add", "A note."]);
  for (const args of [
    ["import", "-y", "--scope", "project", "--project", ""],
    ["sessions", "list", "--project", ""],
    ["memory", "search", "note", "--project", ""],
    ["--dir", "", "memory", "list"],
  ]) {
    const { code, stdout, stderr } = await project.rkat(args);
    expect([args, code, stdout, stderr]).toEqual([args, 2, "", expect.stringMatching(/empty/)]);
  }
  expect(await storedIn(project, project.folder)).toEqual(["A note."]);
});

test("every folder is below the root", async () => {
  const { project, say } = await openHome();
  say(1, "/elsewhere", "What is the plan?");
  await project.rkat(["import", "-y", "--scope", "project", "--project", "/"]);
  expect(await storedIn(project, project.folder)).toEqual(["What is the plan?"]);
});

test("why a file was skipped ends with one full stop", async () => {
  const { project } = await openHome();
  project.write("notes/a.json", '{"a": 1}');
  project.write("notes/b.json", '{"b": 1}');
  const { stdout } = await project.rkat(["import", "notes", "--yes"]);
  expect(stdout).toMatch(/a\.json: its format is not known\. It is an object of JSON\.$/m);
});

test("what stores nothing has nothing to watch", async () => {
  const project = await Project.open();
  const { code, stderr } = await project.rkat(["import", "--watch", "--dry-run", "--yes"]);
  expect([code, stderr]).toEqual([2, expect.stringContaining("cannot be used with option")]);
});
