import type { PassageColumns } from "./passage-index.ts";

/** So many slots that follow each other are looked at together, or left out together. */
export const STRETCH = 64;

export function stretchOf(slot: number): number {
  return Math.floor(slot / STRETCH);
}

/** What is known of all slots together, and of each stretch of them: whoever changes columns calls `update`. */
export class Stretches {
  readonly #sessionsIn: (readonly number[])[] = [];
  readonly #sessions = new Set<number>();
  #lastSession = 0;
  #newest = Number.NEGATIVE_INFINITY;

  /** How many sessions have passages. */
  get sessions(): number {
    return this.#sessions.size;
  }

  /** The largest number of one. */
  get lastSession(): number {
    return this.#lastSession;
  }

  /** The time of the newest entry. */
  get newest(): number {
    return this.#newest;
  }

  /** The numbers of the sessions that have passages in a stretch. */
  sessionsIn(stretch: number): readonly number[] {
    return this.#sessionsIn[stretch] ?? NONE;
  }

  /** Takes note of what came to be in slots, `from` up to `until`. What is gone from them, it does not find. */
  update({ session, time }: PassageColumns, from: number, until: number): void {
    for (let stretch = stretchOf(from); stretch * STRETCH < until; stretch += 1) {
      const start = stretch * STRETCH;
      const sessions: number[] = [];
      for (let slot = start; slot < Math.min(start + STRETCH, session.length); slot += 1) {
        const number = session[slot] as number;
        if (number === 0) continue;
        if (number !== sessions.at(-1)) sessions.push(number);
        if ((time[slot] as number) > this.#newest) this.#newest = time[slot] as number;
      }
      for (const number of sessions) {
        this.#sessions.add(number);
        if (number > this.#lastSession) this.#lastSession = number;
      }
      while (this.#sessionsIn.length < stretch) this.#sessionsIn.push(NONE);
      this.#sessionsIn[stretch] = sessions;
    }
  }
}

const NONE: readonly number[] = [];
