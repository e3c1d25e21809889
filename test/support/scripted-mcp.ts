import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import type { SessionService } from "../../src/index.ts";
import { connectMcp, serveMcpStdio } from "../../src/mcp.ts";
import type { ServiceSetup } from "../../src/testing.ts";
import { builtProgram } from "./built-package.ts";
import { scriptedService } from "./scripted-service.ts";
import { spawn } from "./start-process.ts";
import { closingWith, overMcp } from "./surfaces.ts";
import { LONG } from "./trials.ts";

const SERVER = builtProgram("serve-scripted-mcp");

type McpSetup = ServiceSetup & { readonly mcpTools?: readonly string[] };

interface McpProgram {
  readonly command: string;
  readonly args: string[];
  readonly env: Record<string, string>;
}

/** The command line of a server for a scripted service in a place. */
export function scriptedMcpArgs(place: string, setup: ServiceSetup, http?: object): string[] {
  const args = ["--disable-warning=ExperimentalWarning", SERVER, place, JSON.stringify(setup)];
  return http === undefined ? args : [...args, JSON.stringify(http)];
}

/** Passes what its client writes to a socket, and back: a server's pipes, without the server. */
const RELAY = `
  const socket = require("node:net").connect(Number(process.argv[1]), "127.0.0.1");
  process.stdin.pipe(socket).pipe(process.stdout);
`;

/**
 * A scripted service over the pipes of a child process. The child is the server in the long form
 * of the tests; else this process serves, and the child only relays, which starts sooner.
 */
export async function overStdio(place: string, setup: ServiceSetup): Promise<SessionService> {
  const server = LONG ? undefined : await serveSocket(place, setup);
  const args = server ? ["-e", RELAY, String(server.port)] : scriptedMcpArgs(place, setup);
  const client = await connectMcp({ command: process.execPath, args });
  return closingWith(client, async () => await server?.stop());
}

/** The same as a program for the official client. It ends with the test, after its client. */
export async function scriptedMcpProgram(place: string, setup: McpSetup): Promise<McpProgram> {
  // The client hands none of its environment on, and Node keeps the compiled code there.
  const { NODE_COMPILE_CACHE = "" } = process.env;
  const program = { command: process.execPath, env: { NODE_COMPILE_CACHE } };
  if (LONG) return { ...program, args: scriptedMcpArgs(place, setup) };
  const server = await serveSocket(place, setup);
  onTestFinished(server.stop);
  return { ...program, args: ["-e", RELAY, String(server.port)] };
}

/** The same over HTTP. */
export async function overHttp(
  place: string,
  setup: ServiceSetup,
  era: "legacy" | "modern",
): Promise<SessionService> {
  if (!LONG) return await overMcp(scriptedService(place, answerable(setup)), era);
  const server = await startHttp(place, setup);
  return closingWith(await connectMcp({ url: server.url, era }), () => server.stop());
}

/** Serves the first client that connects to a port of this machine. */
async function serveSocket(place: string, { mcpTools = ["all"], ...setup }: McpSetup) {
  const { service, close } = scriptedService(place, answerable(setup));
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as AddressInfo;
  const served = once(listener, "connection").then(([socket]: Socket[]) => {
    listener.close();
    return serveMcpStdio({
      service,
      tools: mcpTools,
      input: socket as Socket,
      output: socket as Socket,
    });
  });
  const stop = async () => {
    await served;
    await close();
  };
  return { port, stop };
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

/** Over MCP a client answers as a model, which it may only where the service says so. */
function answerable(setup: ServiceSetup): ServiceSetup {
  if (!setup.approvals) return setup;
  return { ...setup, approvals: { answerers: ["user", "model"], ...setup.approvals } };
}
