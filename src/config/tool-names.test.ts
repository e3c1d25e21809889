import { expect, test } from "vitest";
import { unknownTools } from "./tool-names.ts";

test("a name that fits no tool is told, with the one that was probably meant", () => {
  expect(unknownTools(["Run-Command", "readfile", "shell", "run_command"])).toEqual([
    { name: "Run-Command", meant: "run_command" },
    { name: "readfile", meant: "read_file" },
    { name: "shell", meant: undefined },
  ]);
});

test("patterns and tools of MCP servers may fit what is not known here", () => {
  expect(unknownTools(["*", "fs_*", "mcp__github__search"])).toEqual([]);
});
