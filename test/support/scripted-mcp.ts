import { spawn } from "node:child_process";
import { once } from "node:events";
import { onTestFinished } from "vitest";
import type { SessionService } from "../../src/index.ts";
import { connectMcp } from "../../src/mcp.ts";
import type { ServiceSetup } from "../../src/testing.ts";
import { builtProgram } from "./built-package.ts";

const SERVER = builtProgram("serve-scripted-mcp");

/** The command line of a server for a scripted service in a place. */
export function scriptedMcpArgs(place: string, setup: ServiceSetup, http?: object): string[] {
  const args = ["--disable-warning=ExperimentalWarning", SERVER, place, JSON.stringify(setup)];
  return http === undefined ? args : [...args, JSON.stringify(http)];
}

/** A scripted service in a process of its own, over that process's pipes. */
export async function overStdio(place: string, setup: ServiceSetup): Promise<SessionService> {
  const service = await connectMcp({
    command: process.execPath,
    args: scriptedMcpArgs(place, setup),
  });
  onTestFinished(() => service.close());
  return service;
}

/** The same over HTTP; closing it ends the process. */
export async function overHttp(
  place: string,
  setup: ServiceSetup,
  era: "legacy" | "modern",
): Promise<SessionService> {
  const server = await startHttp(place, setup);
  const service = await connectMcp({ url: server.url, era });
  const close = async () => {
    await service.close();
    await server.stop();
  };
  onTestFinished(close);
  return { ...service, close };
}

export interface StartedServer {
  readonly url: string;
  /** Ends it, orderly unless the signal is `SIGKILL`. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** Starts a server over HTTP in a process of its own. */
export async function startHttp(
  place: string,
  setup: ServiceSetup,
  options: object = {},
): Promise<StartedServer> {
  const child = spawn(process.execPath, scriptedMcpArgs(place, setup, options), {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const stop = async (signal: NodeJS.Signals = "SIGTERM") => {
    child.kill(signal);
    await ended;
  };
  onTestFinished(() => stop("SIGKILL"));
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  return { url: String(line).trim(), stop };
}
