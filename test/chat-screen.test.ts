import { expect, onTestFinished, test, vi } from "vitest";
import { TerminalScreen, type TerminalScreenOptions } from "../src/cli/chat/terminal-screen.ts";
import { PLAIN } from "../src/cli/render/style.ts";
import { sampled } from "./support/trials.ts";
import { VirtualTerminal } from "./support/virtual-terminal.ts";

const KEYS = {
  up: "\u001b[A",
  tab: "\t",
  enter: "\r",
  ctrlC: "\u0003",
  ctrlD: "\u0004",
  left: "\u001b[D",
};
const paste = (text: string) => `\u001b[200~${text}\u001b[201~`;

function openScreen(options: Partial<TerminalScreenOptions> = {}, device = new VirtualTerminal()) {
  const screen = new TerminalScreen({
    device,
    style: PLAIN,
    history: [],
    complete: async (replaced) => ({ options: [], replaced }),
    interrupt: () => true,
    ...options,
  });
  onTestFinished(() => screen.close());
  const shown = async () => (await device.lines()).join("\n");
  return { screen, device, shown };
}

/** Sends a turn's events to a screen. */
function turnOn(screen: TerminalScreen, { verbose = false, stream = true } = {}) {
  const turn = screen.turn({ stream, verbose });
  return {
    send: (payload: object) => turn.onEvent({ payload } as never),
    say: (delta: string) => turn.onEvent({ payload: { type: "text_delta", delta } } as never),
    end: () => turn.end(),
  };
}

test("Enter returns what was typed, and the transcript shows it", async () => {
  const { screen, device, shown } = openScreen();
  const typed = screen.read();
  device.type(..."helo", KEYS.left, "l", KEYS.enter);
  expect(await typed).toEqual({ type: "text", text: "hello" });
  expect(await shown()).toContain("› hello");
});

test("a line that ends with a backslash continues on the next line", async () => {
  const { screen, device } = openScreen();
  const typed = screen.read();
  device.type(..."one\\", KEYS.enter, ..."two", KEYS.enter);
  expect(await typed).toEqual({ type: "text", text: "one\ntwo" });
});

test("a paste of 30 lines is one text, and takes one line of the editor", async () => {
  const lines = Array.from({ length: 30 }, (_, index) => `line ${index}`);
  const { screen, device, shown } = openScreen();
  const typed = screen.read();
  device.type(paste(lines.join("\r")), ..." end");
  expect(await shown()).toContain("[paste #1 +30 lines] end");
  device.type(KEYS.enter);
  expect(await typed).toEqual({ type: "text", text: `${lines.join("\n")} end` });
});

test("the arrow up shows whole prompts of earlier chats", async () => {
  const { screen, device } = openScreen({ history: ["the last\none", "an earlier one"] });
  const typed = screen.read();
  device.type(KEYS.up, KEYS.enter);
  expect(await typed).toEqual({ type: "text", text: "the last\none" });
});

test("commands are offered as they are typed, and Tab completes an argument", async () => {
  const { screen, device, shown } = openScreen({
    complete: async (line) =>
      line.includes(" ")
        ? { options: [{ value: "0193-a" }], replaced: "" }
        : { options: [{ value: "/resume ", does: "continue a session" }], replaced: line },
  });
  const typed = screen.read();
  device.type(..."/re");
  expect(await shown()).toMatch(/\/resume +continue a session/);
  device.type(KEYS.tab, KEYS.tab);
  expect(await shown()).toContain("/resume 0193-a");
  device.type(KEYS.enter);
  expect(await typed).toEqual({ type: "text", text: "/resume 0193-a" });
});

test("a space before a slash is kept: it makes a prompt of a command", async () => {
  const { screen, device } = openScreen();
  const typed = screen.read();
  device.type(..." /help me", KEYS.enter);
  expect(await typed).toEqual({ type: "text", text: " /help me" });
});

test("Ctrl-C clears what is typed, and interrupts when nothing is; Ctrl-D ends", async () => {
  const { screen, device } = openScreen();
  const typed = screen.read();
  device.type(..."not this", KEYS.ctrlC, ..."but this", KEYS.enter);
  expect(await typed).toEqual({ type: "text", text: "but this" });
  const empty = screen.read();
  device.type(KEYS.ctrlC);
  expect(await empty).toEqual({ type: "interrupt" });
  const last = screen.read();
  device.type(KEYS.ctrlD);
  expect(await last).toEqual({ type: "end" });
});

test("a terminal that also reports when a key is let go interrupts once", () => {
  const interrupt = vi.fn(() => true);
  const { device } = openScreen({ interrupt });
  device.type("\u001b[99;5u", "\u001b[99;5:3u");
  expect(interrupt).toHaveBeenCalledOnce();
});

test("Ctrl-C twice at once interrupts two reads", async () => {
  const { screen, device } = openScreen({ interrupt: () => false });
  const first = screen.read();
  device.type(KEYS.ctrlC, KEYS.ctrlC);
  expect(await first).toEqual({ type: "interrupt" });
  expect(await screen.read()).toEqual({ type: "interrupt" });
});

test("what is typed while a turn runs is the next prompt", async () => {
  const { screen, device, shown } = openScreen();
  device.type(..."and then?", KEYS.enter);
  expect(await shown()).toContain("next: and then?");
  expect(await screen.read()).toEqual({ type: "text", text: "and then?" });
  expect(await shown()).not.toContain("next:");
});

test("Ctrl-C while a turn runs interrupts it, and gives prompts that wait back to the editor", async () => {
  const interrupt = vi.fn(() => true);
  const { device, shown, screen } = openScreen({ interrupt });
  device.type(..."and then?", KEYS.enter, ..."more", KEYS.ctrlC);
  expect(interrupt).toHaveBeenCalledOnce();
  expect(await shown()).not.toContain("next:");
  const typed = screen.read();
  device.type(KEYS.enter);
  expect(await typed).toEqual({ type: "text", text: "and then?\nmore" });
});

test("what was typed before a question is no answer to it, and is there again afterwards", async () => {
  const { screen, device, shown } = openScreen();
  device.type(..."sent", KEYS.enter, ..."y");
  const answer = screen.read({ text: "Run it? " });
  await expect.poll(shown).toContain("Run it?");
  device.type(..."n", KEYS.enter);
  expect(await answer).toEqual({ type: "text", text: "n" });
  expect(await shown()).toContain("Run it? n");
  expect(await screen.read()).toEqual({ type: "text", text: "sent" });
  const rest = screen.read();
  device.type(KEYS.enter);
  expect(await rest).toEqual({ type: "text", text: "y" });
});

test("a text that is being typed when a question comes up is finished first", async () => {
  const { screen, device, shown } = openScreen();
  device.type(..."fix");
  const answer = screen.read({ text: "Run it? " });
  device.type(..." y", KEYS.enter);
  expect(await shown()).toContain("next: fix y");
  await expect.poll(shown).toContain("Run it?");
  device.type(..."n", KEYS.enter);
  expect(await answer).toEqual({ type: "text", text: "n" });
});

test("a question ends when its signal aborts", async () => {
  const { screen } = openScreen();
  const abort = new AbortController();
  const answer = screen.read({ text: "Run it? ", signal: abort.signal });
  abort.abort();
  expect(await answer).toEqual({ type: "aborted" });
});

test("tools and compactions take one line each", async () => {
  const { screen, shown } = openScreen({}, new VirtualTerminal(60, 24));
  const { send, end } = turnOn(screen);
  const result = "many words ".repeat(50);
  send({ type: "tool_execution_completed", name: "read_file", result, duration_ms: 3 });
  send({
    type: "compaction_completed",
    messages_before: 12,
    messages_after: 4,
    summary_tokens: 90,
  });
  end();
  const lines = (await shown()).split("\n").filter((line) => /✓/.test(line));
  expect(lines).toEqual([
    expect.stringMatching(/^ {2}✓ read_file \(3 ms\): many words .*…$/),
    "  ✓ Compaction complete: 12 → 4 messages, 90 summary tokens",
  ]);
});

test("a remark of several lines takes several lines", async () => {
  const { screen, shown } = openScreen();
  const { send } = turnOn(screen, { verbose: true });
  const instructions = [{ text: "Use pnpm." }, { text: "Speak French." }];
  send({ type: "run_started", instructions });
  expect(await shown()).toContain(
    "  holds from now on: Use pnpm.\n  holds from now on: Speak French.",
  );
});

test("while something runs, a line says what", async () => {
  const { screen, shown } = openScreen();
  const { send, end } = turnOn(screen);
  expect(await shown()).toMatch(/\S thinking/);
  send({ type: "tool_execution_started", name: "grep" });
  expect(await shown()).toMatch(/\S running grep/);
  end();
  expect(await shown()).not.toContain("running");
});

test("without streaming, an answer is shown when it is complete", async () => {
  const { screen, shown } = openScreen();
  const { send, say } = turnOn(screen, { stream: false });
  say("Hel");
  expect(await shown()).not.toContain("Hel");
  send({ type: "text_complete", content: "Hello." });
  expect(await shown()).toContain("Hello.");
});

const ANSWER = `# A title\n\n${"A sentence with 東京, an emoji 🎉 and words. ".repeat(8)}\n\n${Array.from({ length: 30 }, (_, index) => `- item ${index}`).join("\n")}\n\n| a | b |\n|---|---|\n| ${"cell ".repeat(20)} | 2 |\n\n\`\`\`\nconst a = "${"x".repeat(90)}";\n\`\`\`\n\nThe end.`;

test.each(sampled([60, 80, 140], { of: 3, at: 0 }, "cases"))(
  "an answer looks the same at %j columns, however it arrives and however often the window changes",
  async (columns) => {
    const still = openScreen({}, new VirtualTerminal(columns, 24));
    const { say, send } = turnOn(still.screen);
    say(ANSWER);
    send({ type: "text_complete", content: ANSWER });

    const moved = openScreen({}, new VirtualTerminal(100, 30));
    const turn = turnOn(moved.screen);
    const sizes = [
      [40, 10],
      [120, 50],
      [columns, 12],
      [33, 24],
      [columns, 24],
    ] as const;
    const step = Math.ceil(ANSWER.length / sizes.length);
    for (const [index, [width, height]] of sizes.entries()) {
      for (const letter of ANSWER.slice(index * step, (index + 1) * step)) turn.say(letter);
      await moved.device.resize(width, height);
    }
    turn.send({ type: "text_complete", content: ANSWER });
    expect(await moved.shown()).toBe(await still.shown());
  },
);

test("why a provider is asked again can be read whole, however narrow the terminal", async () => {
  const { screen, shown } = openScreen({}, new VirtualTerminal(40, 24));
  const error = "The model provider failed. openai-compatible/m: HTTP 500: Internal Server Error";
  turnOn(screen).send({ type: "retrying", attempt: 1, max_attempts: 3, delay_ms: 500, error });
  expect((await shown()).replace(/\s+/g, " ")).toContain(error);
});

test.each([1, 2, 5, 20])("a terminal of %j columns is drawn on", async (columns) => {
  const { screen, device } = openScreen({}, new VirtualTerminal(columns, 5));
  screen.status({ model: "a/b", sessionId: "0193", usedTokens: 5, tokensMax: 10, compacts: true });
  turnOn(screen).say(ANSWER);
  device.type(..."some text");
  expect((await device.lines()).length).toBeGreaterThan(0);
});

test("what the screen leaves behind is the transcript alone", async () => {
  const { screen, device, shown } = openScreen();
  const typed = screen.read();
  device.type(..."hello", KEYS.enter);
  await typed;
  await screen.note("To continue: rkat chat --resume 0193");
  screen.close();
  expect(await shown()).toBe("\n› hello\n\nTo continue: rkat chat --resume 0193");
});
