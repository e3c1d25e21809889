import type { AutocompleteProvider, Component } from "@earendil-works/pi-tui";
import type { Completion } from "./conversation.ts";
import { clip } from "./render-answer.ts";

export type Lines = (columns: number) => readonly string[];

/** Lines that are rendered once for each width. */
export class Entry implements Component {
  readonly #lines: Lines;
  #columns = 0;
  #rendered: string[] = [];

  constructor(lines: Lines) {
    this.#lines = lines;
  }

  render(columns: number): string[] {
    if (this.#columns !== columns) {
      this.#columns = columns;
      this.#rendered = this.#lines(columns).map((line) => clip(line, columns));
    }
    return this.#rendered;
  }

  invalidate(): void {
    this.#columns = 0;
  }
}

/** A place whose lines change, or that is empty. */
export class Slot implements Component {
  #entry: Entry | undefined;

  show(lines?: Lines): void {
    this.#entry = lines && new Entry(lines);
  }

  render(columns: number): string[] {
    return this.#entry?.render(columns) ?? [];
  }

  invalidate(): void {
    this.#entry?.invalidate();
  }
}

const NO_COMPLETION: Completion = { options: [], replaced: "" };

/** Names of commands are offered as they are typed, and the values of their arguments after Tab. */
export function completions(complete: (line: string) => Promise<Completion>): AutocompleteProvider {
  return {
    async getSuggestions(lines, row, column, { force }) {
      const line = (lines[row] ?? "").slice(0, column);
      if (row > 0 || !line.startsWith("/") || (line.includes(" ") && !force)) return null;
      // Completion that fails offers nothing.
      const { options, replaced } = await complete(line).catch(() => NO_COMPLETION);
      const items = options.map(({ value, does = "" }) => ({
        value,
        label: value.trim(),
        description: does,
      }));
      return { items, prefix: replaced };
    },
    applyCompletion(lines, row, column, { value }, prefix) {
      const line = lines[row] ?? "";
      const before = line.slice(0, column - prefix.length) + value;
      const changed = [...lines];
      changed[row] = before + line.slice(column);
      return { lines: changed, cursorLine: row, cursorCol: before.length };
    },
    shouldTriggerFileCompletion: () => true,
  };
}
