import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ClaudeLines } from "./support/claude-lines.ts";
import { Project } from "./support/rkat-process.ts";
import { TRANSCRIPT_SAMPLES, transcriptBytes } from "./support/transcript-samples.ts";
import { LONG, sampled } from "./support/trials.ts";
import { wanderingSession } from "./support/wandering-session.ts";

const ID = "11111111-2222-4333-8444-555555555555";

const REFUSED = "The user doesn't want to proceed with this tool use. To tell you how to proceed,";

const claudeSession = () =>
  new ClaudeLines(ID)
    .user("Fix the parser. Never touch src/legacy.ts.")
    .text("a1", "I read it.")
    .call("a2", "t1", "Edit", { file_path: "src/parser.ts" })
    .result("t1", "edited")
    .call("a2", "t2", "Bash", { command: "git push --force" })
    .result("t2", `${REFUSED} the user said:\nNever force-push to main.`, { is_error: true })
    .text("a3", "Done. We will use a table instead of a switch.")
    .user("And the docs?")
    .text("a4", "They are next.")
    .toString();

test("rkat handoff writes the same for a transcript and for the session imported from it", async () => {
  const project = await Project.open();
  const file = project.write(`${ID}.jsonl`, claudeSession());
  const read = await project.rkat(["handoff", file]);
  expect(read.code).toBe(0);
  expect(read.stderr).toMatch(/^size +[\d ]+ of at most 8 000 tokens$/m);
  expect(read.stdout).toContain(
    "; answered; changed src/parser.ts; 1 call refused] Fix the parser. Never touch src/legacy.ts.\n",
  );
  expect(read.stdout).toContain("] Never touch src/legacy.ts.\n");
  expect(read.stdout).toMatch(/^> \[user #\d+\] Never force-push to main\.$/m);
  expect(read.stdout).toContain("] We will use a table instead of a switch.\n");
  expect(read.stdout).toContain("] src/parser.ts\n");
  expect(read.stdout).toContain(`rkat import ${join(project.folder, file)}\n`);
  expect((await project.rkat(["sessions", "list"])).stderr).toBe("No matching sessions.\n");

  await project.rkat(["import", file, "--yes"]);
  const imported = await project.rkat(["handoff", "last"]);
  expect(imported.stdout).toContain(
    `rkat memory search "what you look for" --session claude-code:${ID}\n`,
  );
  expect(imported.stdout).toContain(`claude --resume ${ID}`);
  expect(imported.stdout).not.toContain("rkat import");
  const quotes = (text: string) =>
    text
      .replace(/## Where the rest is[\s\S]*?\n\n/, "")
      .replaceAll(/#\d+(?=[\];])/g, "#")
      .replace(/^> id: .*$/m, "");
  expect(quotes(imported.stdout)).toBe(quotes(read.stdout));
  // Claude Code names it without "claude-code:".
  const { stdout } = await project.rkat(["handoff", ID.slice(0, 8)]);
  expect(quotes(stdout)).toBe(quotes(read.stdout));
});

/** In MB: what a process may hold besides the message grows with it. */
const [LONG_MESSAGE, HEAP] = LONG ? [20, 160] : [3, 47];

// Each takes over two seconds: a process of its own reads the message, with hardly more memory than it needs.
describe(`a message of ${LONG_MESSAGE} MB takes only a few times its size`, () => {
  const long = "the build of port 8080 failed, and we use pnpm instead of npm. ".repeat(
    16_000 * LONG_MESSAGE,
  );
  const env = { NODE_OPTIONS: `--max-old-space-size=${HEAP}` };
  const lines = () => new ClaudeLines(ID).user("Fix it.");

  test("in rkat handoff", async () => {
    const project = await Project.open();
    const session = lines().text("a1", long).user("Go on.").text("a2", "OK.");
    const file = project.write(`${ID}.jsonl`, session.toString());
    const { code, stdout } = await project.start(["handoff", file], "", env).ended;
    expect(code).toBe(0);
    expect(stdout).toContain("> the build of port 8080 failed, and we use pnpm");
    expect(stdout).toContain("[…]");
    expect(stdout).toContain("[user #3]\n> Go on.\n");
  });

  test.each(sampled(["answer", "prompt", "result"], { of: 3, at: 0 }, "cases"))(
    "in rkat replay: %s",
    async (kind) => {
      const project = await Project.open();
      const session = lines();
      if (kind === "answer") session.text("a1", long);
      else if (kind === "prompt") session.text("a1", "Of what?").user(long);
      else session.call("a1", "t1").result("t1", long);
      const file = project.write(
        `${ID}.jsonl`,
        session.text("a2", "OK.").user("Go on.").text("a3", "Done.").toString(),
      );
      const { code, stdout } = await project.start(["replay", file, "--json"], "", env).ended;
      expect(code).toBe(0);
      const report = JSON.parse(stdout);
      expect(report.tokens_before).toBeGreaterThan(250_000 * LONG_MESSAGE);
      expect(report.tokens_after).toBeLessThan(100_000);
    },
  );
});

test("rkat handoff reads every format, and stores nothing", async () => {
  const project = await Project.open();
  for (const sample of TRANSCRIPT_SAMPLES) {
    const file = join(sample.format.agent, sample.path);
    project.write(file, transcriptBytes(sample, sample.values).toString());
    const args = ["handoff", file, "--json"];
    const first = await project.rkat(args);
    const [, id] = /\n {2}(\S+)/.exec(JSON.parse(first.stderr || "{}").message ?? "") ?? [];
    const { stdout, stderr } = id ? await project.rkat([...args, "--session", id]) : first;
    expect({ agent: sample.format.agent, stderr }).toEqual({
      agent: sample.format.agent,
      stderr: "",
    });
    const { text, agent } = JSON.parse(stdout) as { text: string; agent: string };
    expect(agent).toBe(sample.format.agent);
    const last = sample.typed.at(-1) ?? "";
    expect(text.split("## The last turns")[1]).toContain(`\n> ${last}\n`);
  }
  expect((await project.rkat(["sessions", "list"])).stderr).toBe("No matching sessions.\n");
});

test("rkat handoff of a session whose goal changed is a page that a colleague can work from", async () => {
  const project = await Project.open();
  const file = project.write(`${ID}.jsonl`, String(wanderingSession(ID)));
  const { stdout } = await project.rkat(["handoff", file]);
  const section = (title: string) => stdout.split(`## ${title}\n`)[1]?.split("\n\n")[0] ?? "";
  const asked = section("What the user asked before").split("\n");
  // The newest comes first, each with what became of it, and no command of the program.
  expect(asked[0]).toMatch(
    /^> \[user #\d+; answered; changed NOTES\.md\] New topic: the release notes of 2\.4\./,
  );
  expect(asked.join("\n")).toMatch(
    /; 1 call failed\] Now tests\. i would only want e2e tests for AgentSession, no mocks please$/m,
  );
  expect(asked.at(-1)).toMatch(/\] The bash tool loses output when a command is killed\./);
  expect(stdout.split("## The last turns")[0]).not.toMatch(/\/mode|\/compact/);
  expect(section("Open tasks")).toMatch(/^> \[assistant #\d+\] Write the notes$/);
  expect(section("Done tasks")).toMatch(/^> \[assistant #\d+\] Collect the merged changes$/);
  // Decisions with their reasons, and no step that was only announced.
  const said = section("Decisions").replaceAll(/^> \[(\w+) #\d+\] /gm, "$1: ");
  expect(said.split("\n")).toEqual([
    "assistant: We use spawn instead of exec here. That way the pipe is read to its end.",
    "assistant: Should I add a timeout, or leave that to the caller?",
    "user: Leave it to the caller, it has one.",
    "assistant: I'll keep the old numbering because the links of 2.3 point to it.",
  ]);
  // What succeeded in the end has not failed.
  expect(section("Failed attempts")).toContain("expected 3 lines, got 2");
  expect(section("Failed attempts")).not.toContain("ECONNREFUSED");
  expect(section("Files changed")).toMatch(/src\/bash-tool\.ts[\s\S]*NOTES\.md$/);
  expect(section("Files read")).toMatch(/^> \[assistant #\d+\] CHANGELOG\.md$/);
  expect(section("Also mentioned")).not.toMatch(/24h|\b1[5-9]\d\b/);
});

test("rkat handoff leaves out of a transcript what was forgotten, and its title if it says that", async () => {
  const project = await Project.open();
  const secret = "The staging password is swordfish-and-chips.";
  const lines = new ClaudeLines(ID).user(secret).text("a1", "Noted.").user("And the docs?");
  const file = project.write(`${ID}.jsonl`, lines.text("a2", "They are next.").toString());
  await project.rkat(["import", file, "--yes"]);
  const [hit] = (await project.json(["memory", "search", "swordfish", "--json"])) as {
    id: string;
  }[];
  expect(hit?.id).toBe(`claude-code:${ID}:2`);
  await project.rkat(["memory", "forget", hit?.id ?? "", "--yes"]);
  const { stdout } = await project.rkat(["handoff", file]);
  expect(stdout).toContain("> And the docs?\n");
  expect(stdout).not.toContain("swordfish");
});

test("rkat handoff --to writes a new file and the command that starts the agent", async () => {
  const project = await Project.open();
  const file = project.write(`${ID}.jsonl`, claudeSession());
  const args = ["handoff", file, "--to", "codex"];
  const { code, stdout } = await project.rkat(args);
  expect(code).toBe(0);
  const written = join(project.folder, `handoff-claude-code-${ID}.md`);
  expect(stdout).toContain(`  codex "$(cat -- ${written})"\n`);
  expect(readFileSync(written, "utf8")).toContain("\n> And the docs?\n");
  const again = await project.rkat([...args, "--json"]);
  expect(again.code).not.toBe(0);
  expect(JSON.parse(again.stderr)).toMatchObject({
    code: "NOT_POSSIBLE",
    message: `${written} exists already.`,
  });
  const other = await project.json([...args, "-o", "next.md", "--json"]);
  expect(other).toMatchObject({
    file: join(project.folder, "next.md"),
    session_id: `claude-code:${ID}`,
    max_tokens: 8000,
  });
});

test("rkat handoff says what is wrong", async () => {
  const project = await Project.open();
  const file = project.write(`${ID}.jsonl`, claudeSession());
  const refused = async (...args: string[]) =>
    JSON.parse((await project.rkat(["handoff", ...args, "--json"])).stderr) as object;
  expect(await refused("nothing-like-it")).toMatchObject({ code: "SESSION_NOT_FOUND" });
  // An unset variable of a script would name the folder, and a session in it.
  expect(await refused("")).toMatchObject({
    code: "INVALID_PARAMS",
    message: "The session's name is empty.",
  });
  expect(await refused(file, "--max-tokens", "50")).toMatchObject({
    code: "INVALID_PARAMS",
    hint: expect.stringMatching(/^Pass --max-tokens \d+ or more\.$/),
  });
  expect(await refused(file, "--session", "abc")).toMatchObject({
    code: "INVALID_PARAMS",
    message: expect.stringContaining('begins with "abc"'),
  });
  expect(await refused(project.write("empty.txt", "hello"))).toMatchObject({
    code: "NOT_POSSIBLE",
    message: expect.stringMatching(/^No transcript was found in .*empty\.txt\.$/),
  });
});

test("rkat handoff shows the plan in its own order", async () => {
  const project = await Project.open();
  const todos = ["Tag it", "Publish it", "Tell them"].map((content, index) => ({
    content,
    status: index === 0 ? "in_progress" : "pending",
  }));
  const lines = new ClaudeLines(ID).user("Release it.").call("a1", "t1", "TodoWrite", { todos });
  const file = project.write(`${ID}.jsonl`, lines.result("t1", "ok").toString());
  const { stdout } = await project.rkat(["handoff", file]);
  expect(stdout).toMatch(
    /## Open tasks\n> \[[^\]]+\] Tag it\n> \[[^\]]+\] Publish it\n> \[[^\]]+\] Tell them\n/,
  );
});

test("rkat handoff of a fork says which session has what was said before", async () => {
  const project = await Project.open();
  const parent = "99999999-2222-4333-8444-555555555555";
  const line = { forkedFrom: { sessionId: parent } };
  const lines = new ClaudeLines(ID).user("And the docs?", line).text("a1", "They are next.");
  const file = project.write(`${ID}.jsonl`, lines.toString());
  const read = await project.rkat(["handoff", file]);
  await project.rkat(["import", file, "--yes"]);
  const stored = await project.rkat(["handoff", "last"]);
  for (const { stdout } of [read, stored]) {
    expect(stdout).toContain(`> parent: claude-code:${parent} (fork)\n`);
    expect(stdout).toContain(
      `- What was said before this session: rkat memory search "what you look for" --session claude-code:${parent}\n`,
    );
  }
});

test("rkat handoff -o - prints the text, for any agent", async () => {
  const project = await Project.open();
  const file = project.write(`${ID}.jsonl`, claudeSession());
  const { stdout } = await project.rkat(["handoff", file]);
  for (const to of ["markdown", "codex"]) {
    const printed = await project.rkat(["handoff", file, "--to", to, "-o", "-"]);
    expect(printed.stdout).toBe(stdout);
  }
  expect(existsSync(join(project.folder, "-"))).toBe(false);
});
