import { type Style, styleFor } from "../src/cli/render/style.ts";
import { processTerminal } from "../src/cli/terminal/process-terminal.ts";

/** Milliseconds that all pauses of a show may take together. */
const PAUSES_MS_MAX = 1800;

const COLUMNS_MAX = 100;

/** Where the show is given: a terminal gets colours and a pace, a pipe gets neither. */
export class Stage {
  readonly style: Style;
  readonly columns: number;
  #pausesLeftMs: number;

  constructor() {
    const { stdout, env } = processTerminal();
    this.style = styleFor(stdout, env);
    this.columns = stdout.isTerminal ? Math.min(stdout.columns, COLUMNS_MAX) : COLUMNS_MAX;
    this.#pausesLeftMs = stdout.isTerminal ? PAUSES_MS_MAX : 0;
  }

  say(text = ""): void {
    process.stdout.write(`${text}\n`);
  }

  /** Gives the eye a moment, as long as there are moments left. */
  async pause(ms: number): Promise<void> {
    const taken = Math.min(ms, this.#pausesLeftMs);
    this.#pausesLeftMs -= taken;
    if (taken > 0) await new Promise((resolve) => setTimeout(resolve, taken));
  }
}
