/** What the time of a test went into, in milliseconds. */
export interface TimeSpent {
  /** Starting a server that the test needs, until it answers. */
  readonly servers: number;
  /** Starting a process, until it prints or sends something, or ends. */
  readonly processes: number;
  /** In the rest: the processor's time of the tests' own process. */
  readonly computing: number;
  /** In the rest: everything else. Another process works, a disk, or a timer runs. */
  readonly waiting: number;
}

declare module "vitest" {
  interface TaskMeta {
    spent?: TimeSpent;
  }
}

export type Start = "servers" | "processes";

interface Reading {
  readonly at: number;
  /** Of the processor. */
  readonly computed: number;
}

/** Adds up what time goes into, from when it is made. Starts are counted once, however many run side by side. */
export class TimeClock {
  readonly #read: () => Reading;
  readonly #starting = { servers: 0, processes: 0 };
  readonly #spent = { servers: 0, processes: 0, computing: 0, waiting: 0 };
  #last: Reading;

  constructor(read: () => Reading = readProcess) {
    this.#read = read;
    this.#last = read();
  }

  /** Counts the time until the returned function is called. */
  start(kind: Start): () => void {
    this.#advance();
    this.#starting[kind] += 1;
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      this.#advance();
      this.#starting[kind] -= 1;
    };
  }

  spent(): TimeSpent {
    this.#advance();
    return { ...this.#spent };
  }

  #advance(): void {
    const now = this.#read();
    const passed = now.at - this.#last.at;
    if (this.#starting.servers > 0) this.#spent.servers += passed;
    else if (this.#starting.processes > 0) this.#spent.processes += passed;
    else {
      // Threads of the process compute side by side.
      const computed = Math.min(passed, now.computed - this.#last.computed);
      this.#spent.computing += computed;
      this.#spent.waiting += passed - computed;
    }
    this.#last = now;
  }
}

function readProcess(): Reading {
  const { user, system } = process.cpuUsage();
  return { at: performance.now(), computed: (user + system) / 1000 };
}
