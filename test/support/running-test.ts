import { AsyncLocalStorage } from "node:async_hooks";
import { StrayOutput } from "./stray-output.ts";
import { type Start, TimeClock, type TimeSpent } from "./time-spent.ts";

/** A test or a file of tests that runs: what it prints, and what its time goes into. */
export interface Running {
  readonly output: StrayOutput;
  readonly clock: TimeClock;
}

interface Shared {
  readonly storage: AsyncLocalStorage<Running>;
  /** The file whose tests run in this process, and the test: what starts counts for both. */
  readonly now: { file?: Running; test?: Running };
  readonly notes: string[];
  readonly samples: Samples;
}

/** What the short form of the tests runs a part of, in the words that the run prints. */
export type Sampled =
  | "laws repeated on another store or surface"
  | "attacks"
  | "crash points"
  | "cases"
  | "random trials";

/** How many of a kind this form of the run has, and how many the long form has. */
export interface Sample {
  readonly run: number;
  readonly all: number;
}

export type Samples = { [Kind in Sampled]?: Sample };

/** One for the process: a test may reset its modules, and what watches the output began with the first. */
const { storage, now, notes, samples } = sharedByProcess();

function sharedByProcess(): Shared {
  const KEY = Symbol.for("rkat tests know which test runs");
  const known: Shared | undefined = Reflect.get(globalThis, KEY);
  const shared = known ?? {
    storage: new AsyncLocalStorage(),
    now: {},
    notes: [],
    samples: {},
  };
  Reflect.set(globalThis, KEY, shared);
  return shared;
}

/** Where something belongs that happens now: what began in a test belongs to it, however late it comes. */
export function outputHere(): StrayOutput | undefined {
  return (storage.getStore() ?? now.test ?? now.file)?.output;
}

/** A file begins, before it is read. */
export function beginFile(): void {
  const output: StrayOutput = new StrayOutput("its file", () => {
    // A process runs one file after the other.
    const next = now.file?.output;
    return next === output ? undefined : next;
  });
  now.file = { output, clock: new TimeClock() };
}

/** Says something to the person who runs the tests, once, however many files say it. */
export function note(text: string): void {
  notes.push(text);
}

/** The notes that no file has handed on yet. */
export function takeNotes(): string[] {
  return notes.splice(0);
}

/** This form of the run has `run` of the `all` that there are of a kind. */
export function countSample(kind: Sampled, run: number, all: number): void {
  const counted = samples[kind] ?? { run: 0, all: 0 };
  samples[kind] = { run: counted.run + run, all: counted.all + all };
}

/** What was counted since the last call. */
export function takeSamples(): Samples {
  const taken = { ...samples };
  for (const kind of Object.keys(samples)) Reflect.deleteProperty(samples, kind);
  return taken;
}

/** Runs `body` as the file's tests. Throws for what came and was not expected. */
export async function runFile(body: () => Promise<void>): Promise<TimeSpent> {
  const { file } = now;
  if (!file) throw new Error("A file runs that did not begin.");
  await storage.run(file, body);
  return await end(file);
}

export async function runTest(name: string, body: () => Promise<void>): Promise<TimeSpent> {
  const { file } = now;
  const output = new StrayOutput(`"${name}"`, () => file?.output);
  const test = { output, clock: new TimeClock() };
  now.test = test;
  try {
    await storage.run(test, body);
    return await end(test);
  } finally {
    delete now.test;
  }
}

/** Counts what `body` takes as the start of a server or a process. */
export async function timed<Result>(kind: Start, body: () => Promise<Result>): Promise<Result> {
  const ended = startTimed(kind);
  try {
    return await body();
  } finally {
    ended();
  }
}

export function startTimed(kind: Start): () => void {
  const ends = [now.file, now.test].map((running) => running?.clock.start(kind));
  return () => {
    for (const ended of ends) ended?.();
  };
}

// Tests replace timers.
const { setImmediate } = globalThis;

async function end({ output, clock }: Running): Promise<TimeSpent> {
  // Warnings are emitted a tick later.
  await new Promise((resolve) => setImmediate(resolve));
  const problems = output.close();
  if (problems.length === 0) return clock.spent();
  const [first = ""] = problems;
  const [text = "", ...places] = first.split(/\n(?= {4}at )/);
  const rest = problems.slice(1).map((each) => each.replace(/\n {4}at .*node_modules.*/g, ""));
  const error = new Error(["This was not expected:", text, ...rest].join("\n"));
  // Where the first one comes from says more than this place.
  error.stack = [`Error: ${error.message}`, ...places].join("\n");
  throw error;
}
