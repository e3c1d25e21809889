import { expect, test } from "vitest";
import { Project } from "./support/rkat-process.ts";

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
  });
  return project;
}

test("adding says how many were added; adding again adds nothing", async () => {
  const project = await projectWithMemory();
  expect(await project.rkat(["memory", "add", "--jsonl", "talk.jsonl"])).toMatchObject({
    code: 0,
    stdout: "Added 0 entries; 3 were there already.\n",
  });
  const more = TALK + lines({ content: "New.", session_id: "monday", turn: 2, time: null });
  expect(await project.rkat(["memory", "add", "--jsonl", "-"], more)).toMatchObject({
    code: 0,
    stdout: "Added 1 entry; 3 were there already.\n",
  });
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

test("a bad line is told with its number, and nothing of the file is stored", async () => {
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
    ].map((line) => JSON.stringify(line)),
  ];
  project.write("bad.jsonl", `${lines(good)}\n${bad.join("\n")}\n${lines(good)}`);
  const { code, stdout, stderr } = await project.rkat(["memory", "add", "--jsonl", "bad.jsonl"]);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatchInlineSnapshot(`
    "error: The request is not valid. bad.jsonl is not as it should be:
      line 3 is not JSON
      line 4 is not a JSON object
      line 5 has a bad "content": it must be a text
      line 6 has a bad "content": it must be a text
      line 7 has a bad "session_id": it must be a text of 1 to 200 characters
      line 8 has a bad "session_id": it must be a text of 1 to 200 characters
      line 9 has a bad "turn": it must be a whole number from 0
      line 10 has a bad "turn": it must be a whole number from 0
      line 11 has a bad "turn": it must be a whole number from 0
      line 12 has a bad "time": it must be a time in ISO 8601
      line 13 has a bad "time": it must be a time in ISO 8601
      line 14 has a bad "id": it must be a text of 1 to 200 characters
    hint: Nothing was done; correct these lines and try again.
    "
  `);
  expect(await project.json(["memory", "stats", "--json"])).toMatchObject({ entries: 0 });
});

test("a file that is not there, or is a folder, is refused", async () => {
  const project = await Project.open();
  const missing = await project.rkat(["memory", "add", "--jsonl", "missing.jsonl"]);
  expect(missing).toMatchObject({ code: 2 });
  expect(missing.stderr).toContain("missing.jsonl cannot be read: there is no such file.");
  expect((await project.rkat(["memory", "add", "--jsonl", "."])).code).toBe(2);
  expect((await project.rkat(["memory", "add"])).code).toBe(2);
});

test("searching gives the specification's array", async () => {
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
      session_id: "monday",
      turn: 0,
    },
  ]);
});

test("searching in one session finds nothing of the others", async () => {
  const project = await projectWithMemory();
  const search = ["memory", "search", "launch", "--json", "--session"];
  const found = (await project.json([...search, "Tuesday's talk — 会議"])) as { content: string }[];
  expect(found.map(({ content }) => content)).toEqual(["The launch is in May."]);
  expect(await project.json([...search, "sunday"])).toEqual([]);
});

test("what is found is shown with its score, and where it comes from", async () => {
  const project = await projectWithMemory();
  const { stdout } = await project.rkat(["memory", "search", "when is the launch"]);
  expect(stdout).toMatch(
    /^0\.\d\d {2}session Tuesday's talk — 会議 · turn 0 · Ada · 2026-01-02T03:04:05Z\n {2}The launch is in May\.\n/,
  );
  expect(await project.rkat(["memory", "search", "zebra"])).toMatchObject({
    code: 0,
    stdout: "",
    stderr: "Nothing relevant is in memory.\n",
  });
});

test("many searches in one process: a line in, a line out, ids as they were", async () => {
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
          session_id: "Tuesday's talk — 会議",
          turn: 0,
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

test("a search says what it looks for, once", async () => {
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
    index: expect.any(String),
  });
});

test("`--dir` names another project, and nothing above it is used", async () => {
  const project = await projectWithMemory();
  project.write("inner/readme", "");
  const search = ["memory", "search", "launch", "--json"];
  expect(await project.json([...search, "--dir", "inner"])).toEqual([]);
  expect(await project.json(["--dir", ".", ...search])).toHaveLength(1);
});
