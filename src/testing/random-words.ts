const WORDS =
  "harbour ship cargo crane ledger anchor signal lantern beacon rope captain tide quay customs seal manifest storm pilot hull deck".split(
    " ",
  );

/** Texts for laws that need no library: the same for the same seed. */
export class RandomWords {
  #state: number;

  constructor(seed: number) {
    this.#state = seed * 2_654_435_761;
  }

  /** A whole number from 0 to `count` - 1. */
  below(count: number): number {
    const mixed = Math.imul(this.#state ^ (this.#state >>> 15), 2_246_822_519);
    this.#state = (mixed + 0x9e37_79b9) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * count);
  }

  words(count: number): string {
    return Array.from({ length: count }, () => WORDS[this.below(WORDS.length)]).join(" ");
  }
}
