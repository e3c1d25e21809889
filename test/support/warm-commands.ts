import { PassThrough, type Readable } from "node:stream";
import { onTestFinished } from "vitest";
import { builtProgram } from "./built-package.ts";
import type { CommandAnswer, CommandRequest } from "./serve-commands.ts";
import { type ChildProcess, fork } from "./start-process.ts";

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningCommand {
  /** What it prints, as it prints it. */
  readonly stdout: Readable;
  readonly ended: Promise<Ended>;
  kill(signal: NodeJS.Signals): void;
}

/** Processes with the code of `rkat` loaded, which wait for a command line. They end with this process. */
const idle = new Set<ChildProcess>();

/**
 * Runs a command line in a process that has run others before: `rkat` takes a quarter
 * of a second to load, hundreds of times. One process runs one command at a time.
 */
export function startWarm(request: CommandRequest): RunningCommand {
  // The last one that was used: V8 has compiled most in it, and what it compiled is its own.
  const child = [...idle].findLast(({ connected }) => connected) ?? startHost();
  idle.delete(child);
  const stdout = new PassThrough();
  const printed = { stdout: "", stderr: "" };
  const { promise: ended, resolve } = Promise.withResolvers<Ended>();
  let isOver = false;
  const end = (code: number | null) => {
    isOver = true;
    child.removeAllListeners("message").off("close", end);
    stdout.end();
    resolve({ code, ...printed });
  };
  child.on("message", (answer: CommandAnswer) => {
    if ("code" in answer) {
      end(answer.code);
      // A signal that was sent may arrive only now.
      if (child.killed) child.kill("SIGKILL");
      else idle.add(child);
    } else if ("stderr" in answer) printed.stderr += answer.stderr;
    else {
      printed.stdout += answer.stdout;
      stdout.write(answer.stdout);
    }
  });
  child.once("close", end);
  child.send(request);
  const kill = (signal: NodeJS.Signals) => {
    if (!isOver) child.kill(signal);
  };
  onTestFinished(() => kill("SIGKILL"));
  return { stdout, ended, kill };
}

function startHost(): ChildProcess {
  const child = fork(builtProgram("serve-commands"), [], {
    execArgv: ["--disable-warning=ExperimentalWarning"],
  });
  child.once("close", () => idle.delete(child));
  return child;
}
