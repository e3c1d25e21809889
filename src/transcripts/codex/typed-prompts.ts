import { given } from "../../core/fields.ts";
import { contentText, type Json, textOf, titleOf } from "../json-fields.ts";

export interface PromptsState {
  readonly title?: string;
  readonly hasEvents: boolean;
  /** The lines of the last prompts, for turns that are taken back later. */
  readonly turns: readonly number[];
}

const TURNS_KEPT = 100;

/** Finds out which items of the user a person typed, and which turns were taken back. */
export class Prompts {
  readonly typed = new Map<number, string>();
  readonly dropped: { readonly from: number; readonly to: number }[] = [];
  title: string | undefined;
  #waiting: { readonly line: number; readonly text: string }[] = [];
  /** Events that came before their item. */
  #announced: string[] = [];
  #hasEvents: boolean;
  #turns: number[];

  constructor(before?: PromptsState) {
    this.title = before?.title;
    this.#hasEvents = before?.hasEvents ?? false;
    this.#turns = [...(before?.turns ?? [])];
  }

  /** Whether no item or event waits for the other. */
  get isSettled(): boolean {
    return this.#waiting.length === 0 && this.#announced.length === 0;
  }

  get state(): PromptsState {
    const turns = this.#turns.slice(-TURNS_KEPT);
    return { hasEvents: this.#hasEvents, turns, ...given({ title: this.title }) };
  }

  follow(type: string, payload: Json, line: number, isBare: boolean): void {
    if (type === "event_msg") {
      if (payload.type === "user_message") this.#announce(payload);
      else if (payload.type === "thread_rolled_back") this.#rollBack(payload.num_turns, line);
      return;
    }
    if (type !== "response_item") return;
    if (payload.type !== "message" || payload.role !== "user") {
      // Instructions may stand between a prompt and its event.
      if (payload.role !== "developer" && payload.role !== "system") this.end();
      return;
    }
    const item = { line, text: contentText(payload.content) };
    if (isBare) {
      this.#guess(item);
      return;
    }
    const announced = this.#announced.findIndex((text) => says(item.text, text));
    if (announced >= 0) {
      const [text] = this.#announced.splice(announced, 1);
      this.#add(line, withoutEditor(text || item.text));
    } else this.#waiting.push(item);
  }

  /** Decides about the items that wait for an event, when the answer begins. */
  end(): void {
    // A file without events does not show it. The marks of injected texts do.
    if (!this.#hasEvents) for (const item of this.#waiting) this.#guess(item);
    this.#waiting = [];
    this.#announced = [];
  }

  #announce({ message, kind = "plain" }: Json): void {
    this.#hasEvents = true;
    // Some versions had events for `user_instructions` and `environment_context`, too.
    if (kind !== "plain" && kind !== null) return;
    const text = textOf(message);
    const found = this.#waiting.findLastIndex((item) => says(item.text, text));
    const [item] = found >= 0 ? this.#waiting.splice(found, 1) : [];
    if (item) this.#add(item.line, withoutEditor(text || item.text));
    else this.#announced.push(text);
  }

  #guess({ line, text }: { readonly line: number; readonly text: string }): void {
    const typed = promptInCodex(text);
    if (typed !== "") this.#add(line, typed);
  }

  #add(line: number, text: string): void {
    this.typed.set(line, text);
    this.title ??= titleOf(text);
    this.#turns.push(line);
  }

  #rollBack(count: unknown, line: number): void {
    if (typeof count !== "number" || !(count >= 1)) return;
    this.end();
    const turns = this.#turns.splice(-Math.min(Math.floor(count), this.#turns.length || 1));
    if (turns[0] !== undefined) this.dropped.push({ from: turns[0], to: line });
  }
}

/** Whether an item is the one that an event repeats. An item also has images and files. */
function says(item: string, event: string): boolean {
  return event.trim() === "" ? /^\[|^$/.test(item.trim()) : item.includes(event.trim());
}

/**
 * The start of a text that Codex puts before or instead of a prompt: `<environment_context>`, `<user_instructions>`. Each
 * version has more of them.
 */
const INJECTED = /^<(INSTRUCTIONS|skill|[a-z]+(?:_[a-z]+)+)[ >]/;

/** Editors put open files and the selection before a prompt, under headings of this form. */
function withoutEditor(text: string): string {
  if (!text.trimStart().startsWith("# Context from my IDE setup:")) return text;
  const heading = "## My request for Codex:";
  const at = text.indexOf(heading);
  return at < 0 ? text : text.slice(at + heading.length).trim();
}

/** The typed part of a text: all of it, the part after an injected text, or nothing. */
export function promptInCodex(text: string): string {
  let rest = text.trim();
  if (rest.startsWith("# AGENTS.md")) {
    const end = rest.indexOf("</INSTRUCTIONS>");
    rest = end < 0 ? "" : rest.slice(end + "</INSTRUCTIONS>".length).trim();
  }
  for (;;) {
    const tag = INJECTED.exec(rest)?.[1];
    if (tag === undefined) return withoutEditor(rest);
    const end = rest.indexOf(`</${tag}>`);
    if (end < 0) return "";
    rest = rest.slice(end + tag.length + 3).trim();
  }
}
