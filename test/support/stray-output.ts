import { writeSync } from "node:fs";

/**
 * What a test causes beside what it asserts: warnings of the process, lines on a console, and what its children print
 * where the tests print. Each has to be expected, because a warning that is always there hides the one that matters.
 */
export class StrayOutput {
  readonly #owner: string;
  readonly #outer: () => StrayOutput | undefined;
  readonly #expected: { readonly pattern: RegExp; missing: number }[] = [];
  readonly #found: string[] = [];
  #isClosed = false;

  /** What arrives after the end goes to `outer`: a test cannot fail any more that has ended. */
  constructor(owner: string, outer: () => StrayOutput | undefined = () => undefined) {
    this.#owner = owner;
    this.#outer = outer;
  }

  /** The text that `pattern` matches has to come so many times, or more often, and is dropped. */
  expect(pattern: RegExp, times: number): void {
    this.#expected.push({ pattern, missing: times });
  }

  /** Whether it is dropped. */
  isExpected(part: string): boolean {
    const expected = this.#expected.filter(({ pattern }) => pattern.test(part));
    for (const each of expected) each.missing -= 1;
    return expected.length > 0 || (this.#outer()?.isExpected(part) ?? false);
  }

  /** Takes what was printed. Lines that are indented belong to the line above. */
  add(text: string): void {
    for (const part of text.split(/\n(?=\S)/)) this.#take(part.trimEnd());
  }

  /** Ends the time in which something may come, and returns what should not have come, or should have. */
  close(): string[] {
    this.#isClosed = true;
    const missing = this.#expected.filter((expected) => expected.missing > 0);
    return [...this.#found, ...missing.map(({ pattern }) => `Nothing came like ${pattern}.`)];
  }

  #take(part: string): void {
    if (part === "" || part.startsWith("(Use `node --trace-")) return;
    if (this.isExpected(part)) return;
    if (!this.#isClosed) this.#found.push(part);
    else this.#takeLate(part.replace(/$/m, `\n  (after the end of ${this.#owner})`));
  }

  #takeLate(part: string): void {
    const outer = this.#outer();
    if (outer) outer.add(part);
    else writeSync(2, `${part}\n`);
  }
}
