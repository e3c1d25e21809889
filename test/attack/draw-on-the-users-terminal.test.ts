import { beforeAll, expect, test } from "vitest";
import { TerminalScreen } from "../../src/cli/chat/terminal-screen.ts";
import { styleFor } from "../../src/cli/render/style.ts";
import { Project } from "../support/rkat-process.ts";
import { sampled } from "../support/trials.ts";
import { VirtualTerminal } from "../support/virtual-terminal.ts";

// A model, or a tool's output that it repeats, could set the title, write to the clipboard, move the
// cursor over an approval, or hide where a link leads.

/** What is written to the terminal while an answer arrives in parts of a few letters. */
async function written(answer: string, partLength = 3) {
  const device = new VirtualTerminal(60, 20);
  const screen = new TerminalScreen({
    device,
    style: styleFor({ isTerminal: true }, {}),
    history: [],
    complete: async (replaced) => ({ options: [], replaced }),
    interrupt: () => true,
  });
  const turn = screen.turn({ stream: true, verbose: true });
  const event = (payload: object) => turn.onEvent({ payload } as never);
  for (let at = 0; at < answer.length; at += partLength) {
    event({ type: "text_delta", delta: answer.slice(at, at + partLength) });
  }
  event({ type: "text_complete", content: answer });
  event({ type: "tool_execution_started", name: answer });
  event({ type: "tool_execution_completed", name: "read", result: answer, duration_ms: 1 });
  void screen.read({ text: "Run it? " });
  device.type(...answer);
  await device.lines();
  device.type("\r");
  void screen.read();
  device.type(`\u001b[200~${answer}\u001b[201~`);
  await device.lines();
  device.type("\r");
  const lines = await device.lines();
  screen.close();
  return { lines, sequences: sequencesIn(device.written) };
}

/** The control sequences in a text, with the numbers of harmless ones left out. */
function sequencesIn(text: string): ReadonlySet<string> {
  const found = text.match(SEQUENCE) ?? [];
  return new Set(found.map((sequence) => sequence.replace(NUMBERS, "")));
}

const ESC = "\u001b";
const NUMBERS = new RegExp(String.raw`(?<=^${ESC}\[)[\d;]*(?=[mABGK]$)`);
const SEQUENCE = new RegExp(
  String.raw`${ESC}\[[0-9;?<>=]*[ -/]*[@-~]|${ESC}[\]_P^X][^${ESC}\u0007]*(?:\u0007|${ESC}\\)?|${ESC}.|(?![\r\n])\p{Cc}`,
  "gu",
);

const HARMLESS =
  "# Title\n\n**bold** *italic* `code` [link](https://a.example)\n\n> quote\n\n- list\n";

const HOSTILE = {
  "set the title": "\u001b]0;owned\u0007 \u009d0;owned\u009c",
  "write to the clipboard": "\u001b]52;c;aGk=\u0007",
  "hide where a link leads": "\u001b]8;;https://evil.example\u001b\\bank\u001b]8;;\u001b\\",
  "move the cursor": "\u001b[1;1H\u001b[2J\u001b[3A\u001b[s\r\b\b",
  "switch the screen or the keyboard": "\u001b[?1049h\u001b[?1000h\u001b[>4;2m\u001bc",
  "ask the terminal to type": "\u001b[c\u001b[6n\u001b]10;?\u0007\u001bP$q\u001b\\",
  "draw an image": "\u001b_Ga=T;AAAA\u001b\\\u001b]1337;File=:AA\u0007",
  "be decoded":
    "&#27;]0;a&#7; &#x1b;[2J <a href='\u001b[2J'> [x](\u001b]0;a\u0007) ![\u001b[2J](b)",
  "be in code": "```\u001b]0;a\u0007\n\u001b[2J\n```\n",
  "be cut in two": "\u001b\n[2J \u001b",
};

let harmless: ReadonlySet<string>;
beforeAll(async () => {
  ({ sequences: harmless } = await written(HARMLESS));
});

const ARRIVING = Object.entries(HOSTILE).map(([aim, text], at) => ({ aim, text, at: at % 3 }));

test.each(ARRIVING)("a text that tries to $aim only shows itself", async ({ text, at }) => {
  for (const partLength of sampled([1, 7, 10_000], { of: 3, at }, "attacks")) {
    const { sequences } = await written(text, partLength);
    expect([...sequences].filter((sequence) => !harmless.has(sequence))).toEqual([]);
  }
});

test("letters that run backwards, and letters that are not seen, are shown by their numbers", async () => {
  const { lines } = await written("rm \u202Efdp.txt a\u200Bb", 1);
  expect(lines.join("\n")).toContain("rm <U+202E>fdp.txt a<U+200B>b");
});

test("neither a failure nor its hint draws, whatever the command line or the variables name", async () => {
  const project = await Project.open();
  for (const [command, env] of [
    [["--user", TRAP, "run", "hi"], {}],
    [["--dir", TRAP, "run", "hi"], {}],
    [["sessions", "show", TRAP], {}],
    [["resume", TRAP], {}],
    [["import", TRAP], {}],
    [["config", "get", TRAP], {}],
    [["sessions", "list", "--label", TRAP], {}],
    [["sessions", "list"], { RKAT_MODEL: TRAP }],
    [["sessions", "list"], { RKAT_USER: TRAP }],
  ] as const) {
    const { code, stdout, stderr } = await project.rkat(command, "", env);
    expect(code).not.toBe(0);
    expect(`${stdout}${stderr}`).not.toMatch(/(?!\n)\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u);
  }
});

const TRAP = "a\u001b[2J\u202eb\nX";
