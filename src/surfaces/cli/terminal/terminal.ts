import type { Readable, Writable } from "node:stream";

/** What a command sees of the process it runs in. Tests pass their own. */
export interface Terminal {
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Runs work that Ctrl-C interrupts; a second Ctrl-C ends the process at once. */
  interruptible<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result>;
  /** The bare streams, for a protocol: nothing else writes to standard output, and its end is theirs to see to. */
  takeStreams(): ProtocolStreams;
  /** Standard input and output for a person who types line after line. */
  takeChat(): ChatStreams;
}

export interface ChatStreams {
  readonly input: Readable;
  readonly output: Writable;
  /** Whether a person sits at both ends. */
  readonly isTerminal: boolean;
  /** Whether keys come one by one, Ctrl-C among them. */
  raw(on: boolean): void;
  /** Lets the process end although nobody closed its input. */
  release(): void;
}

interface ProtocolStreams {
  readonly input: Readable;
  readonly output: Writable;
  /** Ends the process if it would wait for a reader who has not read what was left, and was given time to. */
  release(): void;
}

export interface Input extends AsyncIterable<Uint8Array> {
  readonly isTerminal: boolean;
}

export interface Output {
  readonly isTerminal: boolean;
  readonly columns: number;
  /** Writes in the order of the calls; resolves when more may come. */
  write(text: string): Promise<void>;
}
