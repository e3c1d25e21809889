import {
  type ForgottenTexts,
  forgottenMarks,
  newForgettingKey,
} from "../../core/forgotten-texts.ts";

/** Keeps the marks of forgotten texts in this process only. */
export class EphemeralForgottenTexts implements ForgottenTexts {
  readonly #key = newForgettingKey();
  readonly #marks = new Set<string>();

  async add(sessionId: string, texts: readonly string[]): Promise<void> {
    for (const mark of await forgottenMarks(this.#key, sessionId, texts)) {
      if (mark !== undefined) this.#marks.add(mark);
    }
  }

  async has(sessionId: string, texts: readonly string[]): Promise<readonly boolean[]> {
    if (this.#marks.size === 0) return texts.map(() => false);
    const marks = await forgottenMarks(this.#key, sessionId, texts);
    return marks.map((mark) => mark !== undefined && this.#marks.has(mark));
  }
}
