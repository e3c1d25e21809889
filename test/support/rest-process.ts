import { once } from "node:events";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";
import type { ServeRestOptions } from "../../src/rest.ts";
import type { ServiceSetup } from "../../src/testing.ts";
import { builtProgram } from "./built-package.ts";
import { timed } from "./running-test.ts";
import { type ChildProcess, spawn } from "./start-process.ts";

/** A server in a process of its own. */
export interface RestProcess {
  readonly url: string;
  readonly child: ChildProcess;
  /** Sends a signal and waits for the end. */
  end(signal: NodeJS.Signals): Promise<void>;
  /** What the process holds after a collection. */
  memory(): Promise<NodeJS.MemoryUsage>;
}

/** Serves what the program of that name serves, until the test ends. `before` is code that runs before it. */
export function startProgram(
  name: string,
  args: readonly string[],
  before = "",
): Promise<RestProcess> {
  return timed("servers", () => startedProgram(name, args, before));
}

async function startedProgram(
  name: string,
  args: readonly string[],
  before: string,
): Promise<RestProcess> {
  const child = spawn(
    process.execPath,
    [
      "--disable-warning=ExperimentalWarning",
      "--expose-gc",
      `--import=data:text/javascript,${encodeURIComponent(before)}`,
      builtProgram(name),
      ...args,
    ],
    { stdio: ["ignore", "pipe", "inherit", "ipc"] },
  );
  const exited = once(child, "exit");
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    await exited;
  };
  onTestFinished(() => end("SIGKILL"));
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const [url] = (await once(lines, "line")) as [string];
  const memory = async () => {
    child.send("memory");
    const [usage] = (await once(child, "message")) as [NodeJS.MemoryUsage];
    return usage;
  };
  return { url, child, end, memory };
}

export function startScriptedRest(
  place: string,
  setup: ServiceSetup,
  options: Partial<Omit<ServeRestOptions, "service">> = {},
): Promise<RestProcess> {
  const args = [place, JSON.stringify(setup), JSON.stringify(options)];
  return startProgram("serve-scripted-rest", args);
}
