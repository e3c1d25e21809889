import {
  type ForgottenMarks,
  type ForgottenTexts,
  forgottenCopy,
  forgottenMarks,
  marksOfEach,
  newForgettingKey,
} from "../../core/forgotten-texts.ts";

/** Keeps the marks of forgotten texts in this process only. */
export class EphemeralForgottenTexts implements ForgottenTexts, ForgottenMarks {
  readonly #key = newForgettingKey();
  readonly #marks = new Set<string>();

  async add(sessionId: string, texts: readonly string[]): Promise<void> {
    for (const mark of await forgottenMarks(this.#key, sessionId, texts)) {
      if (mark !== undefined) this.#marks.add(mark);
    }
  }

  async has(sessionId: string, texts: readonly string[]): Promise<readonly boolean[]> {
    if (this.#marks.size === 0) return texts.map(() => false);
    const each = await marksOfEach(this.#key, [...this.#marks], sessionId, texts);
    return each.map((marks) => marks.some((mark) => this.#marks.has(mark)));
  }

  async copy(): Promise<readonly string[]> {
    return this.#marks.size === 0 ? [] : forgottenCopy(this.#key, [...this.#marks]);
  }

  async restore(copy: readonly string[]): Promise<void> {
    for (const mark of copy) this.#marks.add(mark);
  }
}
