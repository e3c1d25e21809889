import type { Command } from "commander";
import { expect, test } from "vitest";
import { commandsIn, newProgram } from "../../test/support/command-tree.ts";

function helpOf(command: Command): string {
  let text = "";
  command.configureOutput({ writeOut: (more) => (text += more) }).outputHelp();
  return text;
}

function examplesOf(command: Command): readonly string[] {
  const [, block = ""] = helpOf(command).split("\nExamples:\n");
  return block.split("\n").flatMap((line) => (line.startsWith("  ") ? [line.trim()] : []));
}

/** The words of the part of a line that calls rkat, without variables before it and files behind it. */
function argumentsIn(line: string): string[] {
  const part = line.split(" | ").find((each) => /(?:^| )rkat(?: |$)/.test(each)) ?? "";
  const [called = ""] = part.split(" > ");
  const words: readonly string[] = called.match(/"[^"]*"|\S+/g) ?? [];
  return words.slice(words.indexOf("rkat") + 1).map((word) => word.replaceAll('"', ""));
}

/** Reads arguments as the command line does, up to the command that they name. */
function read(program: Command, args: readonly string[]) {
  let command = program;
  let { operands, unknown } = command.parseOptions([...args]);
  for (;;) {
    const inner = command.commands.find(
      (each) => each.name() === operands[0] || each.aliases().includes(operands[0] ?? ""),
    );
    if (!inner) return { command, operands, unknown };
    const rest = [...operands.slice(1), ...unknown];
    command = inner;
    ({ operands, unknown } = command.parseOptions(rest));
  }
}

const program = await newProgram();
const COMMANDS = commandsIn(program);

test("the help of every command is looked at", () => {
  expect(COMMANDS.length).toBeGreaterThan(60);
  expect(COMMANDS.map(([path]) => path)).toContain("memory search");
});

test.each(COMMANDS)(
  "the help of `rkat %s` has one to three examples, which it takes",
  async (path) => {
    // Reading arguments changes a command, so each example is read by a new one.
    const [, shown] = COMMANDS.find(([name]) => name === path) ?? [];
    const examples = examplesOf(shown as Command);
    expect(examples.length).toBeGreaterThanOrEqual(1);
    expect(examples.length).toBeLessThanOrEqual(3);
    for (const example of examples) {
      expect(example.length).toBeLessThanOrEqual(76);
      const fresh = await newProgram();
      const { command, operands, unknown } = read(fresh, argumentsIn(example));
      const own = COMMANDS.find(([name]) => name === path)?.[1].name();
      const parents = [command.name(), command.parent?.name()];
      expect(parents, example).toContain(own);
      expect(unknown, example).toEqual([]);
      const { registeredArguments: taken } = command;
      const least = taken.filter(({ required }) => required).length;
      expect(operands.length, example).toBeGreaterThanOrEqual(least);
      if (!taken.at(-1)?.variadic)
        expect(operands.length, example).toBeLessThanOrEqual(taken.length);
      taken.forEach(({ argChoices }, at) => {
        if (argChoices && operands[at] !== undefined) expect(argChoices).toContain(operands[at]);
      });
    }
  },
);

test("an example that a command would refuse is seen", async () => {
  const { unknown } = read(program, argumentsIn('rkat sessions list --lable "a b"'));
  expect(unknown).toEqual(["--lable", "a b"]);
  const fresh = await newProgram();
  expect(() => read(fresh, argumentsIn("rkat memory search x --limit many"))).toThrow("--limit");
});
