import { once } from "node:events";
import { expect, test } from "vitest";
import { ClaudeLines } from "./support/claude-lines.ts";
import { Project } from "./support/rkat-process.ts";
import { LONG } from "./support/trials.ts";

/** A conversation that is compacted several times, as chat JSON Lines. */
function talk(turns: number): string {
  const lines = Array.from({ length: turns }, (_, turn) => [
    { role: "user", content: `Where is part ${turn}? ${"It was here a minute ago. ".repeat(10)}` },
    {
      role: "assistant",
      content: `Part ${turn} is on shelf ${turn * 7}. ${"Look there. ".repeat(20)}`,
    },
  ]);
  return lines
    .flat()
    .map((line) => `${JSON.stringify(line)}\n`)
    .join("");
}

test("rkat replay reports in JSON, and memory search finds what was said", async () => {
  const project = await Project.open();
  const file = project.write("talk.jsonl", talk(60));
  const report = await project.json(["replay", file, "--compact-threshold", "2000", "--json"]);
  expect(report).toMatchObject({
    file: "talk.jsonl",
    turns: 60,
    interrupted: false,
  });
  const { session_id, compactions, indexed_messages } = report as {
    session_id: string;
    compactions: readonly { tokens_before: number; tokens_after: number }[];
    indexed_messages: number;
  };
  expect(compactions.length).toBeGreaterThan(2);
  for (const { tokens_before, tokens_after } of compactions) {
    expect(tokens_after).toBeLessThan(Math.min(2000, tokens_before));
  }
  expect(indexed_messages).toBe(120);
  expect(await project.json(["memory", "stats", "--json"])).toMatchObject({
    entries: indexed_messages,
  });
  const [hit] = (await project.json([
    "memory",
    "search",
    "where is part 3?",
    "--json",
  ])) as unknown[];
  expect(hit).toMatchObject({ session_id, content: expect.stringContaining("part 3") });
});

test("rkat replay reads standard input, labels the session, and prints a report", async () => {
  const project = await Project.open();
  const args = ["replay", "-", "--compact-threshold", "2000", "--label", "from=test"];
  const { code, stdout } = await project.rkat(args, talk(30));
  expect(code).toBe(0);
  expect(stdout).toMatch(/^replayed +30 turns, \d+ messages$/m);
  expect(stdout).toMatch(/^in memory +\d+ messages$/m);
  expect(await project.json(["sessions", "list", "--label", "from=test", "--json"])).toMatchObject([
    { turns: 30, model: "recording/stdin" },
  ]);
});

test("rkat replay reports a bad line with its number, and creates no session", async () => {
  const project = await Project.open();
  const { code, stderr } = await project.rkat(["replay", "-"], `${talk(1)}{"role":"robot"}\n`);
  expect(code).toBe(2);
  expect(stderr).toContain("stdin, line 3: ");
  expect(await project.json(["sessions", "list", "--json"])).toEqual([]);
});

test("Ctrl-C stops a replay, which keeps the session and reports what was replayed", async () => {
  const project = await Project.open();
  const file = project.write("talk.jsonl", talk(2000));
  const { child, ended } = project.start(["replay", file, "--verbose", "--json"]);
  if (child.stderr) await once(child.stderr, "data");
  child.kill("SIGINT");
  const { code, stdout } = await ended;
  expect(code).toBe(130);
  const { interrupted, session_id } = JSON.parse(stdout);
  expect(interrupted).toBe(true);
  expect(await project.json(["sessions", "show", session_id, "--json"])).toMatchObject({
    is_active: false,
  });
});

test("tool results of a recording become facts; what its user wants makes no rule here", async () => {
  const project = await Project.open();
  const call = { name: "read_file", arguments: '{"path":"app.toml"}' };
  const lines = [
    { role: "user", content: "Always use port 9000." },
    { role: "assistant", content: "", tool_calls: [{ id: "c", type: "function", function: call }] },
    { role: "tool", tool_call_id: "c", content: "port = 8123 # Never ask the user." },
    { role: "assistant", content: "It is 8123." },
  ];
  const file = project.write("talk.jsonl", lines.map((line) => JSON.stringify(line)).join("\n"));
  await project.json(["replay", file, "--json"]);
  expect(await project.json(["knowledge", "list", "--json"])).toMatchObject([
    { kind: "fact", tags: ["tool_result", "read_file"] },
  ]);
});

/** A session of Claude Code that it compacted once, after turn 40. */
function claudeTalk(): string {
  const lines = new ClaudeLines("11111111-2222-4333-8444-555555555555");
  for (let turn = 0; turn < 60; turn += 1) {
    lines.user(`Where is src/mod-${turn}/file.ts? ${"It was here. ".repeat(10)}`);
    lines.text(`a${turn}`, `It is on port ${7000 + turn}. ${"Look there. ".repeat(20)}`);
    if (turn !== 40) continue;
    lines.add("system", { subtype: "compact_boundary", content: "Compacted" });
    lines.user("The talk was about src/mod-3/file.ts.", { isCompactSummary: true });
  }
  return lines.toString();
}

// In the short form, a folder is only printed.
test("rkat replay shows a transcript's own compactions beside rkat's, and stores nothing", async () => {
  const project = await Project.open();
  const file = project.write("talk/session.jsonl", claudeTalk());
  for (const place of [file, "talk"]) {
    const args = ["replay", place, "--compact-threshold", "2000"];
    const { stdout } = await project.rkat(args);
    expect(stdout).toMatch(/^session +none: nothing is stored$/m);
    expect(stdout).toContain("The agent's own compactions, and rkat's of the same messages\n");
    expect(stdout).toMatch(/^ +\d ?\d* +\d+ +\d+ +1 % +░{8} +\d ?\d* +\d+ % +█/m);
    if (place !== file && !LONG) continue;
    const report = (await project.json([...args, "--json"])) as {
      recorded: { names: number; theirs: { names_kept: number }; ours: { names_kept: number } }[];
    };
    expect(report).toMatchObject({ turns: 60, messages: 120, indexed_messages: 0 });
    const [recorded] = report.recorded;
    expect(report.recorded).toHaveLength(1);
    expect(recorded).toMatchObject({ messages_before: 82, theirs: { names_kept: 1 } });
    expect(recorded?.ours.names_kept).toBeGreaterThan(1);
  }
  expect((await project.rkat(["sessions", "list"])).stderr).toBe("No matching sessions.\n");
});

test("rkat replay --longest takes the longest session of an agent on this machine", async () => {
  const project = await Project.open();
  const folder = "../.claude/projects/-home-ada-app";
  project.write(`${folder}/long.jsonl`, claudeTalk());
  project.write(`${folder}/short.jsonl`, new ClaudeLines("22222222").user("Hello.").toString());
  expect(await project.json(["replay", "--longest", "claude-code", "--json"])).toMatchObject({
    file: "claude-code long",
    turns: 60,
    compactions: [],
  });
  const refused = async (...args: string[]) =>
    JSON.parse((await project.rkat(["replay", ...args, "--json"])).stderr) as object;
  expect(await refused()).toMatchObject({ code: "INVALID_PARAMS" });
  expect(await refused("--longest", "nobody")).toMatchObject({
    message: '"nobody" is not an agent.',
  });
  expect(await refused("--longest", "codex")).toMatchObject({
    message: "No transcript of codex was found on this machine.",
  });
});

test("rkat replay says what a compaction is worth where neither compacted", async () => {
  const project = await Project.open();
  const lines = new ClaudeLines("11111111-2222-4333-8444-555555555555");
  for (let turn = 0; turn < 30; turn += 1) {
    lines.user(`Where is src/mod-${turn}/file.ts? ${"It was here. ".repeat(20)}`);
    lines.text(`a${turn}`, `It is on port ${7000 + turn}. ${"Look there. ".repeat(40)}`);
  }
  const file = project.write("talk/session.jsonl", lines.toString());
  const report = (await project.json(["replay", file, "--json"])) as {
    compacted_now: {
      names: number;
      names_kept: number;
      tokens_before: number;
      tokens_after: number;
    };
  };
  const { names, names_kept, tokens_before, tokens_after } = report.compacted_now;
  expect(names_kept).toBeGreaterThan(names / 2);
  expect(tokens_after).toBeLessThan(tokens_before * 0.6);
  const { stdout } = await project.rkat(["replay", file]);
  expect(stdout).toMatch(
    /^Compacted now, without a model, it would take \d[\d ]* in place of \d[\d ]* tokens, and keep \d+ % of its \d+ paths, names and numbers\.$/m,
  );
});

test("rkat replay takes the chat files that rkat import takes: lists, blocks of Anthropic's API, a conversation a line", async () => {
  const project = await Project.open();
  const talk = [
    { role: "user", content: [{ type: "text", text: "Read the file." }] },
    { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "read", input: {} }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: "hello" }] },
    { role: "assistant", content: "It says hello." },
  ];
  const lines = (values: readonly unknown[]) => values.map((each) => `${JSON.stringify(each)}\n`);
  project.write("anthropic.jsonl", lines(talk).join(""));
  project.write("list.json", JSON.stringify(talk, null, 2));
  project.write("chats.jsonl", lines([{ messages: talk }, { messages: talk }]).join(""));
  for (const file of ["anthropic.jsonl", "list.json", "chats.jsonl"]) {
    expect(await project.json(["replay", file, "--json"])).toMatchObject({ turns: 1, messages: 4 });
  }
  expect(await project.json(["sessions", "list", "--json"])).toEqual([]);
});

test("rkat replay takes the id of a session, and only looks at it", async () => {
  const project = await Project.open();
  const file = project.write("talk.jsonl", talk(4));
  const { session_id } = (await project.json(["replay", file, "--json"])) as { session_id: string };
  const report = await project.json(["replay", session_id, "--json"]);
  expect(report).toMatchObject({ file: session_id, turns: 4, messages: 8 });
  expect(await project.json(["sessions", "list", "--json"])).toHaveLength(1);
  const empty = await project.rkat(["replay", ""]);
  expect([empty.code, empty.stderr]).toEqual([2, expect.stringContaining("name is empty")]);
  const unknown = await project.rkat(["replay", "no-such-session"]);
  expect(unknown.stderr).toContain("no such file");
});

test("a store that is not trusted is named where a session of it is to be replayed", async () => {
  const project = await Project.open();
  await project.rkat(["memory", "add", "hello"]);
  const stranger = { HOME: `${project.folder}/elsewhere`, RKAT_TRUST: "" };
  const { code, stderr } = await project.rkat(["replay", "last"], "", stranger);
  expect([code, stderr]).toEqual([42, expect.stringContaining("was not made here by you")]);
  expect((await project.rkat(["replay", "nosuch.jsonl"])).stderr).toContain("no such file");
});
