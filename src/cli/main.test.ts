import { expect, test } from "vitest";
import { newProgram } from "../../test/support/command-tree.ts";

async function loadedFor(...args: string[]): Promise<readonly string[]> {
  const program = await newProgram(args);
  return program.commands.map((command) => command.name());
}

test.each([
  [["what does this project do?"]],
  [["-m", "ollama/llama3.2", "what does this project do?"]],
  [["--dir", ".", "explain this"]],
  [[]],
])("a prompt loads the command that runs it, and no other: %j", async (args) => {
  expect(await loadedFor(...args)).toEqual(["run", "help"]);
});

test.each([[["--", "sessions", "list"]], [["--json", "sessions", "list"]]])(
  "a command behind flags is loaded: %j",
  async (args) => {
    expect(await loadedFor(...args)).toContain("sessions");
  },
);

test("a few plain words may be a command without its group, so all are loaded", async () => {
  expect(await loadedFor("--dir", ".", "search", "port")).toContain("memory");
});

test.each([
  [["--help"]],
  [["help"]],
  [["--dir", ".", "-h"]],
  [["-m", "ollama/llama3.2", "--help"]],
  [["--dir", ".", "help", "memory"]],
])("the help has all commands: %j", async (args) => {
  const loaded = await loadedFor(...args);
  expect(loaded).toEqual(expect.arrayContaining(["run", "continue", "memory", "repair", "help"]));
});

test.each([
  [["completion", "bash"]],
  [["--no-color", "completion", "bash"]],
  [["--dir", ".", "complete", "--", "mem"]],
])("the script of a shell's start-up file is never a prompt: %j", async (args) => {
  expect(await loadedFor(...args)).toContain("completion");
});
