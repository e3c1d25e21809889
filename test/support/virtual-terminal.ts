import type { Terminal as TerminalDevice } from "@earendil-works/pi-tui";
import xterm from "@xterm/headless";

/** A terminal without a window: it draws what it is sent, and types what a test says. */
export class VirtualTerminal implements TerminalDevice {
  readonly kittyProtocolActive = false;
  /** All that was written, with its control sequences. */
  written = "";
  readonly #screen: xterm.Terminal;
  #onInput: (data: string) => void = () => {};
  #onResize: () => void = () => {};

  constructor(columns = 80, rows = 24) {
    this.#screen = new xterm.Terminal({
      cols: columns,
      rows,
      scrollback: 10_000,
      allowProposedApi: true,
    });
  }

  get columns() {
    return this.#screen.cols;
  }

  get rows() {
    return this.#screen.rows;
  }

  start(onInput: (data: string) => void, onResize: () => void): void {
    this.#onInput = onInput;
    this.#onResize = onResize;
  }

  write(data: string): void {
    this.written += data;
    this.#screen.write(data);
  }

  type(...keys: readonly string[]): void {
    for (const key of keys) this.#onInput(key);
  }

  async resize(columns: number, rows: number): Promise<void> {
    await this.#drawn();
    this.#screen.resize(columns, rows);
    this.#onResize();
    await this.#drawn();
  }

  /** The lines of the screen and of what was scrolled out of it, up to the last one with text. */
  async lines(): Promise<readonly string[]> {
    await this.#drawn();
    const { active } = this.#screen.buffer;
    const lines = Array.from({ length: active.length }, (_, row) =>
      (active.getLine(row)?.translateToString(true) ?? "").trimEnd(),
    );
    return lines.slice(0, lines.findLastIndex((line) => line !== "") + 1);
  }

  /** Frames are drawn 16 ms apart. */
  async #drawn(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 60));
    await new Promise<void>((resolve) => this.#screen.write("", resolve));
  }

  stop(): void {}
  async drainInput(): Promise<void> {}
  moveBy(lines: number): void {
    if (lines !== 0) this.write(`\u001b[${Math.abs(lines)}${lines > 0 ? "B" : "A"}`);
  }
  hideCursor(): void {}
  showCursor(): void {}
  clearLine(): void {
    this.write("\u001b[K");
  }
  clearFromCursor(): void {
    this.write("\u001b[J");
  }
  clearScreen(): void {
    this.write("\u001b[2J\u001b[H");
  }
  setTitle(): void {}
  setProgress(): void {}
}
