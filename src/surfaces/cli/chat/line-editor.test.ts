import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { LineEditor, type LineEditorOptions } from "./line-editor.ts";

/** An editor at a terminal whose keys are `type`d. */
function editorFor(options: Partial<LineEditorOptions> = {}, isTerminal = true) {
  const input = new PassThrough();
  const output = new PassThrough();
  output.resume();
  const streams = { input, output, isTerminal, raw: () => {}, release: () => {} };
  const editor = new LineEditor(streams, {
    history: [],
    complete: async (line) => [[], line],
    ...options,
  });
  return { editor, type: (keys: string) => void input.write(keys), end: () => void input.end() };
}

const KEYS = { up: "\u001b[A", tab: "\t", ctrlC: "\u0003", ctrlD: "\u0004", left: "\u001b[D" };
const paste = (text: string) => `\u001b[200~${text}\u001b[201~`;

test("Enter returns what was typed", async () => {
  const { editor, type } = editorFor();
  const typed = editor.read("› ");
  type("helo");
  type(`${KEYS.left}l\r`);
  expect(await typed).toEqual({ type: "text", text: "hello" });
  editor.close();
});

test("a line that ends with a backslash continues on the next line", async () => {
  const { editor, type } = editorFor();
  type("first\\\rsecond\r");
  expect(await editor.read("› ")).toEqual({ type: "text", text: "first\nsecond" });
  editor.close();
});

test("a pasted text is one text, and can be continued", async () => {
  const { editor, type } = editorFor();
  type(`${paste("one\rtwo\\\rthree")} four\r`);
  expect(await editor.read("› ")).toEqual({ type: "text", text: "one\ntwo\\\nthree four" });
  editor.close();
});

test("the arrow up shows earlier lines, those of earlier chats too", async () => {
  const { editor, type } = editorFor({ history: ["from yesterday"] });
  type(`${KEYS.up}\r`);
  expect(await editor.read("› ")).toEqual({ type: "text", text: "from yesterday" });
  editor.close();
});

test("Tab completes the only option", async () => {
  const { editor, type } = editorFor({ complete: async (line) => [["/context "], line] });
  const typed = editor.read("› ");
  type(`/con${KEYS.tab}`);
  await new Promise((resolve) => setTimeout(resolve, 50));
  type("\r");
  expect(await typed).toEqual({ type: "text", text: "/context " });
  editor.close();
});

test("Ctrl-C clears the line; on an empty line it interrupts", async () => {
  const { editor, type } = editorFor();
  const typed = editor.read("› ");
  type(`not this${KEYS.ctrlC}`);
  await new Promise((resolve) => setImmediate(resolve));
  type("but this\r");
  expect(await typed).toEqual({ type: "text", text: "but this" });
  const empty = editor.read("› ");
  type(KEYS.ctrlC);
  expect(await empty).toEqual({ type: "interrupt" });
  editor.close();
});

test("Ctrl-D ends", async () => {
  const { editor, type } = editorFor();
  type(KEYS.ctrlD);
  expect(await editor.read("› ")).toEqual({ type: "end" });
});

test("piped lines are read one by one, to the end of the input", async () => {
  const { editor, type, end } = editorFor({}, false);
  type("one\ntwo\n");
  end();
  expect(await editor.read("› ")).toEqual({ type: "text", text: "one" });
  expect(await editor.read("› ")).toEqual({ type: "text", text: "two" });
  expect(await editor.read("› ")).toEqual({ type: "end" });
});
