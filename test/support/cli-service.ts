import assert from "node:assert/strict";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { ERRORS, SessionError } from "../../src/core/errors.ts";
import { type EventEnvelope, envelope } from "../../src/core/event.ts";
import { newId } from "../../src/core/ids.ts";
import { snakeCase } from "../../src/core/wire.ts";
import type { SessionService } from "../../src/index.ts";
import type { WireError } from "../../src/surfaces/call-operation.ts";
import type { OperationName } from "../../src/surfaces/operations.ts";
import { remoteError, serviceOver } from "../../src/surfaces/service-client.ts";
import type { ServiceSetup } from "../../src/testing.ts";
import { flagsOf, piped, type Params } from "./cli-flags.ts";
import { Project, type Running } from "./rkat-process.ts";
import { scriptedProvider } from "./scripted-provider.ts";

/** A turn or a compaction that a command runs. */
interface Work {
  readonly running: Running;
  /** Resolves with the first line that it prints, or its end: from then on it heeds Ctrl-C. */
  readonly begun: Promise<unknown>;
}

/**
 * The real `rkat` command as a session service: every operation is a process of
 * its own, and a provider's real package talks to a server with the script.
 *
 * Where sessions are not kept, one lives as long as its process: there, to
 * create a session only notes what was asked, and its one turn is a `rkat run`.
 */
export async function cliService(root: string, setup: ServiceSetup): Promise<SessionService> {
  const isKept = setup.capabilities.includes("session-store");
  const noted = new Map<string, Params>();
  const working = new Map<string, Work>();
  const refused = new Set<Promise<unknown>>();
  const provider = await scriptedProvider(setup.replies, async (ms) => {
    // A process takes its time to start: whoever comes while the model is slow is answered first.
    await sleep(ms, undefined, { ref: false });
    await Promise.allSettled(refused);
  });
  const project = await Project.open({ root, provider, config: configOf(setup) });

  /** Runs a command to its end, and returns what it printed as JSON. */
  async function json(args: readonly string[], stdin = ""): Promise<unknown> {
    const { code, stdout, stderr } = await project.rkat(args, stdin);
    if (code !== 0) throw failureOf(code, stderr);
    return JSON.parse(stdout);
  }

  /** Runs a command that tells of events, which Ctrl-C interrupts. */
  async function work(
    sessionId: string,
    args: readonly string[],
    stdin: string,
    { signal, onEvent }: { signal?: AbortSignal; onEvent?: (event: EventEnvelope) => void },
  ): Promise<Params> {
    await working.get(sessionId)?.begun;
    const isBusy = working.has(sessionId);
    const running = project.start([...args, "--output", "jsonl"], stdin);
    const lines = createInterface({ input: running.child.stdout as NodeJS.ReadableStream });
    const first = Promise.withResolvers<void>();
    const begun = Promise.race([first.promise, running.ended]);
    const interrupt = () => void begun.then(() => running.child.kill("SIGINT"));
    signal?.addEventListener("abort", interrupt);
    let last: Params = {};
    lines.on("line", (line) => {
      first.resolve();
      last = JSON.parse(line);
      if (!("type" in last)) onEvent?.(last as unknown as EventEnvelope);
    });
    if (isBusy) refused.add(running.ended);
    else working.set(sessionId, { running, begun });
    const { code, stderr } = await running.ended;
    refused.delete(running.ended);
    if (!isBusy) working.delete(sessionId);
    signal?.removeEventListener("abort", interrupt);
    const { type, ...fields } = last;
    if (type === "result") return fields;
    const failure = failureOf(code, stderr);
    assert.deepEqual(last, { type: "error", ...JSON.parse(stderr.trim()) });
    throw failure;
  }

  async function turn(params: Params, command: "resume" | "run", options: object): Promise<Params> {
    const { session_id, prompt, ...rest } = params;
    const args =
      command === "run" ? ["run"] : ["resume", ...(session_id === undefined ? [] : ["--"])];
    return {};
  }

  const calls: Record<OperationName, (params: Params, options: object) => Promise<unknown>> =
    {} as never;
  return serviceOver({} as never);
}
