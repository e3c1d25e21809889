import { Readable, Writable } from "node:stream";
import { setImmediate as nextTick } from "node:timers/promises";
import { runCli } from "../../src/cli.ts";
import { inOrder, type Order } from "./in-order.ts";

/** A command line, and what it finds around it. */
export interface CommandRequest {
  readonly args: readonly string[];
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string;
  readonly order?: Order;
}

export type CommandAnswer =
  | { readonly stdout: string }
  | { readonly stderr: string }
  | { readonly code: number };

// Started by the tests: runs one `rkat` command line after the other. Each has its own arguments, folder,
// environment and streams, as in a process of its own; only the loading of the code is done once.
const nodeListeners = process.listeners("warning");
const { log, info, debug } = console;
let running = false;

process.on("message", async (request: CommandRequest) => {
  running = true;
  prepare(request);
  const end = inOrder(request.order);
  try {
    await runCli();
  } catch (error) {
    process.stderr.write(
      `rkat failed in its host: ${error instanceof Error ? error.stack : error}\n`,
    );
    process.exitCode = 1;
  }
  end();
  // Warnings that the command caused are emitted a tick later.
  await nextTick();
  running = false;
  answer({ code: Number(process.exitCode ?? 0) });
});
process.once("disconnect", () => process.exit());

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    // A command that does not listen is ended by it.
    if (running && process.listenerCount(signal) === 1) process.kill(process.pid, "SIGKILL");
  });
}

function prepare({ args, folder, env, stdin }: CommandRequest): void {
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
  Object.assign(process.env, env);
  process.chdir(folder);
  process.argv = [process.execPath, "rkat", ...args];
  process.exitCode = undefined;
  process.removeAllListeners("warning");
  for (const listener of nodeListeners) process.on("warning", listener);
  Object.assign(console, { log, info, debug });
  replaceStream("stdin", Readable.from([Buffer.from(stdin)]));
  replaceStream(
    "stdout",
    output((stdout) => ({ stdout })),
  );
  replaceStream(
    "stderr",
    output((stderr) => ({ stderr })),
  );
}

function replaceStream(name: "stdin" | "stdout" | "stderr", value: Readable | Writable): void {
  Object.defineProperty(process, name, { value, configurable: true, enumerable: true });
}

function output(tell: (text: string) => CommandAnswer): Writable {
  return new Writable({
    decodeStrings: false,
    write(chunk, _encoding, done) {
      answer(tell(String(chunk)));
      done();
    },
  });
}

function answer(message: CommandAnswer): void {
  process.send?.(message);
}
