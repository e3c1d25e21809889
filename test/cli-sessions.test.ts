import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { providerForTest } from "./support/provider-for-test.ts";
import { Project } from "./support/rkat-process.ts";

/** A project with one session of one turn, and the session's id. */
async function projectWithSession() {
  const provider = await providerForTest([
    {
      text: "Let me look.",
      toolCalls: [{ name: "datetime", args: {} }],
      usage: { input: 90, output: 4 },
    },
    { text: "It is late.", usage: { input: 120, output: 7 } },
  ]);
  const project = await Project.open({ provider });
  const run = ["run", "what time is it?", "--output", "json", "--label", "team=core"];
  const { session_id: id } = (await project.json(run)) as { session_id: string };
  return { project, id };
}

/** The same without what is different each time. */
function settled(value: unknown, id: string, folder: string): unknown {
  const text = JSON.stringify(value)
    .replaceAll(id, "<id>")
    .replaceAll(folder, "<project>")
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>")
    .replace(/"timestamp_ms":\d+/g, '"timestamp_ms":0')
    .replace(/"event_id":"[^"]+"/g, '"event_id":"<id>"');
  return JSON.parse(text);
}

test("`sessions list` shows a table, or JSON", async () => {
  const { project, id } = await projectWithSession();
  const listed = settled(await project.json(["sessions", "list", "--json"]), id, project.folder);
  expect(listed).toMatchInlineSnapshot(`
    [
      {
        "archived": false,
        "created_at": "<time>",
        "labels": {
          "team": "core",
        },
        "message_count": 5,
        "model": "openai/gpt-test",
        "session_id": "<id>",
        "source": {
          "agent": "rkat",
          "native_id": "<id>",
          "open": "rkat --dir <project> resume <id>",
          "project": "<project>",
        },
        "total_tokens": 221,
        "turns": 1,
        "updated_at": "<time>",
      },
    ]
  `);
  const { stdout } = await project.rkat(["sessions", "list"]);
  const [head, row] = stdout.split("\n");
  expect(head).toMatch(/^SESSION\s+LAST USED\s+TURNS\s+TOKENS\s+TITLE\s+LABELS$/);
  expect(row).toMatch(
    new RegExp(`^${id.slice(0, 13)} .* 1 {2,}221 {2}what time is it\\? {2}team=core$`),
  );
});

test("`sessions list` filters by label and limits", async () => {
  const { project, id } = await projectWithSession();
  const listed = (...flags: string[]) => project.json(["sessions", "list", "--json", ...flags]);
  expect(await listed("--label", "team=core")).toMatchObject([{ session_id: id }]);
  expect(await listed("--label", "team=other")).toEqual([]);
  expect(await listed("--limit", "1")).toHaveLength(1);
});

test("a list that may go on says how to see older sessions", async () => {
  const { project, id } = await projectWithSession();
  await project.rkat(["sessions", "create"]);
  const { stderr } = await project.rkat(["sessions", "list", "--limit", "1"]);
  expect(stderr).toBe("For older ones: --offset 1\n");
  const older = ["sessions", "list", "--limit", "1", "--offset", "1", "--json"];
  expect(await project.json(older)).toMatchObject([{ session_id: id }]);
});

test("`sessions create` creates a session for later turns", async () => {
  const provider = await providerForTest();
  const project = await Project.open({ provider });
  const messages = [
    { role: "user", content: "The port is 7443." },
    { role: "assistant", content: "Noted." },
  ];
  const args = ["sessions", "create", "--label", "team=core", "--system-prompt", "Be brief."];
  const history = messages.map((message) => JSON.stringify(message)).join("\n");
  const { stdout } = await project.rkat([...args, "--no-memory", "--messages", "-"], history);
  const id = stdout.trim();
  expect(id).toMatch(/^[0-9a-f-]{36}$/);
  expect(provider.requests).toHaveLength(0);
  const { session_id } = (await project.json(["sessions", "create", "--json"])) as {
    session_id: string;
  };
  expect(session_id).not.toBe(id);

  await project.rkat(["resume", id, "which port?"]);
  const asked = JSON.stringify(provider.requests.at(-1)?.body);
  for (const part of ["Be brief.", "The port is 7443.", "Noted."]) expect(asked).toContain(part);
  expect(asked).not.toContain("memory_search");
  expect(await project.json(["sessions", "list", "--label", "team=core", "--json"])).toMatchObject([
    { session_id: id, turns: 2 },
  ]);
});

test("`sessions create --source` names a wrong field as JSON has it", async () => {
  const project = await Project.open({ provider: await providerForTest() });
  const { code, stderr } = await project.rkat(["sessions", "create", "--source", '{"agent":"x"}']);
  expect([code, stderr]).toEqual([2, expect.stringContaining("source.native_id: is missing")]);
});

test("`sessions create` creates nothing that could not be used", async () => {
  const provider = await providerForTest();
  const kept = await Project.open({ provider });
  kept.write("history.jsonl", '{"role":"user","content":"hi"}\n{"role":"nobody"}\n');
  const bad = await kept.rkat(["sessions", "create", "--messages", "history.jsonl"]);
  expect(bad.code).toBe(2);
  expect(bad.stderr).toContain("messages[1]");
  expect(await kept.json(["sessions", "list", "--json"])).toEqual([]);
  const without = await Project.open();
  expect((await without.rkat(["sessions", "create"])).code).toBe(22);
  const gone = await Project.open({ provider, config: "[capabilities]\nsession_store = false\n" });
  expect((await gone.rkat(["sessions", "create"])).code).toBe(40);
});

test("`sessions compact --output jsonl` prints events, and the result last", async () => {
  const { project, id } = await projectWithSession();
  for (const prompt of ["a", "b"]) await project.rkat(["resume", id, prompt.repeat(4000)]);
  const env = { RKAT_COMPACTION__RECENT_TURN_BUDGET: "1" };
  const args = ["sessions", "compact", id, "--output", "jsonl"];
  const { stdout } = await project.rkat(args, "", env);
  const lines = stdout
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));
  expect(lines.map((line) => line.payload?.type ?? line.type)).toEqual([
    "compaction_started",
    "compaction_completed",
    "result",
  ]);
  expect(lines.at(-1)).toMatchObject({ compacted: true, messages_after: expect.any(Number) });
});

test("an undo, and what is brought back, say the next request as `sessions context` does, tools included", async () => {
  const { project, id } = await projectWithSession();
  for (const prompt of ["a", "b"]) await project.rkat(["resume", id, prompt.repeat(4000)]);
  const env = { RKAT_COMPACTION__RECENT_TURN_BUDGET: "1" };
  expect((await project.rkat(["sessions", "compact", id], "", env)).code).toBe(0);
  // Each part of the context is rounded.
  const tokens = async (...args: readonly string[]) =>
    ((await project.json(["sessions", ...args, "--json"])) as { used_tokens: number }).used_tokens;
  const shown = await tokens("bring-back", id, "--turn", "0");
  expect(Math.abs(shown - (await tokens("context", id)))).toBeLessThan(10);
  const undone = await tokens("undo", id);
  expect(Math.abs(undone - (await tokens("context", id)))).toBeLessThan(10);
});

test("an empty name names no session", async () => {
  const { project, id } = await projectWithSession();
  const { code, stderr } = await project.rkat(["sessions", "delete", "", "--json"]);
  expect({ code, ...JSON.parse(stderr) }).toMatchObject({ code: "INVALID_PARAMS" });
  expect(code).toBe(2);
  expect(await project.json(["sessions", "show", id, "--json"])).toMatchObject({ session_id: id });
});

test("`history search` finds words in the log of any session, as text or as JSON", async () => {
  const { project, id } = await projectWithSession();
  expect(await project.json(["history", "search", "late", "--json"])).toMatchObject([
    { session_id: id, turn: 0, role: "assistant", content: expect.stringContaining("late") },
  ]);
  const { stdout } = await project.rkat(["history", "search", "late"]);
  expect(stdout).toMatch(new RegExp(`^session ${id} · turn 0 · assistant · \\S+Z\n {2}It is late`));
  const unknown = ["history", "search", "late", "--session", "nobody"];
  expect((await project.rkat(unknown)).code).toBe(10);
  const none = ["--from-turn", "3", "--until", "2020-01-01"];
  for (let at = 0; at < none.length; at += 2) {
    const found = await project.json([
      "history",
      "search",
      "late",
      "--json",
      ...none.slice(at, at + 2),
    ]);
    expect(found).toEqual([]);
  }
  const bad = await project.rkat(["history", "search", "late", "--since", "someday", "--json"]);
  expect(JSON.parse(bad.stderr)).toMatchObject({ message: expect.stringContaining("since") });
});

test("`sessions show` renders the history, or gives it as JSON", async () => {
  const { project, id } = await projectWithSession();
  const { stdout } = await project.rkat(["sessions", "show", "last"]);
  expect(stdout).toContain(`Session ${id}\n`);
  for (const part of [
    "user  turn 0\n  what time is it?\n",
    "→ datetime {}",
    "tool results",
    "  It is late.\n",
  ]) {
    expect(stdout).toContain(part);
  }
  const view = (await project.json(["sessions", "show", id, "--json"])) as { history: object[] };
  expect(Object.keys(view)).toMatchInlineSnapshot(`
    [
      "session_id",
      "created_at",
      "updated_at",
      "model",
      "turns",
      "message_count",
      "total_tokens",
      "archived",
      "labels",
      "source",
      "is_active",
      "usage",
      "last_assistant_text",
      "seq",
      "compactions",
      "recorded_compactions",
      "history_tokens",
      "task",
      "instructions",
      "history",
    ]
  `);
  expect(view.history.at(-1)).toMatchObject({ turn: 0, message: { role: "block_assistant" } });
});

test("`sessions events` prints the log, one event per line, after any seq", async () => {
  const { project, id } = await projectWithSession();
  const events = async (...flags: string[]) => {
    const { stdout } = await project.rkat(["sessions", "events", id, ...flags]);
    return stdout
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  };
  const all = await events();
  expect(all.map(({ seq }) => seq)).toEqual(all.map((_, index) => index + 1));
  expect(settled(all.at(-1), id, project.folder)).toMatchInlineSnapshot(`
    {
      "event": {
        "result": "It is late.",
        "session_id": "<id>",
        "type": "run_completed",
        "usage": {
          "cache_creation_tokens": null,
          "cache_read_tokens": 0,
          "input_tokens": 210,
          "output_tokens": 11,
        },
      },
      "event_id": "<id>",
      "schema_version": 1,
      "seq": 15,
      "timestamp_ms": 0,
    }
  `);
  expect(await events("--after", "3")).toEqual(all.slice(3));
  expect(await events("--after", "99999")).toEqual([]);
});

test("`sessions events --follow` prints what other processes add, until Ctrl-C", async () => {
  const { project, id } = await projectWithSession();
  const { child, ended } = project.start(["sessions", "events", id, "--follow"]);
  let seen = "";
  const sawNext = new Promise<void>((resolve) => {
    child.stdout?.on("data", (chunk) => {
      seen += chunk;
      if (seen.includes("and now?") && seen.trimEnd().endsWith("}")) resolve();
    });
  });
  await project.rkat(["continue", "and now?"]);
  await sawNext;
  child.kill("SIGINT");
  expect((await ended).stderr).toBe("");
});

test("an archived session takes no turns, is not listed, and can still be read", async () => {
  const { project, id } = await projectWithSession();
  expect(await project.rkat(["sessions", "archive", "last"])).toMatchObject({
    code: 0,
    stdout: "",
  });
  expect((await project.rkat(["resume", id, "more"])).code).toBe(10);
  expect(await project.json(["sessions", "list", "--json"])).toEqual([]);
  expect(await project.json(["sessions", "list", "--all", "--json"])).toMatchObject([
    { archived: true },
  ]);
  expect(await project.json(["sessions", "show", id, "--json"])).toMatchObject({ archived: true });
});

test("a deleted session is gone, and can be restored", async () => {
  const { project, id } = await projectWithSession();
  const deleted = await project.rkat(["sessions", "delete", id.slice(0, 13)]);
  expect(deleted.stderr).toMatch(
    /^Deleted .*\.\nTo undo this within 7 days: rkat sessions restore \S+\n$/,
  );
  expect((await project.rkat(["sessions", "list", "--deleted"])).stdout).toContain("(deleted)");
  const [, restore = ""] = /rkat (sessions restore \S+)/.exec(deleted.stderr) ?? [];
  expect((await project.rkat(restore.split(" "))).stderr).toBe(`Restored ${id}.\n`);
  expect((await project.rkat(["sessions", "show", id])).code).toBe(0);
  expect((await project.rkat(["sessions", "delete", id])).code).toBe(0);
  expect((await project.rkat(["sessions", "delete", "--now", id.slice(0, 13)])).stderr).toBe(
    `Deleted ${id} for good.\n`,
  );
  expect((await project.rkat(["sessions", "restore", id])).code).toBe(10);
  const { code, stderr } = await project.rkat(["sessions", "show", id]);
  expect(code).toBe(10);
  expect(stderr).toMatch(/^error: No session has the id ".*"\.\nhint: List the sessions/);
});

test("`sessions restore last` restores the session deleted last", async () => {
  const { project, id } = await projectWithSession();
  const none = await project.rkat(["sessions", "restore", "last"]);
  expect(none).toMatchObject({ code: 10 });
  const created = await project.rkat(["sessions", "create"]);
  const second = created.stdout.trim();
  for (const each of [second, id]) await project.rkat(["sessions", "delete", each]);
  const restored = async (name: string) =>
    (await project.rkat(["sessions", "restore", name])).stderr;
  expect(await restored("~1")).toBe(`Restored ${second}.\n`);
  expect(await restored("last")).toBe(`Restored ${id}.\n`);
});

test("a deleted session leaves what it taught, and the command says so", async () => {
  const provider = await providerForTest([{ text: "I will." }]);
  const project = await Project.open({ provider });
  const run = ["run", "Always use tabs for indentation.", "--output", "json"];
  const { session_id } = (await project.json(run)) as { session_id: string };
  const deleted = await project.rkat(["sessions", "delete", "--now", session_id]);
  expect(await project.json(["knowledge", "list", "--json"])).not.toEqual([]);
  expect(deleted.stderr).toMatch(
    /^Deleted \S+ for good\.\nWhat it taught the project stays: 2 preferences, corrections and rules\. See `rkat knowledge list`; `rkat knowledge forget` deletes them\.\n$/,
  );
});

test("a session is deleted where the project learns nothing", async () => {
  const provider = await providerForTest([{ text: "I will." }]);
  const project = await Project.open({ provider, config: "[knowledge]\nenabled = false\n" });
  const run = ["run", "Always use tabs for indentation.", "--output", "json"];
  const { session_id } = (await project.json(run)) as { session_id: string };
  const deleted = await project.rkat(["sessions", "delete", "--now", session_id]);
  expect(deleted).toMatchObject({ code: 0, stderr: `Deleted ${session_id} for good.\n` });
});

test("`sessions compact` compacts now, or says why not", async () => {
  const { project } = await projectWithSession();
  const { code, stdout } = await project.rkat(["sessions", "compact", "last"]);
  expect({ code, stdout }).toMatchInlineSnapshot(`
    {
      "code": 0,
      "stdout": "Nothing was compacted: Every message of the history has to stay.
    ",
    }
  `);
  expect(await project.json(["sessions", "compact", "last", "--json"])).toMatchObject({
    compacted: false,
    reason: expect.any(String),
  });
});

test("commands that only read create nothing", async () => {
  const project = await Project.open();
  expect(await project.json(["sessions", "list", "--json"])).toEqual([]);
  expect(await project.json(["memory", "search", "anything", "--json"])).toEqual([]);
  expect(await project.rkat(["sessions", "list"])).toMatchObject({
    code: 0,
    stdout: "",
    stderr: "No matching sessions.\n",
  });
  expect((await project.rkat(["resume", "last", "go on"])).code).toBe(10);
  expect((await project.rkat(["doctor"])).stdout).toContain("none yet at ");
});

test("`sessions task` changes the task record, and the next command finds it", async () => {
  const { project } = await projectWithSession();
  const empty = await project.rkat(["sessions", "task", "last"]);
  expect([empty.stdout, empty.stderr]).toEqual(["", "The task record is empty.\n"]);
  const flags = ["--new-task", "Ship it", "--add", "Notes", "--add", "Tag", "--note", "branch=r/2"];
  await project.rkat(["sessions", "task", "last", ...flags]);
  const { stdout } = await project.rkat(["sessions", "task", "last", "--done", "1"]);
  expect(stdout).toBe(
    "Goal: Ship it\nSub-tasks:\n1. [done] Notes\n2. [open] Tag\nNotes:\n- branch: r/2\n",
  );
  expect((await project.rkat(["sessions", "show", "last"])).stdout).toContain("Goal: Ship it");
  const wrong = await project.rkat(["sessions", "task", "last", "--drop", "9"]);
  expect(wrong.code).toBe(17);
  expect(wrong.stderr).toContain("The task has no sub-task 9; it has 1, 2.");
});

test("`sessions pin` takes a position or an id, and shows the budget of pins", async () => {
  const { project } = await projectWithSession();
  const shown = (await project.rkat(["sessions", "show", "last"])).stdout;
  const [, id = ""] = /^1 (@\d+) {2}user/m.exec(shown) ?? [];
  await project.rkat(["sessions", "pin", "last", id]);
  const { stdout } = await project.rkat(["sessions", "pin", "last", "3"]);
  const [head, question, results, budget] = stdout.split("\n");
  expect(head).toMatch(/^POSITION {2}ID\s+ROLE\s+TEXT$/);
  expect(question).toMatch(new RegExp(`^ +1 {2}${id} +user +what time is it\\?$`));
  expect(results).toMatch(/^ +3 {2}@\d+ +tool +\{"utc":/);
  expect(budget).toMatch(/^Pins take \d+ of 25 000 tokens\.$/);
  expect((await project.rkat(["sessions", "show", "last"])).stdout).toMatch(/turn 0, pinned$/m);
  await project.rkat(["sessions", "unpin", "last", "3"]);
  await project.rkat(["sessions", "unpin", "last", id]);
  const none = await project.rkat(["sessions", "pins", "last"]);
  expect(none.stdout).toBe("Nothing is pinned (0 of 25 000 tokens).\n");
  const gone = await project.rkat(["sessions", "pin", "last", "@1"]);
  expect([gone.code, gone.stderr]).toEqual([16, expect.stringContaining("rkat history search")]);
  expect((await project.rkat(["sessions", "pin", "last", "first"])).code).toBe(2);
});

test("`sessions context` shows what takes how many tokens", async () => {
  const { project } = await projectWithSession();
  const { stdout } = await project.rkat(["sessions", "context", "last"]);
  expect(stdout).toMatch(/^PART +TOKENS +MESSAGES$/m);
  expect(stdout).toMatch(/^turns +\d+ +4 /m);
  expect(stdout).toMatch(/^The provider counted 120 input tokens in the last call\.$/m);
  expect(stdout).toMatch(
    /^Compaction runs after \d+ \d+ more tokens\. The threshold is 100 000 tokens\.$/m,
  );
});

test("the footer counts the turns of the session, not the calls of its model", async () => {
  const { project, id } = await projectWithSession();
  const { stderr } = await project.rkat(["resume", id, "and now?"]);
  expect(stderr).toContain("| Turns: 2 |");
  const again = await project.json(["resume", id, "--output", "json", "and now?"]);
  expect(again).toMatchObject({ turns: 3, model_calls: 1 });
});

test("a number that a page of the log cannot begin before is refused by its flag's name", async () => {
  const { project } = await projectWithSession();
  const { code, stderr } = await project.rkat(["sessions", "log", "last", "--before", "0"]);
  expect([code, stderr]).toEqual([
    2,
    expect.stringMatching(/^error: "0" is not valid for --before/),
  ]);
});

test("`unarchive last` brings back the archived session that was used last", async () => {
  const { project, id } = await projectWithSession();
  const unarchive = () => project.rkat(["sessions", "unarchive", "last"]);
  expect(await unarchive()).toMatchObject({
    code: 10,
    stderr: expect.stringMatching(/^error: There are no archived sessions yet\./),
  });
  await project.rkat(["sessions", "archive", id]);
  await project.rkat(["sessions", "create"]);
  expect((await unarchive()).stderr).toBe(`Unarchived ${id}.\n`);
});

test("an archived session refuses turns with the way back, however it is named", async () => {
  const { project, id } = await projectWithSession();
  await project.rkat(["sessions", "archive", id]);
  for (const command of [
    ["resume", id, "hi"],
    ["resume", id.slice(0, 8), "hi"],
    ["sessions", "compact", id.slice(0, 8)],
    ["sessions", "task", id, "--goal", "Nothing."],
    ["sessions", "pin", id, "1"],
  ]) {
    const { code, stderr } = await project.rkat(command);
    expect([command, code, stderr]).toEqual([
      command,
      10,
      expect.stringMatching(`"${id}" is archived\\.[^]*rkat sessions unarchive ${id}`),
    ]);
  }
  const { stderr } = await project.rkat(["sessions", "unarchive", id.slice(0, 8)]);
  expect(stderr).toBe(`Unarchived ${id}.\n`);
  expect((await project.rkat(["resume", id, "hi"])).code).toBe(0);
});

test("`sessions project` writes the files of all sessions again", async () => {
  const { project, id } = await projectWithSession();
  const folder = join(project.folder, ".rkat", "sessions");
  const events = join(folder, id, "events.jsonl");
  const before = readFileSync(events, "utf8");
  writeFileSync(events, before.replaceAll("late", "earl"));
  writeFileSync(join(folder, id, "session.json"), "{}");
  const { code, stderr } = await project.rkat(["sessions", "project"]);
  expect([code, stderr]).toEqual([0, `Wrote the files of 1 session to ${folder}.\n`]);
  expect(readFileSync(events, "utf8")).toBe(before);
  expect(JSON.parse(readFileSync(join(folder, id, "session.json"), "utf8"))).toMatchObject({
    turns: 1,
  });
  rmSync(folder, { recursive: true });
  expect(await project.json(["sessions", "project", "--json"])).toEqual({ folder, sessions: 1 });
  expect(readFileSync(events, "utf8")).toBe(before);
});

test("`sessions append` calls no model", async () => {
  const project = await Project.open();
  const id = (await project.rkat(["sessions", "create", "-m", "ollama/none"])).stdout.trim();
  const append = ["sessions", "append", id, "--messages", "-", "--json"];
  const message = { role: "user", content: "The staging port is 4310." };
  expect(await project.json(append, JSON.stringify(message))).toMatchObject({ added: 1, turns: 1 });
  const { stdout } = await project.rkat(["memory", "search", "staging port"]);
  expect(stdout).toContain("The staging port is 4310.");
});

test("`sessions append` adds a file of messages once, and nothing when a line is bad", async () => {
  const { project, id } = await projectWithSession();
  const good = join(project.folder, "good.jsonl");
  writeFileSync(
    good,
    '{"role":"user","content":"Port 4310."}\n{"role":"assistant","content":"OK."}\n',
  );
  const append = ["sessions", "append", id, "--messages", good, "--key", "one"];
  expect((await project.rkat(append)).stderr).toBe(`Added 2 messages to ${id}.\n`);
  expect((await project.rkat(append)).stderr).toBe("These messages were added before.\n");
  const bad = join(project.folder, "bad.jsonl");
  writeFileSync(bad, '{"role":"user","content":"Port 9."}\n{"role":"tool"}\n');
  const refused = await project.rkat(["sessions", "append", id, "--messages", bad]);
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain("messages[1]");
  const { turns } = (await project.json(["sessions", "show", id, "--json"])) as { turns: number };
  expect(turns).toBe(2);
});
