import type { Readable, Writable } from "node:stream";

/** The part of its process that a command sees. Tests pass their own. */
export interface Terminal {
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /**
   * Runs work that Ctrl-C and SIGTERM interrupt. The process ends within a second, whatever the work does. A second
   * Ctrl-C ends it at once.
   */
  interruptible<Result>(
    work: (signal: AbortSignal) => Promise<Result>,
    options?: InterruptibleOptions,
  ): Promise<Result>;
  /** The raw streams, for a protocol. From then on nothing else writes to standard output. */
  takeStreams(): ProtocolStreams;
  /** Standard input and output for a person who types line by line. */
  takeChat(): ChatStreams;
  /** Gives the whole terminal to one program that draws on it. */
  takeScreen(screen: ScreenOwner): TakenScreen;
}

export interface InterruptibleOptions {
  /** More time to end, which the user has given. */
  readonly graceMs?: number;
  /** Ctrl-C ends the work and not the process, as in a chat. */
  readonly goesOn?: boolean;
}

export interface ScreenOwner {
  /** Takes what is written to standard error meanwhile, for example warnings. */
  onStray(text: string): void;
  /** Puts the terminal back as it was. Called when the process ends early. */
  restore(): void;
}

export interface TakenScreen {
  /** Does what Ctrl-C does when the keys are not read one by one. False when nothing listens. */
  interrupt(): boolean;
  /** Stops the process until the shell continues it. Missing where there is no such thing. */
  readonly suspend?: () => Promise<void>;
  release(): void;
}

export interface ChatStreams {
  readonly input: Readable;
  readonly output: Writable;
  /** Whether both ends are a terminal. */
  readonly isTerminal: boolean;
  /** Calls the listener at Ctrl-C, until the returned function is called. */
  onInterrupt(listener: () => void): () => void;
  /** Lets the process end although its input is still open. */
  release(): void;
}

interface ProtocolStreams {
  readonly input: Readable;
  readonly output: Writable;
  /** Ends the process if a slow reader has still not read everything. */
  release(): void;
}

export interface Input extends AsyncIterable<Uint8Array> {
  readonly isTerminal: boolean;
}

export interface Output {
  readonly isTerminal: boolean;
  /** Whether it is a terminal that can rewrite a line in place. */
  readonly rewrites: boolean;
  readonly columns: number;
  readonly rows: number;
  /** Writes in the order of the calls. Resolves when the stream can take more. */
  write(text: string): Promise<void>;
}
