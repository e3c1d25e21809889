import { expect, test } from "vitest";
import { newProgram } from "../../test/support/command-tree.ts";

// The sources of all commands are loaded, which takes seconds.
test("the help says of each command what the command says of itself", async () => {
  const [listed, loaded] = await Promise.all([newProgram(["--help"]), newProgram()]);
  expect(listed.helpInformation()).toBe(loaded.helpInformation());
});

test("the help of one command loads no other", async () => {
  const program = await newProgram(["help", "memory", "search"]);
  const [memory] = program.commands.filter((command) => command.commands.length > 0);
  expect(memory?.commands.map((command) => command.name())).toEqual(["search"]);
  expect(program.commands.filter((command) => command.commands.length > 0)).toEqual([memory]);
});
