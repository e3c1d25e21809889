import { shareUsedUp, unavailable } from "./error-response.ts";

/** A holder of something: a user, or, without one, the server's own callers. */
export type Holder = string | undefined;

/** Why a holder gets no more: nothing is free, or their share is used up. */
type Lack = "free" | "share";

/**
 * Divides `max` pieces of one thing among the users of a server.
 *
 * A user may hold as much as is still free. So one user alone gets half, two who want all they can get a third each,
 * and something is left for the next one. The server's own callers are not limited: they may take all.
 */
export class FairShare {
  readonly #max: number;
  readonly #held = new Map<Holder, number>();
  #total = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** The pieces that all hold together. */
  get total(): number {
    return this.#total;
  }

  heldBy(holder: Holder): number {
    return this.#held.get(holder) ?? 0;
  }

  /** Why `holder` may not take `amount` more, or `undefined` when they may. */
  lack(holder: Holder, amount = 1): Lack | undefined {
    const free = this.#max - this.#total;
    if (amount > free) return "free";
    if (holder !== undefined && this.heldBy(holder) + amount > free) return "share";
    return undefined;
  }

  /**
   * Takes `amount` more, if the holder may.
   *
   * @throws SessionError `SERVICE_UNAVAILABLE` when nothing is free, and HTTPException 429 when the user's share is used up.
   */
  take(holder: Holder, says: Readonly<Record<Lack, string>>, amount = 1): void {
    const lack = this.lack(holder, amount);
    if (lack === "free") throw unavailable(says.free);
    if (lack === "share") throw shareUsedUp(says.share);
    this.add(holder, amount);
  }

  /** Counts without asking. A negative amount gives back. */
  add(holder: Holder, amount: number): void {
    this.#total += amount;
    const held = this.heldBy(holder) + amount;
    if (held === 0) this.#held.delete(holder);
    else this.#held.set(holder, held);
  }
}
