/** The most alternatives that the braces of one glob may stand for. */
const ALTERNATIVES_MAX = 100;

/** Stands for any number of symbols, and for exactly one. */
const RUN = Symbol("any number");
const ONE = Symbol("one");

type Element<Key> = Key | typeof RUN | typeof ONE;

/** The places in the patterns that can be reached so far, a bit for each. */
type Places = Uint32Array<ArrayBuffer>;

/**
 * Whether paths fit a glob: `*` is any part of a name, `**` any folders, `?` one letter, `{ts,tsx}` one
 * of several. A glob without a slash fits names in every folder.
 */
export function globMatcher(glob: string): (path: string) => boolean {
  const globs = new PathGlobs(alternativesOf(glob));
  return (path) => {
    const places = path.split("/").reduce((at, name) => globs.enter(at, name), globs.start);
    return globs.fitting(places).length > 0;
  };
}

/**
 * Many globs without braces, compared with a path name by name, all at once:
 *
 *     names of the path  ─►  which name patterns fit it  ─►  how far each glob has come
 *
 * Both steps are automata without backtracking. A name costs its length times the length of all globs
 * divided by 32, whatever the globs are.
 */
export class PathGlobs {
  readonly #names: Automaton<string>;
  readonly #paths: Automaton<number>;
  readonly #letters: readonly [Places, Places];

  constructor(globs: readonly string[]) {
    const names = new Map<string, number>();
    const paths = globs.map((glob) => namesOf(glob, names));
    this.#names = new Automaton([...names.keys()].map(lettersOf));
    this.#paths = new Automaton(paths);
    const { words } = this.#names;
    this.#letters = [new Uint32Array(words), new Uint32Array(words)];
  }

  /** Before the first name. */
  get start(): Places {
    return this.#paths.start;
  }

  /** Steps that one letter of a name takes. */
  get stepsPerLetter(): number {
    return this.#names.words + this.#paths.words;
  }

  /** After one more name. */
  enter(places: Places, name: string): Places {
    let letters = this.#names.start;
    // Two arrays by turns: each letter would make one.
    let [free, other] = this.#letters;
    for (const letter of name) {
      letters = this.#names.next(letters, [letter], free);
      [free, other] = [other, free];
    }
    return this.#paths.next(places, this.#names.complete(letters));
  }

  /** The globs that fit the names so far, in order. */
  fitting(places: Places): readonly number[] {
    return this.#paths.complete(places);
  }
}

/** Patterns one behind the other, each with a bit for every element and one for its end. */
class Automaton<Key extends string | number> {
  readonly start: Places;
  readonly #runs: Places;
  readonly #ones: Places;
  readonly #ends: Places;
  readonly #patternAt = new Map<number, number>();
  /** The elements that stand for a symbol itself: bits, or their places one by one where they are few. */
  readonly #elementsOf = new Map<Key, Places | readonly number[]>();

  constructor(patterns: readonly (readonly Element<Key>[])[]) {
    const bits = patterns.reduce((sum, pattern) => sum + pattern.length + 1, 0);
    const empty = () => new Uint32Array(Math.ceil(bits / 32));
    [this.start, this.#runs, this.#ones, this.#ends] = [empty(), empty(), empty(), empty()];
    const elementsOf = new Map<Key, number[]>();
    let bit = 0;
    for (const [index, pattern] of patterns.entries()) {
      set(this.start, bit);
      if (pattern[0] === RUN) set(this.start, bit + 1);
      for (const element of pattern) {
        if (element === RUN) set(this.#runs, bit);
        else if (element === ONE) set(this.#ones, bit);
        else {
          const known = elementsOf.get(element);
          if (known) known.push(bit);
          else elementsOf.set(element, [bit]);
        }
        bit += 1;
      }
      set(this.#ends, bit);
      this.#patternAt.set(bit, index);
      bit += 1;
    }
    for (const [key, places] of elementsOf) {
      // Neither a step nor all symbols together then take more than a few times the room of the patterns.
      const isFew = places.length < this.words;
      this.#elementsOf.set(key, isFew ? places : bitsOf(places, this.#ones.slice()));
    }
  }

  get words(): number {
    return this.start.length;
  }

  /** After one more symbol, which may be read as each of `keys`. */
  next(places: Places, keys: readonly Key[], next: Places = new Uint32Array(this.words)): Places {
    const few: number[] = [];
    let elements = this.#ones;
    for (const key of keys) {
      const those = this.#elementsOf.get(key);
      if (those instanceof Uint32Array) {
        elements = elements === this.#ones ? those : either(elements, those);
      } else if (those) few.push(...those.filter((bit) => has(places, bit)));
    }
    this.#move(places, elements, next);
    for (const bit of few) {
      set(next, bit + 1);
      if (has(this.#runs, bit + 1)) set(next, bit + 2);
    }
    return next;
  }

  /** Runs stay, elements go on, and a run that is reached may stand for nothing: no run follows another one. */
  #move(places: Places, elements: Places, next: Places): void {
    const runs = this.#runs;
    let carry = 0;
    let skipped = 0;
    for (let word = 0; word < places.length; word += 1) {
      const here = places[word] as number;
      const run = runs[word] as number;
      const moved = here & (elements[word] as number);
      const reached = (here & run) | (moved << 1) | carry;
      carry = moved >>> 31;
      const skips = reached & run;
      next[word] = reached | (skips << 1) | skipped;
      skipped = skips >>> 31;
    }
  }

  /** The patterns that are complete. */
  complete(places: Places): readonly number[] {
    const found: number[] = [];
    for (let word = 0; word < places.length; word += 1) {
      let ends = (places[word] ?? 0) & (this.#ends[word] ?? 0);
      while (ends !== 0) {
        const low = 31 - Math.clz32(ends & -ends);
        found.push(this.#patternAt.get(word * 32 + low) ?? 0);
        ends &= ends - 1;
      }
    }
    return found;
  }
}

function bitsOf(bits: readonly number[], places: Places): Places {
  for (const bit of bits) set(places, bit);
  return places;
}

function either(one: Places, other: Places): Places {
  return one.map((word, index) => word | (other[index] as number));
}

function set(places: Places, bit: number): void {
  places[bit >>> 5] = (places[bit >>> 5] ?? 0) | (1 << (bit & 31));
}

function has(places: Places, bit: number): boolean {
  return ((places[bit >>> 5] ?? 0) & (1 << (bit & 31))) !== 0;
}

/** A glob as the numbers of its name patterns. New ones are added to `names`. */
function namesOf(glob: string, names: Map<string, number>): readonly Element<number>[] {
  const path = (glob.includes("/") ? glob : `**/${glob}`).replace(/^\.?\//, "").split("/");
  const elements = path.map((name): Element<number> => {
    if (name === "**") return RUN;
    const known = names.get(name) ?? names.size;
    names.set(name, known);
    return known;
  });
  // `src/**` is all below the folder, and not the folder.
  if (elements.at(-1) === RUN) elements.push(ONE);
  return withoutRepeatedRuns(elements);
}

function lettersOf(name: string): readonly Element<string>[] {
  const letters = Array.from(name, (letter): Element<string> => {
    if (letter === "*") return RUN;
    return letter === "?" ? ONE : letter;
  });
  return withoutRepeatedRuns(letters);
}

function withoutRepeatedRuns<Key>(elements: readonly Element<Key>[]): readonly Element<Key>[] {
  return elements.filter((element, index) => element !== RUN || elements[index - 1] !== RUN);
}

/** The globs without braces that one with braces stands for. */
function alternativesOf(glob: string): readonly string[] {
  let done = [""];
  let rest = glob;
  for (;;) {
    const open = rest.indexOf("{");
    const close = rest.indexOf("}", open);
    if (open < 0 || close < 0) return done.map((start) => start + rest);
    const choices = rest.slice(open + 1, close).split(",");
    if (done.length * choices.length > ALTERNATIVES_MAX) return done.map((start) => start + rest);
    const before = rest.slice(0, open);
    done = done.flatMap((start) => choices.map((choice) => start + before + choice));
    rest = rest.slice(close + 1);
  }
}
