import { setTimeout as sleep } from "node:timers/promises";
import {
  Container,
  Editor,
  isKeyRelease,
  matchesKey,
  ProcessTerminal,
  type Terminal as TerminalDevice,
  type TuiInputListenerResult,
  TuiMainScreen,
} from "@earendil-works/pi-tui";
import type { EventEnvelope, SessionEvent } from "../../core/event.ts";
import { printable } from "../render/printable.ts";
import { renderEvent, renderWork } from "../render/render-event.ts";
import { type Style, styleFor } from "../render/style.ts";
import type { Output, Terminal } from "../terminal/terminal.ts";
import { doing } from "../terminal/turn-view.ts";
import type {
  ChatScreen,
  ChatStatus,
  Completion,
  Question,
  TurnDisplay,
  TurnOptions,
  Typed,
} from "./conversation.ts";
import { AnswerBlocks, clip, renderAnswer, wrap, wrapColumns } from "./render-answer.ts";
import { renderStatus } from "./render-status.ts";
import { completions, Entry, type Lines, Slot } from "./screen-parts.ts";

export interface TerminalScreenOptions {
  readonly device: TerminalDevice;
  readonly style: Style;
  /** Whole prompts of earlier chats, the last one first. */
  readonly history: readonly string[];
  complete(line: string): Promise<Completion>;
  /** Interrupts what runs. False when nothing did. */
  interrupt(): boolean;
  /** Stops the process until the shell continues it. */
  readonly suspend?: () => Promise<void>;
  readonly onClose?: () => void;
}

/** Opens a chat on the terminal of this process. */
export function openTerminalScreen(
  terminal: Terminal,
  options: Pick<TerminalScreenOptions, "history" | "complete">,
): ChatScreen {
  const style = styleFor(terminal.stdout, terminal.env);
  const owner = {
    onStray: (text: string) => void screen.stderr.write(text),
    restore: () => screen.close(),
  };
  const { release, ...taken } = terminal.takeScreen(owner);
  const device = new ProcessTerminal();
  const screen = new TerminalScreen({ ...options, ...taken, device, style, onClose: release });
  return screen;
}

/**
 * A chat on a terminal. What was said is above, and scrolls like any output:
 *
 *     › What is in this file?          the transcript
 *
 *     A *parser* of dates.
 *
 *     ⠹ running read_file 2s           while something runs
 *     ───────────────────────────
 *     the next prompt                  the editor: it takes text at any time
 *     ───────────────────────────
 *     openai/gpt-5.2 · 12 % …          the status
 */
export class TerminalScreen implements ChatScreen {
  readonly stderr: Output;
  readonly #options: TerminalScreenOptions;
  readonly #style: Style;
  readonly #tui: TuiMainScreen;
  readonly #editor: Editor;
  readonly #transcript = new Container();
  readonly #live = new Slot();
  readonly #activity = new Slot();
  readonly #asking = new Slot();
  readonly #queued = new Slot();
  readonly #status = new Slot();
  /** Prompts that were typed while a turn ran. */
  readonly #queue: string[] = [];
  #reader: Reader | undefined;
  #spinning: NodeJS.Timeout | undefined;
  /** Whether the transcript ends with a remark. Remarks stand without blank lines between. */
  #endsWithRemark = false;
  /** The text of the editor before Enter removed the spaces around it. */
  #typed = "";
  #lastKeyMs = 0;
  #ended = false;
  /** Whether Ctrl-C came between two reads, while nothing ran. */
  #interrupted = false;
  #closed = false;

  constructor(options: TerminalScreenOptions) {
    const { device, style, history } = options;
    this.#options = options;
    this.#style = style;
    this.#tui = new TuiMainScreen(device);
    this.#editor = new Editor(this.#tui, {
      borderColor: (text) => (this.#reader?.question ? style.yellow(text) : style.dim(text)),
      selectList: {
        selectedPrefix: style.cyan,
        selectedText: style.cyan,
        description: style.dim,
        scrollInfo: style.dim,
        noMatch: style.dim,
      },
    });
    this.#editor.setAutocompleteMaxVisible(OFFERED_MAX);
    for (const prompt of [...history].reverse()) this.#editor.addToHistory(prompt);
    this.#editor.setAutocompleteProvider(completions(options.complete));
    this.#editor.onSubmit = (text) => this.#submit(text);
    const parts = [this.#live, this.#activity, this.#asking, this.#queued];
    for (const part of [this.#transcript, ...parts, this.#editor, this.#status]) {
      this.#tui.addChild(part);
    }
    this.#tui.setFocus(this.#editor);
    this.#tui.addInputListener((key) => this.#onKey(key));
    this.working();
    this.stderr = {
      isTerminal: true,
      rewrites: false,
      get columns() {
        return device.columns;
      },
      get rows() {
        return device.rows;
      },
      write: async (text) => this.#remark((columns) => wrap(text.trimEnd(), columns)),
    };
    this.#tui.start();
  }

  async read(question?: Question): Promise<Typed> {
    if (question) await this.#pauseInTyping(question.signal);
    const draft = question ? this.#editor.getExpandedText() : "";
    if (question) this.#ask(question);
    return await new Promise<Typed>((resolve) => {
      const done = (typed: Typed) => {
        if (this.#reader !== reader) return;
        this.#reader = undefined;
        question?.signal?.removeEventListener("abort", onAbort);
        if (question) this.#answered(question, typed, draft);
        this.#tui.requestRender();
        resolve(typed);
      };
      const onAbort = () => done({ type: "aborted" });
      const reader: Reader = { question, done };
      this.#reader = reader;
      const wasInterrupted = this.#interrupted;
      this.#interrupted = false;
      question?.signal?.addEventListener("abort", onAbort);
      const next = question ? undefined : this.#queue.shift();
      if (question?.signal?.aborted) onAbort();
      else if (this.#ended) done({ type: "end" });
      else if (wasInterrupted) done({ type: "interrupt" });
      else if (next !== undefined) this.#take(next, done);
      this.#showQueue();
    });
  }

  async say(text: string): Promise<void> {
    this.#add((columns) => wrapColumns(text.trimEnd(), columns));
  }

  async answer(text: string): Promise<void> {
    const answer = new AnswerBlocks();
    for (const block of answer.push(text)) this.#addBlock(block);
    this.#finishAnswer(answer);
  }

  async note(text: string): Promise<void> {
    const lines = text.replace(/^\n+/, "").trimEnd();
    if (lines !== "") this.#remark((columns) => wrap(this.#style.dim(lines), columns));
  }

  working(text?: string): void {
    clearInterval(this.#spinning);
    this.#spinning = undefined;
    if (text === undefined) {
      this.#activity.show(() => [""]);
    } else {
      const since = performance.now();
      this.#activity.show((columns) => ["", clip(this.#spinner(text, since), columns)]);
      this.#spinning = setInterval(() => {
        this.#activity.invalidate();
        this.#tui.requestRender();
      }, SPIN_MS);
    }
    this.#tui.requestRender();
  }

  turn({ stream, verbose }: TurnOptions): TurnDisplay {
    const shown = verbose ? renderEvent : renderWork;
    let answer = new AnswerBlocks();
    const end = () => {
      this.working();
      this.#finishAnswer(answer);
      answer = new AnswerBlocks();
    };
    const push = (text: string) => {
      this.working();
      for (const block of answer.push(text)) this.#addBlock(block);
      this.#showRest(answer);
    };
    this.working("thinking");
    return {
      onEvent: ({ payload }: EventEnvelope) => {
        if (payload.type === "text_delta" && stream && payload.delta !== "") push(payload.delta);
        else if (payload.type === "text_complete") {
          if (!stream) push(payload.content);
          end();
        } else this.#showEvent(payload, shown(payload), end);
      },
      end,
      finish: async () => {},
    };
  }

  status(status: ChatStatus): void {
    this.#status.show((columns) => renderStatus(status, columns, this.#style));
    this.#tui.requestRender();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.working();
    // The activity stays: it is the empty line that the shell's prompt takes.
    for (const part of [this.#asking, this.#queued, this.#editor, this.#status]) {
      this.#tui.removeChild(part);
    }
    this.#tui.renderNow();
    this.#tui.stop();
    this.#options.onClose?.();
  }

  #showEvent(event: SessionEvent, text: string, end: () => void): void {
    const lines = text.split("\n").filter((line) => line.trim() !== "");
    if (lines.length > 0) end();
    // One line is enough of a result; why something failed is read whole.
    const isResult = event.type === "tool_execution_completed" && !event.is_error;
    for (const line of lines.map(this.#style.dim)) {
      this.#remark((columns) => (isResult ? [clip(line, columns)] : wrap(line, columns)));
    }
    const now = doing(event);
    if (now !== undefined) this.working(now);
  }

  #addBlock(block: Parameters<typeof renderAnswer>[0]): void {
    const lines = (columns: number) => renderAnswer(block, columns, this.#style);
    if (block.continues) this.#transcript.addChild(new Entry(lines));
    else this.#add(lines);
  }

  #showRest(answer: AnswerBlocks): void {
    const block = answer.rest;
    const gap = block?.continues ? [] : [""];
    this.#live.show(block && ((columns) => [...gap, ...renderAnswer(block, columns, this.#style)]));
    this.#tui.requestRender();
  }

  #finishAnswer(answer: AnswerBlocks): void {
    const block = answer.rest;
    this.#live.show();
    if (block) this.#addBlock(block);
    this.#tui.requestRender();
  }

  #add(lines: Lines): void {
    this.#transcript.addChild(new Entry((columns) => ["", ...lines(columns)]));
    this.#endsWithRemark = false;
    this.#tui.requestRender();
  }

  #remark(lines: Lines): void {
    const gap = this.#endsWithRemark ? [] : [""];
    this.#transcript.addChild(new Entry((columns) => [...gap, ...lines(columns)]));
    this.#endsWithRemark = true;
    this.#tui.requestRender();
  }

  #spinner(text: string, since: number): string {
    const elapsedMs = performance.now() - since;
    const frame = FRAMES[Math.floor(elapsedMs / SPIN_MS) % FRAMES.length];
    const seconds = elapsedMs < 1000 ? "" : ` ${Math.floor(elapsedMs / 1000)}s`;
    return `${this.#style.cyan(frame ?? "")} ${printable(text)}${this.#style.dim(`${seconds} · Ctrl-C stops it`)}`;
  }

  #onKey(key: string): TuiInputListenerResult {
    if (isKeyRelease(key)) return { consume: true };
    const isEmpty = this.#editor.getText() === "";
    this.#lastKeyMs = performance.now();
    if (matchesKey(key, "ctrl+c")) this.#interrupt(isEmpty);
    else if (matchesKey(key, "ctrl+d") && isEmpty) this.#end();
    else if (matchesKey(key, "ctrl+z") && this.#options.suspend) void this.#suspend();
    else {
      if (matchesKey(key, "enter")) this.#typed = this.#editor.getExpandedText();
      // A terminal may take these for the beginning of a control sequence.
      return { data: key.replace(/[\u0080-\u009f]/g, "") };
    }
    this.#tui.requestRender();
    return { consume: true };
  }

  #interrupt(isEmpty: boolean): void {
    if (this.#reader) {
      if (isEmpty) this.#reader.done({ type: "interrupt" });
      else this.#editor.setText("");
      return;
    }
    // Prompts that wait would run at once. The user may want to change them first.
    this.#editor.setText([...this.#queue.splice(0), this.#editor.getText()].join("\n").trim());
    this.#showQueue();
    this.#interrupted = !this.#options.interrupt();
  }

  #end(): void {
    this.#ended = true;
    this.#reader?.done({ type: "end" });
  }

  async #suspend(): Promise<void> {
    this.#tui.stop();
    await this.#options.suspend?.();
    this.#tui.start();
    this.#tui.requestRender(true);
  }

  #submit(trimmed: string): void {
    // A space before a slash makes a prompt of a command.
    const text = this.#typed.trim() === trimmed ? this.#typed.trimEnd() : trimmed;
    const reader = this.#reader;
    if (reader?.question) reader.done({ type: "text", text });
    if (reader?.question || trimmed === "") return;
    this.#editor.addToHistory(trimmed);
    if (reader) this.#take(text, reader.done);
    else this.#queue.push(text);
    this.#showQueue();
  }

  #take(text: string, done: (typed: Typed) => void): void {
    const shown = printable(text);
    this.#add((columns) => markFirst(wrap(shown, columns - 2), this.#style));
    done({ type: "text", text });
  }

  /** A question in the middle of a sentence would take its end for an answer. */
  async #pauseInTyping(signal?: AbortSignal): Promise<void> {
    for (;;) {
      const pauseMs = performance.now() - this.#lastKeyMs;
      if (pauseMs >= PAUSE_MS || this.#editor.getText() === "" || signal?.aborted) return;
      await sleep(PAUSE_MS - pauseMs);
    }
  }

  #ask({ text }: Question): void {
    this.#editor.setText("");
    this.#asking.show((columns) => wrap(text, columns));
    this.#tui.requestRender();
  }

  #answered({ text }: Question, typed: Typed, draft: string): void {
    this.#asking.show();
    this.#editor.setText(draft);
    if (typed.type !== "text") return;
    const line = `${text}${printable(typed.text)}`;
    this.#remark((columns) => wrap(line, columns));
  }

  #showQueue(): void {
    const lines = this.#queue.map((text) => `next: ${printable(text).replaceAll("\n", " ")}`);
    const { dim } = this.#style;
    this.#queued.show((columns) => lines.map((line) => clip(dim(line), columns)));
    this.#tui.requestRender();
  }
}

interface Reader {
  readonly question: Question | undefined;
  done(typed: Typed): void;
}

const OFFERED_MAX = 8;
const PAUSE_MS = 500;
const SPIN_MS = 100;
const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

function markFirst(lines: readonly string[], style: Style): readonly string[] {
  return lines.map((line, index) => `${index === 0 ? style.cyan("› ") : "  "}${style.bold(line)}`);
}
