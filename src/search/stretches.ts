import type { PassageColumns } from "./passage-index.ts";

/** So many slots that follow each other are looked at together, or left out together. */
export const STRETCH = 64;

export function stretchOf(slot: number): number {
  return Math.floor(slot / STRETCH);
}

/** Which sessions have passages in which stretch, remembered once it was asked for. */
export class SessionsOfStretches {
  #known: (readonly number[] | undefined)[] = [];

  /** Numbers of sessions, each once or more often. */
  of(stretch: number, { session }: PassageColumns): readonly number[] {
    const known = this.#known[stretch];
    if (known) return known;
    const found: number[] = [];
    const end = Math.min((stretch + 1) * STRETCH, session.length);
    for (let slot = stretch * STRETCH; slot < end; slot += 1) {
      const number = session[slot] as number;
      if (number !== 0 && number !== found.at(-1)) found.push(number);
    }
    while (this.#known.length < stretch) this.#known.push(undefined);
    this.#known[stretch] = found;
    return found;
  }

  /** Slots from `from` up to `until` have other sessions now. */
  forget(from = 0, until = Number.POSITIVE_INFINITY): void {
    const end = Math.min(until, this.#known.length * STRETCH);
    for (let stretch = stretchOf(from); stretch * STRETCH < end; stretch += 1) {
      this.#known[stretch] = undefined;
    }
  }
}
