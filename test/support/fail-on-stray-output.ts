import { Console } from "node:console";
import { Writable } from "node:stream";
import { aroundAll, aroundEach } from "vitest";
import { beginFile, outputHere, runFile, runTest, takeNotes, takeSamples } from "./running-test.ts";
import { watchChildren } from "./watch-children.ts";

// Vitest runs this before each file of tests, also where a worker ran others before.
beginFile();

// Vitest reads the parameters of a hook: a second one would have to name fixtures.
aroundAll(async (...args) => {
  const [runSuite, , { file }] = args;
  try {
    file.meta.spent = await runFile(runSuite);
  } finally {
    file.meta.notes = takeNotes();
    file.meta.samples = takeSamples();
  }
});

aroundEach(async (run, { task }) => {
  task.meta.spent = await runTest(task.fullTestName, run);
});

const INSTALLED = Symbol.for("rkat tests watch their output");
if (!Reflect.has(globalThis, INSTALLED)) {
  Reflect.set(globalThis, INSTALLED, true);
  watchWarnings();
  watchStreams();
  watchChildren();
}

function watchWarnings(): void {
  // Node's own listener prints.
  process.removeAllListeners("warning");
  process.on("warning", (warning: Error & { readonly detail?: string }) => {
    const { name, message, detail, stack = "" } = warning;
    const from = detail ?? stack.slice(Math.max(0, stack.search(/^ {4}at /m)));
    outputHere()?.add(`${name}: ${message}\n${from.replace(/^(?! )/gm, "  ")}`);
  });
}

function watchStreams(): void {
  for (const stream of [process.stdout, process.stderr]) {
    const write = stream.write.bind(stream) as typeof stream.write;
    stream.write = ((chunk: unknown, ...rest: unknown[]) => {
      const output = outputHere();
      if (!output) return Reflect.apply(write, stream, [chunk, ...rest]);
      output.add(typeof chunk === "string" ? chunk : Buffer.from(chunk as Uint8Array).toString());
      const done = rest.find((each) => typeof each === "function");
      if (done) queueMicrotask(() => done());
      return true;
    }) as typeof stream.write;
  }
  const stream = new Writable({
    decodeStrings: false,
    write(chunk, _encoding, done) {
      outputHere()?.add(String(chunk));
      done();
    },
  });
  globalThis.console = new Console({ stdout: stream, stderr: stream });
}
