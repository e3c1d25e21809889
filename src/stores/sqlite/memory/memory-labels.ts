import type { Connection } from "../connection.ts";

/** Gives roles and speakers their numbers in the columns, and counts who has them. */
export class MemoryLabels {
  readonly #db: Connection;
  readonly #namespace: number;
  readonly #used = new Map<string, { number: number; uses: number }>();

  constructor(db: Connection, namespace: number) {
    this.#db = db;
    this.#namespace = namespace;
  }

  /** The number of a label that one more entry has; 0 for none. */
  use(text: string | undefined): number {
    if (text === undefined) return 0;
    const label = this.#label(text);
    label.uses += 1;
    return label.number;
  }

  /** One entry less has it. */
  leave(text: string | undefined): void {
    if (text !== undefined) this.#label(text).uses -= 1;
  }

  save(): void {
    for (const { number, uses } of this.#used.values()) {
      if (uses === 0) continue;
      this.#db.run(
        "UPDATE memory_label SET uses = uses + ? WHERE namespace = ? AND number = ?",
        uses,
        this.#namespace,
        number,
      );
      if (uses < 0) {
        this.#db.run(
          "DELETE FROM memory_label WHERE namespace = ? AND number = ? AND uses <= 0",
          this.#namespace,
          number,
        );
      }
    }
    this.#used.clear();
  }

  #label(text: string): { number: number; uses: number } {
    const known = this.#used.get(text);
    if (known) return known;
    const label = {
      number: labelNumber(this.#db, this.#namespace, text) ?? this.#add(text),
      uses: 0,
    };
    this.#used.set(text, label);
    return label;
  }

  #add(text: string): number {
    const next = this.#db.get<{ number: number }>(
      "SELECT coalesce(max(number), 0) + 1 AS number FROM memory_label WHERE namespace = ?",
      this.#namespace,
    );
    const number = next?.number ?? 1;
    this.#db.run("INSERT INTO memory_label VALUES (?, ?, ?, 0)", this.#namespace, number, text);
    return number;
  }
}

export function labelNumber(db: Connection, namespace: number, text: string): number | undefined {
  return db.get<{ number: number }>(
    "SELECT number FROM memory_label WHERE namespace = ? AND text = ?",
    namespace,
    text,
  )?.number;
}

export function labelText(db: Connection, namespace: number, number: number): string | undefined {
  return db.get<{ text: string }>(
    "SELECT text FROM memory_label WHERE namespace = ? AND number = ?",
    namespace,
    number,
  )?.text;
}

/** Remembers the numbers of labels. 0 is that of none, and of one that has no number. */
export class LabelNumbers {
  readonly #db: Connection;
  readonly #namespace: number;
  readonly #known = new Map<string, number>();

  constructor(db: Connection, namespace: number) {
    this.#db = db;
    this.#namespace = namespace;
  }

  of(text: string | null): number {
    if (text === null) return 0;
    const number = this.#known.get(text) ?? labelNumber(this.#db, this.#namespace, text) ?? 0;
    this.#known.set(text, number);
    return number;
  }
}
