import { readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { chatOnTerminal, hasScript, ON_TERMINAL } from "./support/on-terminal.ts";
import { Project } from "./support/rkat-process.ts";
import { scriptedProvider } from "./support/scripted-provider.ts";
import { sampled } from "./support/trials.ts";

const lines = (...values: unknown[]) =>
  values.map((value) => `${JSON.stringify(value)}\n`).join("");

const TALK = lines(
  { content: "We chose SQLite because it survives kill -9.", session_id: "monday", turn: 0 },
  {
    content: "Redb allows one process only.",
    session_id: "monday",
    turn: 1,
    id: "redb",
    role: "user",
  },
  {
    content: "The launch is in May.",
    session_id: "Tuesday's talk — 会議",
    turn: 0,
    time: "2026-01-02T03:04:05Z",
    role: "assistant",
    speaker: "Ada",
    extra: "ignored",
  },
);

async function projectWithMemory(): Promise<Project> {
  const project = await Project.open();
  project.write("talk.jsonl", TALK);
  expect(await project.json(["memory", "add", "--jsonl", "talk.jsonl", "--json"])).toEqual({
    added: 3,
    already_there: 0,
    blank: 0,
    redacted: {},
  });
  return project;
}

test("adding says how many were added; adding again adds nothing", async () => {
  const project = await projectWithMemory();
  expect(await project.rkat(["memory", "add", "--jsonl", "talk.jsonl"])).toMatchObject({
    code: 0,
    stdout: "Added 0 entries; 3 existed already.\n",
  });
  const more = TALK + lines({ content: "New.", session_id: "monday", turn: 2, time: null });
  expect(await project.rkat(["memory", "add", "--jsonl", "-"], more)).toMatchObject({
    code: 0,
    stdout: "Added 1 entry; 3 existed already.\n",
  });
});

// Takes over two seconds: each command is a process.
test("card numbers and IBANs are kept out of memory and the log when the settings say so", async () => {
  const said =
    "Book it on 4111 1111 1111 1111 or DE89 3704 0044 0532 0130 00, order 4111111111111112.";
  const entry = lines({ content: said, session_id: "monday", turn: 0 });
  const plain = await Project.open();
  expect(await plain.json(["memory", "add", "--jsonl", "-", "--json"], entry)).toMatchObject({
    redacted: {},
  });
  const config = '[privacy]\nredact = "log"\nredact_payments = true\n';
  const project = await Project.open({ config, ownProcesses: true });
  expect(await project.json(["memory", "add", "--jsonl", "-", "--json"], entry)).toMatchObject({
    redacted: { "card number": 1, IBAN: 1 },
  });
  expect(await project.json(["memory", "list", "--json"])).toMatchObject([
    {
      content: "Book it on [redacted card number] or [redacted IBAN], order 4111111111111112.",
    },
  ]);
  project.write("turn.jsonl", lines({ role: "user", content: said }));
  const created = await project.rkat(["sessions", "create", "--model", "ollama/none"]);
  await project.json([
    "sessions",
    "append",
    created.stdout.trim(),
    "--messages",
    "turn.jsonl",
    "--json",
  ]);
  const shown = await project.rkat(["sessions", "show", created.stdout.trim(), "--json"]);
  expect(shown.stdout).toContain("[redacted card number]");
  expect(shown.stdout).not.toContain("4111 1111 1111 1111");
});

test("the same words twice in one turn are two entries, and stay two", async () => {
  const project = await Project.open();
  const twice = lines(
    ...Array.from({ length: 2 }, () => ({ content: "ok then", session_id: "s", turn: 1 })),
  );
  const add = () => project.json(["memory", "add", "--jsonl", "-", "--json"], twice);
  expect(await add()).toMatchObject({ added: 2 });
  expect(await add()).toMatchObject({ added: 0, already_there: 2 });
});

test("a line without text is counted, not stored", async () => {
  const project = await Project.open();
  const blank = lines({ content: "  \n", session_id: "s", turn: 1 });
  expect(await project.rkat(["memory", "add", "--jsonl", "-"], `\n${blank}\n`)).toMatchObject({
    code: 0,
    stdout: "Added 0 entries; 1 had no text.\n",
  });
});

test("a bad line is reported with its number, and nothing of the file is stored", async () => {
  const project = await Project.open();
  const good = { content: "a good line", session_id: "s", turn: 0 };
  const bad = [
    "not json",
    "[1]",
    ...[
      { ...good, content: 7 },
      { ...good, content: undefined },
      { ...good, session_id: "" },
      { ...good, session_id: "x".repeat(201) },
      { ...good, turn: -1 },
      { ...good, turn: 1.5 },
      { ...good, turn: "1" },
      { ...good, time: "yesterday" },
      { ...good, time: "2026-13-01" },
      { ...good, id: 5 },
      { ...good, kind: "rumour" },
      { ...good, source: 7 },
    ].map((line) => JSON.stringify(line)),
  ];
  project.write("bad.jsonl", `${lines(good)}\n${bad.join("\n")}\n${lines(good)}`);
  const { code, stdout, stderr } = await project.rkat(["memory", "add", "--jsonl", "bad.jsonl"]);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatchInlineSnapshot(`
    "error: bad.jsonl has bad lines:
      line 3 is not JSON
      line 4 is not a JSON object
      line 5 has a bad "content": it must be a text
      line 6 has a bad "content": it must be a text
      line 7 has a bad "session_id": it must be a text of 1 to 200 characters
      line 8 has a bad "session_id": it must be a text of 1 to 200 characters
      line 9 has a bad "turn": it must be a whole number, 0 or more
      line 10 has a bad "turn": it must be a whole number, 0 or more
      line 11 has a bad "turn": it must be a whole number, 0 or more
      line 12 has a bad "time": it must be a time in ISO 8601
      line 13 has a bad "time": it must be a time in ISO 8601
      line 14 has a bad "id": it must be a text of 1 to 200 characters
      line 15 has a bad "kind": it must be one of message, fact, correction, preference, rule
      line 16 has a bad "source": it must be the range of events in a log, {"from", "to"}
    hint: Nothing was done. Correct the file and try again.
    "
  `);
  expect(await project.json(["memory", "stats", "--json"])).toMatchObject({ entries: 0 });
});

test("a missing file and a folder are refused", async () => {
  const project = await Project.open();
  const missing = await project.rkat(["memory", "add", "--jsonl", "missing.jsonl"]);
  expect(missing).toMatchObject({ code: 2 });
  expect(missing.stderr).toContain("Cannot read missing.jsonl: no such file.");
  expect((await project.rkat(["memory", "add", "--jsonl", "."])).code).toBe(2);
  expect((await project.rkat(["memory", "add"])).code).toBe(2);
});

test("search prints the specification's array, with all fields of each entry", async () => {
  const project = await projectWithMemory();
  const found = (await project.json([
    "memory",
    "search",
    "why SQLite",
    "--limit",
    "1",
    "--json",
  ])) as object[];
  expect(found).toEqual([
    {
      content: "We chose SQLite because it survives kill -9.",
      score: expect.any(Number),
      match: expect.any(Number),
      session_id: "monday",
      turn: 0,
      id: expect.stringMatching(/^line:/),
      kind: "message",
    },
  ]);
});

test("a search in one session finds nothing of the others", async () => {
  const project = await projectWithMemory();
  const search = ["memory", "search", "launch", "--json", "--session"];
  const found = (await project.json([...search, "Tuesday's talk — 会議"])) as { content: string }[];
  expect(found.map(({ content }) => content)).toEqual(["The launch is in May."]);
  expect(await project.rkat([...search, "sunday"])).toMatchObject({ code: 10, stdout: "" });
});

test("a result is shown with its score and its source", async () => {
  const project = await projectWithMemory();
  const { stdout } = await project.rkat(["memory", "search", "when is the launch"]);
  expect(stdout).toMatch(
    /^0\.\d\d {2}session Tuesday's talk — 会議 · turn 0 · Ada \(assistant\) · 2026-01-02T03:04:05Z · id line:\S+\n {2}The launch is in May\.\n/,
  );
});

test("a search without results says what it searched, and what to try", async () => {
  const project = await projectWithMemory();
  const found = await project.rkat(["memory", "search", "zebra", "--role", "user"]);
  expect(found).toMatchObject({ code: 0, stdout: "" });
  expect(found.stderr).toMatchInlineSnapshot(`
    "Nothing relevant. Compared the words of 3 entries of 2 sessions (only role user).
    hint: try other words, add --min-score 0, drop the filters, or search complete logs with \`rkat history search\`. Texts in other words are found with an embedder: set \`[embeddings] provider\`.
    "
  `);
  const empty = await Project.open();
  expect((await empty.rkat(["memory", "search", "zebra"])).stderr).toMatchInlineSnapshot(`
    "Memory is empty.
    hint: What sessions say comes into it by itself, and \`rkat memory add\` adds to it. \`rkat history search\` searches complete logs.
    "
  `);
});

test("a search marks the knowledge that it finds as used", async () => {
  const project = await Project.open();
  const fact = ["The staging server listens on port 4310.", "--kind", "fact"];
  const added = await project.json(["knowledge", "add", ...fact, "--json"]);
  const { id } = added as { id: string };
  const show = ["knowledge", "show", id, "--json"];
  expect(await project.json(show)).not.toHaveProperty("used_at");
  const hits = await project.json(["memory", "search", "staging server port", "--json"]);
  expect(hits).toMatchObject([{ id, kind: "fact" }]);
  expect(await project.json(show)).toHaveProperty("used_at");
});

test("several queries are searched together, and an entry is one result", async () => {
  const project = await projectWithMemory();
  const search = [
    "memory",
    "search",
    "--json",
    "launch",
    "-q",
    "SQLite",
    "--query",
    "launch in May",
  ];
  const found = (await project.json(search)) as { content: string }[];
  const texts = found.map(({ content }) => content);
  expect(texts).toContain("The launch is in May.");
  expect(texts).toContain("We chose SQLite because it survives kill -9.");
  expect(new Set(texts).size).toBe(texts.length);
  const many = Array.from({ length: 21 }, () => ["-q", "launch"]).flat();
  expect((await project.rkat(["memory", "search", ...many])).code).toBe(2);
});

test("a result is shown with its neighbours and the parts of its score", async () => {
  const project = await projectWithMemory();
  const { stdout } = await project.rkat([
    "memory",
    "search",
    "one process only",
    "--neighbours=1",
    "--explain",
    "--limit=1",
  ]);
  expect(stdout).toMatch(
    /^0\.\d\d {2}session monday · turn 1 · user · id redb\n {2}⋮ We chose SQLite/,
  );
  expect(stdout).toMatch(
    / {2}Redb allows one process only\.\n {4}part +of +adds +times\n {4}word +\w+ +\+ \d\.\d+/,
  );
});

test("results end at --max-tokens", async () => {
  const project = await projectWithMemory();
  const search = ["memory", "search", "SQLite launch", "--min-score=0", "--json", "--max-tokens"];
  expect(((await project.json([...search, "1000"])) as object[]).length).toBeGreaterThan(1);
  expect(await project.json([...search, "12"])).toHaveLength(1);
  const [cut] = (await project.json([...search, "4"])) as { content: string }[];
  expect(cut?.content).toMatch(/^.+ \[…\]$/);
});

test("--queries: one line in, one line out, ids unchanged", async () => {
  const project = await projectWithMemory();
  project.write("queries.jsonl", lines({ id: "q1", text: "launch" }, { id: 2, text: "zebra" }));
  const search = ["memory", "search", "--limit", "1", "--json", "--queries"];
  const { stdout } = await project.rkat([...search, "queries.jsonl"]);
  expect(
    stdout
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line)),
  ).toEqual([
    {
      id: "q1",
      results: [
        {
          id: expect.any(String),
          content: "The launch is in May.",
          score: expect.any(Number),
          match: expect.any(Number),
          session_id: "Tuesday's talk — 会議",
          turn: 0,
          kind: "message",
          time: "2026-01-02T03:04:05Z",
          role: "assistant",
          speaker: "Ada",
        },
      ],
    },
    { id: 2, results: [] },
  ]);
  const bad = await project.rkat(
    [...search, "-"],
    lines({ id: "q1", text: "launch" }, { text: 3 }),
  );
  expect(bad).toMatchObject({ code: 2, stdout: "" });
  expect(JSON.parse(bad.stderr).message).toContain('line 2 has no "id"');
});

// Takes over two seconds: each command is a process.
test("a time in words counts from when and where it is asked", async () => {
  const project = await projectWithMemory();
  const at = "2026-01-05T10:00:00+01:00[Europe/Berlin]";
  const search = ["memory", "search", "--json", "--at", at];
  const launch = [expect.objectContaining({ content: "The launch is in May." })];
  expect(await project.json([...search, "what did we say last Friday"])).toEqual(launch);
  expect(await project.json([...search, "what did we say yesterday"])).toEqual([]);
  const told = ["the launch", "--since", "last Friday", "--until", "yesterday"];
  expect(await project.json([...search, ...told])).toEqual(launch);
  expect(await project.json([...search, "the launch", "--since", "yesterday"])).toEqual([]);
  const noDay = await project.rkat([...search, "the launch", "--since", "31 february"]);
  expect(noDay).toMatchObject({ code: 2, stderr: expect.stringContaining("is no time") });
  project.write("asked.jsonl", lines({ id: 1, text: "yesterday", at: "2026-01-03T12:00:00Z" }));
  const { stdout } = await project.rkat(["memory", "search", "--queries", "asked.jsonl"]);
  expect(JSON.parse(stdout)).toEqual({ id: 1, results: launch });
  const nowhere = ["memory", "search", "yesterday", "--at", "2026-01-05T10:00Z[No/Where]"];
  expect((await project.rkat(nowhere)).code).toBe(2);
  project.write("bad.jsonl", lines({ id: 1, text: "yesterday", at: "noon" }));
  expect((await project.rkat(["memory", "search", "--queries", "bad.jsonl"])).code).toBe(2);
});

test("a search has one source of queries", async () => {
  const project = await Project.open();
  expect((await project.rkat(["memory", "search"])).code).toBe(2);
  expect((await project.rkat(["memory", "search", "words", "--queries", "-"])).code).toBe(2);
  expect((await project.rkat(["memory", "search", "words", "--limit", "many"])).code).toBe(2);
});

test("`memory stats` counts", async () => {
  const project = await projectWithMemory();
  expect(await project.json(["memory", "stats", "--json"])).toMatchObject({
    entries: 3,
    sessions: 2,
    text_bytes: expect.any(Number),
    index: expect.stringMatching(/^places of words: \d+, passages: \d+, segments: \d+$/),
  });
});

test("memory is listed in the order it was stored, page by page", async () => {
  const project = await projectWithMemory();
  const list = ["memory", "list", "--json"];
  const all = (await project.json(list)) as { id: string; turn: number }[];
  expect(all).toHaveLength(3);
  expect(await project.json([...list, "--limit=1", "--after", "redb"])).toEqual([all[2]]);
  expect(await project.json([...list, "--role=user"])).toMatchObject([{ id: "redb" }]);
  expect(await project.json([...list, "--kind=fact"])).toEqual([]);
  expect((await project.rkat(["memory", "list", "--kind=rumour"])).code).toBe(2);
  const { stdout, stderr } = await project.rkat(["memory", "list", "--limit=2"]);
  expect(stdout).toContain(
    "session monday · turn 1 · user · id redb\n  Redb allows one process only.\n",
  );
  expect(stderr).toBe("For more: --after redb\n");
});

test("an export can be added to another project unchanged", async () => {
  const project = await projectWithMemory();
  const more = {
    content: "A fact.",
    session_id: "s",
    id: "f",
    kind: "fact",
    source: { from: 2, to: 3 },
  };
  await project.json(["memory", "add", "--jsonl=-", "--json"], lines(more));
  const { stdout } = await project.rkat(["memory", "export"]);
  expect(stdout.split("\n")).toHaveLength(5);
  const other = await Project.open();
  await other.json(["memory", "add", "--jsonl=-", "--json"], stdout);
  expect((await other.rkat(["memory", "export"])).stdout).toBe(stdout);
  const list = ["memory", "list", "--json"];
  expect(await other.json(list)).toEqual(await project.json(list));
  expect(await other.json(["memory", "export", "--kind=fact"])).toEqual({ turn: null, ...more });

  const written = await project.rkat(["memory", "export", "--jsonl", "out.jsonl"]);
  expect(written).toMatchObject({ code: 0, stdout: "", stderr: "Wrote 4 entries to out.jsonl.\n" });
  expect(readFileSync(join(project.folder, "out.jsonl"), "utf8")).toBe(stdout);
  for (const taken of ["no/such/folder", "."]) {
    const { code, stderr } = await project.rkat(["memory", "export", "--jsonl", taken]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(`Cannot write ${taken}: `)]);
  }
});

const FORGOT = [
  "Forgot 1 entry. Deleted from: memory 1, index 1.",
  "Not deleted: A request that was sent to a model before cannot be called back.",
  "Not deleted: If another process was reading the store, its write-ahead log keeps the text until the next checkpoint.",
  "Not deleted: Backups, terminals and providers keep their copies.",
  "",
].join("\n");

test("entries are forgotten by their ids, and others that say the same are listed", async () => {
  const project = await projectWithMemory();
  const copy = { content: "Redb allows one process only.", session_id: "s", id: "copy" };
  await project.json(["memory", "add", "--jsonl=-", "--json"], lines(copy));
  expect(await project.rkat(["memory", "forget", "redb"])).toMatchObject({
    code: 0,
    stdout: `${FORGOT}Others that say the same or have one of its names: 1. They are kept until you forget them too:\n  copy  Redb allows one process only.\nTo forget them too: rkat memory forget copy\n`,
  });
  expect(await project.rkat(["memory", "forget", "copy"])).toMatchObject({
    stdout: FORGOT,
  });
  expect(await project.json(["memory", "forget", "copy", "--json"])).toEqual({
    forgotten: 0,
    remaining: [],
    remaining_count: 0,
    cleaned: [],
    not_cleaned: [],
    not_found: ["copy"],
  });
  expect(await project.rkat(["memory", "forget", "copy"])).toMatchObject({
    code: 0,
    stdout: 'Nothing was forgotten: nothing has the id "copy".\n',
  });
  expect(await project.json(["memory", "search", "redb", "--json"])).toEqual([]);
  for (const file of readdirSync(join(project.folder, ".rkat"))) {
    expect(readFileSync(join(project.folder, ".rkat", file), "latin1")).not.toContain(
      "Redb allows",
    );
  }
});

test("a session is forgotten at once; the results of a query only when they are picked or have its phrase", async () => {
  const project = await projectWithMemory();
  const nothing = await project.rkat(["memory", "forget", "--query", " ", "--yes"]);
  expect(nothing).toMatchObject({ code: 2, stdout: "" });
  expect(nothing.stderr).toContain("Nothing to forget is named.");
  const query = ["memory", "forget", "--query", "launch"];
  const refused = await project.rkat(query);
  expect(refused).toMatchObject({ code: 2, stdout: "" });
  expect(refused.stderr).toMatch(
    /The launch is in May.*Cannot ask: stdin is not a terminal\..*pass --yes to forget what has the exact phrase "launch"\./s,
  );
  const loosely = ["memory", "forget", "--query", "launches in May", "--yes", "--json"];
  expect(await project.json(loosely)).toMatchObject({ forgotten: 0 });
  expect(await project.json([...query, "--yes", "--json"])).toMatchObject({ forgotten: 1 });
  expect(await project.rkat(query)).toMatchObject({ code: 0, stderr: "Nothing was forgotten.\n" });
  expect(await project.json(["memory", "forget", "--session=monday", "--json"])).toMatchObject({
    forgotten: 2,
  });
  expect(await project.json(["memory", "stats", "--json"])).toMatchObject({ entries: 0 });
  expect((await project.rkat(["memory", "forget"])).code).toBe(2);
  expect((await project.rkat(["memory", "forget", "x", "--session=y"])).code).toBe(2);
});

test("--yes forgets each entry with the phrase, more than a search shows, and of words that no search asks for", async () => {
  const project = await Project.open();
  const crate = (at: number) => ({ session_id: "s", content: `Crate ${at} is in the north shed.` });
  const crates = Array.from({ length: 25 }, (_, at) => crate(at));
  const others = [
    { session_id: "s", content: "The north has a shed." },
    { session_id: "t", content: "To be or not to be." },
  ];
  await project.rkat(["memory", "add", "--jsonl=-"], lines(...crates, ...others));
  const forget = (...args: string[]) =>
    project.json(["memory", "forget", "--yes", "--json", "--query", ...args]);
  const few = await forget("the North shed", "--limit", "2");
  expect(few).toMatchObject({ forgotten: 2, not_found: [] });
  expect(await forget("the North shed")).toMatchObject({ forgotten: 23 });
  expect(await forget("or not to")).toMatchObject({ forgotten: 1 });
  const left = (await project.json(["memory", "list", "--json"])) as { content: string }[];
  expect(left.map(({ content }) => content)).toEqual(["The north has a shed."]);
  const scored = ["memory", "forget", "--query", "shed", "--yes", "--min-score", "0.5"];
  expect(await project.rkat(scored)).toMatchObject({ code: 2, stdout: "" });
});

test("of several ids the receipt names those that nothing has", async () => {
  const project = await projectWithMemory();
  const { stdout, code } = await project.rkat(["memory", "forget", "redb", "rebd", "other"]);
  expect(code).toBe(0);
  expect(stdout).toContain('Not forgotten: nothing has the id "rebd", "other".');
});

test("flags that only a query heeds are refused without one, and nothing is forgotten", async () => {
  const project = await projectWithMemory();
  const named = [["redb"], ["--session=monday"]];
  for (const [at, flag] of ["--min-score=0.9", "--limit=1"].entries()) {
    const refused = await project.rkat(["memory", "forget", ...(named[at] ?? []), flag]);
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toContain(`${flag.split("=")[0]} is for a query.`);
  }
  expect(await project.json(["memory", "stats", "--json"])).toMatchObject({ entries: 3 });
});

test.skipIf(!hasScript)(
  "nobody picks from results that are not shown, also with --json",
  async () => {
    const project = await projectWithMemory();
    const forget = `${ON_TERMINAL} memory forget --query launch --json`;
    const command = chatOnTerminal(project, {}, forget);
    await command.sees("The launch is in May");
    await command.sees("Forget which?");
    command.type("\n");
    expect((await command.ends()).code).toBe(0);
  },
);

test("`--session` names a session as everywhere, and an unknown one is an error", async () => {
  const provider = await scriptedProvider(["Violet."], async () => {});
  const project = await Project.open({ provider });
  project.write("talk.jsonl", TALK);
  await project.json(["memory", "add", "--jsonl", "talk.jsonl", "--json"]);
  const run = ["run", "my colour?", "--output", "json"];
  const { session_id: id } = (await project.json(run)) as { session_id: string };
  const found = async (session: string) => [
    await project.json(["memory", "search", "violet", "--session", session, "--json"]),
    await project.json(["memory", "list", "--session", session, "--json"]),
    await project.json(["memory", "stats", "--session", session, "--json"]),
    await project.json(["history", "search", "violet", "--session", session, "--json"]),
    await project.json(["approvals", "list", "--session", session, "--json"]),
  ];
  const whole = await found(id);
  expect(whole[0]).toHaveLength(1);
  expect(whole[3]).toHaveLength(1);
  for (const name of sampled(["last", "~0", id.slice(0, 13)], { of: 3, at: 1 }, "cases"))
    expect(await found(name)).toEqual(whole);
  const commands = [
    ["memory", "search", "violet"],
    ["memory", "list"],
    ["memory", "stats"],
    ["memory", "export"],
    ["memory", "forget"],
    ["history", "search", "violet"],
    ["approvals", "list"],
  ];
  for (const command of sampled(commands, { of: 2, at: 0 }, "cases")) {
    const { code, stdout } = await project.rkat([...command, "--session", "nosuch"]);
    expect({ command, code, stdout }).toEqual({ command, code: 10, stdout: "" });
  }
  const own = ["memory", "search", "SQLite", "--session", "monday", "--json"];
  expect(await project.json(own)).toMatchObject([{ session_id: "monday" }]);
  const forget = ["memory", "forget", "--session", "last", "--json"];
  expect(await project.json(forget)).toMatchObject({ forgotten: 2 });
  expect(await project.json(["memory", "stats", "--json"])).toMatchObject({ entries: 3 });
});

test("an index can be verified and rebuilt", async () => {
  const project = await projectWithMemory();
  expect(await project.rkat(["memory", "verify"])).toMatchObject({
    code: 0,
    stdout: "Checked 3 entries: the index is sound, and memory has what the log has.\n",
  });
  expect(await project.json(["memory", "verify", "--json"])).toEqual({ entries: 3, problems: [] });
  expect(await project.rkat(["memory", "reindex"])).toMatchObject({
    code: 0,
    stdout: "Rebuilt the index of 3 entries.\n",
  });
  expect(await project.json(["memory", "search", "launch", "--json"])).toHaveLength(1);
});

test("a damaged index is reported, and can be rebuilt", async () => {
  const project = await projectWithMemory();
  const file = new DatabaseSync(join(project.folder, ".rkat/rkat.db"));
  file.exec("UPDATE memory_segment SET words = x'02ffff' WHERE words IS NOT NULL");
  file.close();
  const checked = await project.rkat(["memory", "verify"]);
  expect(checked.code).toBe(1);
  expect(checked.stdout).toMatch(/words of it cannot be read.*`rkat memory reindex`/s);
  const searched = await project.rkat(["memory", "search", "launch"]);
  expect(searched).toMatchObject({ code: 1, stdout: "" });
  expect(searched.stderr).toMatch(/index of memory is damaged.*hint: `rkat memory reindex`/s);
  await project.rkat(["memory", "reindex"]);
  expect(await project.rkat(["memory", "verify"])).toMatchObject({ code: 0 });
  expect(await project.json(["memory", "search", "launch", "--json"])).toHaveLength(1);
});

test("a rebuild can be stopped, and leaves the index as it was", async () => {
  const project = await Project.open();
  const many = Array.from({ length: 4000 }, (_, turn) => ({
    content: `heron ${turn} by the weir`,
    session_id: "s",
    turn,
  }));
  await project.rkat(["memory", "add", "--jsonl", "-"], lines(...many));
  const ends = new Set<number | null>();
  for (const after of sampled([100, 200, 300, 400], { of: 4, at: 1 }, "crash points")) {
    const { child, ended } = project.start(["memory", "reindex"]);
    await sleep(after);
    child.kill("SIGINT");
    ends.add((await ended).code);
    expect(await project.rkat(["memory", "verify"])).toMatchObject({ code: 0 });
    expect(await project.json(["memory", "search", "1234", "--json"])).toHaveLength(1);
  }
  // Done, stopped, or stopped before it could say so.
  for (const code of ends) expect([0, 130, null]).toContain(code);
});

test("`--dir` names another project, and nothing above it is used", async () => {
  const project = await projectWithMemory();
  project.write("inner/readme", "");
  const search = ["memory", "search", "launch", "--json"];
  expect(await project.json([...search, "--dir", "inner"])).toEqual([]);
  expect(await project.json(["--dir", ".", ...search])).toHaveLength(1);
});

test("results of another agent's session say where it was held and how to open it", async () => {
  const project = await Project.open();
  const source = { agent: "claude-code", native_id: "0191-ab", project: "/home/ada/app" };
  const create = ["sessions", "create", "--model", "ollama/a", "--source"];
  const created = await project.rkat([...create, JSON.stringify(source)]);
  const id = created.stdout.trim();
  const message = JSON.stringify({ role: "user", content: "The staging server is on port 8022." });
  await project.rkat(["sessions", "append", id, "--messages=-"], message);
  const search = ["memory", "search", "staging port", "--agent", "claude-code"];
  const { stdout } = await project.rkat([...search, "--project", "/home/ada/../ada/app"]);
  expect(stdout).toContain("→ claude-code in /home/ada/app\n");
  expect(stdout).toContain("→ cd -- /home/ada/app && claude --resume 0191-ab\n");
  const json = await project.rkat([...search, "--json"]);
  expect(JSON.parse(json.stdout)[0].from).toEqual({
    ...source,
    open: "cd -- /home/ada/app && claude --resume 0191-ab",
  });
  const none = await project.rkat(["memory", "search", "staging port", "--agent", "codex"]);
  expect(none.stderr).toContain("(only agent codex)");
  const list = await project.rkat(["sessions", "list", "--agent", "claude-code"]);
  expect(list.stdout).toContain("claude-code");
  const shown = await project.rkat(["sessions", "show", id]);
  expect(shown.stdout).toMatch(/open it with +cd -- \/home\/ada\/app && claude --resume 0191-ab\n/);
  const bad = await project.rkat([...create, "{"]);
  expect(bad.stderr).toContain("It must be JSON.");
});

test("a blank query, such as a script's unset variable, is no query", async () => {
  const project = await Project.open();
  for (const command of ["memory", "history"]) {
    const { code, stdout, stderr } = await project.rkat([command, "search", "", "--json"]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(JSON.parse(stderr)).toMatchObject({ code: "INVALID_PARAMS" });
  }
});

test("lines for other programs have every character of a text", async () => {
  const content = "The build is \u009b31m red \u001b[0m now.";
  const project = await Project.open();
  await project.json(["memory", "add", "--jsonl=-", "--json"], lines({ content, session_id: "s" }));
  const { stdout } = await project.rkat(["memory", "export"]);
  expect(JSON.parse(stdout)).toMatchObject({ content });
  expect(stdout).not.toMatch(/(?!\n)\p{Cc}/u);
  const asked = lines({ id: 1, text: "Is the build red?" });
  const found = await project.rkat(["memory", "search", "--queries", "-", "--min-score=0"], asked);
  expect(JSON.parse(found.stdout)).toMatchObject({ results: [{ content }] });
});

test("an export that is stopped leaves nothing, and what it would have replaced stays", async () => {
  const project = await Project.open();
  const many = Array.from({ length: 6_000 }, (_, at) => ({
    content: `no ${at}`,
    session_id: "s",
  }));
  await project.json(["memory", "add", "--jsonl=-", "--json"], lines(...many));
  project.write("out/all.jsonl", "before");
  const { child, ended } = project.start(["memory", "export", "--jsonl", "out/all.jsonl"]);
  const folder = join(project.folder, "out");
  await expect.poll(() => readdirSync(folder).length, { timeout: 20_000, interval: 5 }).toBe(2);
  child.kill("SIGINT");
  expect(await ended).toMatchObject({ code: 130, stderr: "Stopped. Nothing was written.\n" });
  expect(readdirSync(folder)).toEqual(["all.jsonl"]);
  expect(readFileSync(join(folder, "all.jsonl"), "utf8")).toBe("before");
});

test("an export replaces a file, and nothing else", async () => {
  const project = await projectWithMemory();
  project.write("kept.txt", "kept");
  symlinkSync("kept.txt", join(project.folder, "link"));
  const { code, stderr } = await project.rkat(["memory", "export", "--jsonl", "link"]);
  expect([code, stderr]).toEqual([2, expect.stringContaining("it is not a regular file")]);
  expect(readFileSync(join(project.folder, "kept.txt"), "utf8")).toBe("kept");
});

test("a day that no calendar has, and a range that ends before it begins, are refused", async () => {
  const project = await Project.open();
  const good = { content: "x", session_id: "s" };
  for (const wrong of [
    { ...good, time: "2026-02-30" },
    { ...good, time: "2025-02-29T10:00:00Z" },
    { ...good, source: { from: 9, to: 2 } },
  ]) {
    expect((await project.rkat(["memory", "add", "--jsonl=-"], lines(wrong))).code).toBe(2);
  }
  const leap = { ...good, time: "2024-02-29T23:30:00-05:00" };
  expect((await project.rkat(["memory", "add", "--jsonl=-"], lines(leap))).code).toBe(0);
});

test("what to type next has the flags of the command line, and survives a shell", async () => {
  const project = await Project.open();
  const as = ["--dir", "my notes"];
  await project.rkat([...as, "init"]);
  const same = { content: "Redb allows one process only.", session_id: "s" };
  const texts = lines({ ...same, id: "-a b" }, { ...same, id: "$HOME" }, { ...same, id: "c" });
  await project.json([...as, "memory", "add", "--jsonl=-", "--json"], texts);
  const listed = await project.rkat([...as, "memory", "list", "--limit", "2"]);
  expect(listed.stderr).toBe("For more: --after '$HOME'\n");
  const forgot = await project.rkat([...as, "memory", "forget", "--scope", "project", "c"]);
  expect(forgot.stdout).toContain(
    "To forget them too: rkat --dir 'my notes' memory forget --scope project -- '-a b' '$HOME'\n",
  );
});
