import {
  chmodSync,
  closeSync,
  linkSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
} from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { globMatcher } from "../src/tools/project/glob.ts";
import { projectForTools } from "./support/project-for-tools.ts";

test.each([
  ["*.ts", "a.ts", "src/deep/a.ts"],
  ["src/**/*.ts", "src/a.ts", "src/deep/er/a.ts"],
  ["src/**", "src/a", "src/b/c"],
  ["**/test/*", "test/a", "x/test/b"],
  ["{src,test}/*.{ts,tsx}", "src/a.ts", "test/a.tsx"],
  ["a?c", "abc", "x/adc"],
  ["/docs/*.md", "docs/a.md", "docs/b.md"],
])("the glob %s fits %s and %s", (glob, ...paths) => {
  for (const path of paths) expect(globMatcher(glob)(path), path).toBe(true);
});

test.each([
  ["*.ts", "a.tsx", "ts"],
  ["src/*.ts", "src/deep/a.ts", "a.ts"],
  ["a.c", "abc", "aXc"],
  ["src/**/a", "source/a", "src/b"],
])("the glob %s fits neither %s nor %s", (glob, ...paths) => {
  for (const path of paths) expect(globMatcher(glob)(path), path).toBe(false);
});

test("a file is read whole, or part by part with the place to go on", async () => {
  const text = Array.from({ length: 1500 }, (_, index) => `line ${index + 1}`).join("\n");
  const { call } = await projectForTools({
    "long.txt": text,
    "short.txt": "one\ntwo\n",
    empty: "",
  });
  expect(await call("read_file", { path: "short.txt" })).toBe("one\ntwo");
  expect(await call("read_file", { path: "empty" })).toBe("[empty]");
  const first = await call("read_file", { path: "long.txt" });
  expect(first).toMatch(
    /^line 1\n[\s\S]*\nline 1000\n\[lines 1 to 1000 of 1500; continue with from_line 1001\]$/,
  );
  const rest = await call("read_file", { path: "long.txt", from_line: 1001 });
  expect(rest).toMatch(/^line 1001\n[\s\S]*\nline 1500\n\[lines 1001 to 1500 of 1500\]$/);
  expect(await call("read_file", { path: "none.txt" })).toBe(
    "execution_failed: There is no file none.txt.",
  );
});

test("files are listed in order, without what .gitignore names", async () => {
  const { call } = await projectForTools({
    ".gitignore": "dist/\n*.log\n!keep.log\n/only-here\n# a comment\n",
    "b.ts": "",
    "a/c.ts": "",
    "a/.gitignore": "*.tmp\n",
    "a/x.tmp": "",
    "y.tmp": "",
    "dist/out.js": "",
    "debug.log": "",
    "keep.log": "",
    "only-here": "",
    "a/only-here": "",
    "node_modules/x/index.js": "",
  });
  expect((await call("list_files", {})).split("\n")).toEqual([
    ".gitignore",
    "b.ts",
    "keep.log",
    "y.tmp",
    "a/.gitignore",
    "a/c.ts",
    "a/only-here",
  ]);
  expect(await call("list_files", { glob: "*.ts" })).toBe("b.ts\na/c.ts");
});

test("a search finds lines by any of its texts, and says what it left out", async () => {
  const { call } = await projectForTools({
    "a.ts": "const Total = 1;\nreturn sum(total);\n",
    "b.bin": "total\0",
    ".env": "TOTAL=1",
  });
  expect(await call("search_files", { texts: ["total"] })).toBe(
    "a.ts:1: const Total = 1;\na.ts:2: return sum(total);\n[not searched: 1 files that may hold credentials]",
  );
  const exact = await call("search_files", {
    texts: ["Total", "nothing"],
    match_case: true,
    glob: "*.ts",
  });
  expect(exact).toBe("a.ts:1: const Total = 1;");
});

test("an edit changes one place, keeps the file's permissions, and says when it cannot", async () => {
  const { call, folder } = await projectForTools({ "run.sh": "a\r\nb\r\na\r\n" });
  const file = join(folder, "run.sh");
  chmodSync(file, 0o755);
  expect(await call("edit_file", { path: "run.sh", old_text: "b\na", new_text: "c\nd" })).toBe(
    "Changed run.sh in one place.",
  );
  expect(readFileSync(file, "utf8")).toBe("a\r\nc\r\nd\r\n");
  expect(statSync(file).mode & 0o777).toBe(0o755);
  expect(await call("edit_file", { path: "run.sh", old_text: "zz", new_text: "" })).toMatch(
    /^invalid_arguments: old_text is not in run\.sh\./,
  );
  await call("write_file", { path: "run.sh", content: "$& $1 $1" });
  expect(await call("edit_file", { path: "run.sh", old_text: "$1", new_text: "$&" })).toMatch(
    /^invalid_arguments: old_text is in run\.sh 2 times\./,
  );
  await call("edit_file", { path: "run.sh", old_text: "$1", new_text: "$&", every: true });
  expect(readFileSync(file, "utf8")).toBe("$& $& $&");
});

test("a file is replaced whole: who reads it meanwhile has the text from before, and nothing stays beside it", async () => {
  const name = "a".repeat(255);
  const { call, folder } = await projectForTools({ [name]: "before" });
  const file = join(folder, name);
  chmodSync(file, 0o640);
  const reader = openSync(file, "r");
  onTestFinished(() => closeSync(reader));
  expect(await call("write_file", { path: name, content: "after" })).toBe(`Replaced ${name}.`);
  expect(readFileSync(reader, "utf8")).toBe("before");
  expect(readFileSync(file, "utf8")).toBe("after");
  expect(statSync(file).mode & 0o777).toBe(0o640);
  expect(readdirSync(folder)).toEqual([name]);
});

test.runIf(process.getuid?.() !== 0)(
  "a file that may not be written stays, and one in a folder that takes no new files is written",
  async () => {
    const { call, folder } = await projectForTools({ "closed.txt": "a", "locked/open.txt": "a" });
    chmodSync(join(folder, "closed.txt"), 0o444);
    chmodSync(join(folder, "locked"), 0o555);
    onTestFinished(() => chmodSync(join(folder, "locked"), 0o755));
    expect(await call("write_file", { path: "closed.txt", content: "b" })).toContain("EACCES");
    expect(readFileSync(join(folder, "closed.txt"), "utf8")).toBe("a");
    await call("edit_file", { path: "locked/open.txt", old_text: "a", new_text: "b" });
    expect(readFileSync(join(folder, "locked/open.txt"), "utf8")).toBe("b");
    expect(readdirSync(join(folder, "locked"))).toEqual(["open.txt"]);
  },
);

test("a file with two names has the new text under both", async () => {
  const { call, folder } = await projectForTools({ "a.txt": "before" });
  linkSync(join(folder, "a.txt"), join(folder, "b.txt"));
  await call("write_file", { path: "a.txt", content: "after" });
  expect(readFileSync(join(folder, "b.txt"), "utf8")).toBe("after");
});

test("a new file and its folders have the permissions of any other program's", async () => {
  const { call, folder } = await projectForTools();
  expect(await call("write_file", { path: "src/deep/a.ts", content: "x" })).toBe(
    "Made src/deep/a.ts.",
  );
  const umask = process.umask();
  expect(statSync(join(folder, "src/deep/a.ts")).mode & 0o777).toBe(0o666 & ~umask);
  expect(statSync(join(folder, "src/deep")).mode & 0o777).toBe(0o777 & ~umask);
});

test("a command's output and its exit code are read together", async () => {
  const { call } = await projectForTools({ "a.txt": "inside" });
  expect(await call("run_command", { command: "cat a.txt; echo oh no >&2; exit 3" })).toBe(
    "[exit code 3]\ninsideoh no\n",
  );
});
