import fc from "fast-check";
import { expect, test } from "vitest";
import {
  changedTask,
  NO_TASK,
  renderTask,
  TASK_LIMITS,
  type TaskChange,
  taskDifference,
  withFiles,
} from "./task.ts";
import { utf8Bytes } from "./tokens.ts";
import { filesOfCall } from "./working-memory.ts";

const RELEASE = changedTask(NO_TASK, {
  newTask: "Ship the release.",
  add: ["Write the notes", "Tag it"],
  done: [1],
  notes: { branch: "release/2" },
  openFiles: ["CHANGELOG.md"],
});

test("a record is read as a list", () => {
  expect(renderTask(RELEASE)).toMatchInlineSnapshot(`
    "Goal: Ship the release.
    Sub-tasks:
    1. [done] Write the notes
    2. [open] Tag it
    Notes:
    - branch: release/2
    Active files: CHANGELOG.md"
  `);
  expect(renderTask(NO_TASK)).toBe("");
});

test("a change changes what it names, and nothing else", () => {
  const after = changedTask(RELEASE, { done: [2], notes: { branch: "", tag: "v2" } });
  expect(after.goal).toBe(RELEASE.goal);
  expect(after.sub_tasks.map(({ done }) => done)).toEqual([true, true]);
  expect(after.scratchpad).toEqual({ tag: "v2" });
  expect(Object.keys(taskDifference(RELEASE, after))).toEqual(["sub_tasks", "scratchpad"]);
});

test("a new task begins with an empty record", () => {
  const after = changedTask(RELEASE, { newTask: "Rest." });
  expect(after).toEqual({ ...NO_TASK, goal: "Rest." });
  expect(changedTask(RELEASE, { newTask: "" })).toEqual(NO_TASK);
});

test("what is not there cannot be done, and what is too much is refused with the reason", () => {
  const refuse = (change: TaskChange) => expect(() => changedTask(RELEASE, change));
  refuse({ done: [7] }).toThrow("no sub-task 7; it has 1, 2");
  const many = Array.from({ length: 49 }, (_, index) => `Step ${index}`);
  refuse({ add: many }).toThrow("at most 50 sub-tasks");
  refuse({ add: [...many, "One more"], drop: [1, 1] }).toThrow("at most 50 sub-tasks");
  const notes = Object.fromEntries(many.map((name) => [name, "x".repeat(300)]));
  refuse({ notes }).toThrow(/would take \d+ bytes; the limit is 8192/);
  const notesTooMany = Object.fromEntries([...many, ..."ab"].map((name) => [name, "x"]));
  refuse({ notes: notesTooMany }).toThrow("at most 50 notes");
});

test("a record that is too large may get smaller", () => {
  const large = changedTask(NO_TASK, { notes: { a: "x".repeat(4000), b: "y".repeat(3000) } });
  expect(changedTask(large, { notes: { b: "" } }, 100).scratchpad).toEqual({ a: "x".repeat(4000) });
  expect(() => changedTask(large, { goal: "More." }, 100)).toThrow("the limit is");
});

test("active files are few, short in all, each once, and the last used stay", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ minLength: 1, maxLength: 500 })), (used) => {
      const files = used.reduce<readonly string[]>((sofar, file) => withFiles(sofar, [file]), []);
      expect(new Set(files).size).toBe(files.length);
      expect(files.length).toBeLessThanOrEqual(TASK_LIMITS.files);
      const bytes = files.reduce((sum, file) => sum + utf8Bytes(file), 0);
      expect(bytes).toBeLessThanOrEqual(TASK_LIMITS.filesBytes);
      expect(files.at(-1)).toBe(used.at(-1));
    }),
  );
});

test("a call's files are those that its arguments name, and no programs or folders like .", () => {
  expect(filesOfCall({ args: { path: "src/a.ts", line: 3 } })).toEqual(["src/a.ts"]);
  expect(filesOfCall({ args: { files: ["a", "b"], command: "c.sh" } })).toEqual(["a", "b"]);
  for (const path of [".", "/", "", "x\ny", 5, null, { path: "a" }, "x".repeat(501)]) {
    expect(filesOfCall({ args: { path } })).toEqual([]);
  }
  for (const args of [null, undefined, "path", ["path"]]) expect(filesOfCall({ args })).toEqual([]);
});
