import type { RkatWarning } from "../../core/warn.ts";

/** The fields of a warning that `HeldWarnings` reads. */
export type HeldWarning = Pick<RkatWarning, "message" | "consequence" | "causeText">;

/**
 * Decides which warnings a command prints, and when. A failure that may still end the command waits for its end, because
 * the command tells that one itself. What does not end it is told once, however many parts of rkat meet it.
 *
 *     wait   ──► the command fails      prints the others
 *            ──► the command succeeds   prints all
 *            ──► it goes on: a server   prints all, and what comes later at once
 */
export class HeldWarnings {
  /** How a text is shown, with the flags of the command line in the commands that it names. */
  shown: (text: string) => string = (text) => text;
  readonly #print: (text: string) => void;
  #waiting: HeldWarning[] | undefined = [];
  /** The causes and sentences that were told; undefined when each warning is news. */
  #told: Set<string> | undefined = new Set();

  constructor(print: (text: string) => void) {
    this.#print = print;
  }

  add(warning: HeldWarning): void {
    // A note without a failure cannot be what ends the command.
    if (this.#waiting && warning.causeText !== undefined) this.#waiting.push(warning);
    else this.#say(warning);
  }

  /** Work begins whose failure is told by its caller. */
  wait(): void {
    this.#waiting ??= [];
    this.#told = new Set();
  }

  /** The work ended, with what its caller tells of its failure. */
  end(...causes: readonly string[]): void {
    this.#told ??= new Set();
    for (const cause of causes) this.#told.add(cause).add(ALL_OF + cause);
    this.#release();
  }

  /** The command works from now on, even if parts fail. The service tells each cause once per outage. */
  goOn(): void {
    this.#release();
    this.#told = undefined;
  }

  #release(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const warning of waiting) this.#say(warning);
  }

  #say({ message, consequence, causeText = message }: HeldWarning): void {
    const told = this.#told ?? new Set();
    if (told.has(ALL_OF + causeText)) return;
    // A consequence is told even if another part has told its cause.
    const news = told.has(causeText) ? consequence : message;
    if (news === "" || told.has(consequence)) return;
    told.add(causeText);
    if (consequence !== "") told.add(consequence);
    this.#print(this.shown(news));
  }
}

/** Marks a cause whose consequences are of no interest any more. */
const ALL_OF = "ended by ";
