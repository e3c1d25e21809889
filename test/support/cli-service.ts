import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { ERRORS, SessionError } from "../../src/core/errors.ts";
import { type EventEnvelope, envelope } from "../../src/core/event.ts";
import { given, snakeCase } from "../../src/core/fields.ts";
import { newId } from "../../src/core/ids.ts";
import { importTranscripts } from "../../src/core/operations/imports.ts";
import type { SubscribeOptions } from "../../src/core/operations/sessions.ts";
import type { OperationName } from "../../src/core/operations.ts";
import { CAPABILITIES, type SessionService, type TurnOptions } from "../../src/index.ts";
import { remoteError, serviceOver } from "../../src/surfaces/service-client.ts";
import type { ServiceSetup } from "../../src/testing.ts";
import {
  flagsOf,
  numberOf,
  objectOf,
  type Params,
  textOf,
  Unsayable,
  wordsOf,
} from "./cli-flags.ts";
import { Project } from "./rkat-process.ts";
import { scriptedProvider } from "./scripted-provider.ts";
import type { RunningCommand } from "./warm-commands.ts";

/**
 * The real `rkat` command as a session service. Each operation runs its own process
 * in a project in `place`, on its file or on the store at `store`. The model is a provider's real package,
 * and a local server that plays the script.
 */
export async function cliService(
  place: string,
  setup: ServiceSetup,
  store?: string,
): Promise<SessionService> {
  const refused = new Set<Promise<unknown>>();
  const provider = await scriptedProvider(setup.replies, async (ms) => {
    await sleep(ms, undefined, { ref: false });
    // Starting a process takes time. Turns that are refused meanwhile end before the slow model answers.
    await Promise.allSettled(refused);
  });
  const project = await Project.open({
    root: place,
    provider,
    config: configOf(setup),
    ...given({ store }),
  });
  const keepsSessions = setup.capabilities.includes("session-store");
  const byUser = new Map<string | undefined, Commands>();
  const commandsOf = (user: string | undefined) => {
    const commands = byUser.get(user) ?? new Commands(project, refused, keepsSessions, user);
    byUser.set(user, commands);
    return commands;
  };
  return serviceOver({
    call: async (name, params, options) =>
      (await commandsOf(options.user)[name](objectOf(params), options)) as Json,
    subscribe: (params, options) => commandsOf(options.user).subscribe(params, options),
    close: async () => void (await Promise.all([...byUser.values()].map((each) => each.close()))),
  });
}

type Json = Record<string, unknown>;

interface CommandLine {
  readonly command: readonly string[];
  readonly fields?: Params;
  /** Arguments, passed after `--`. */
  readonly words?: readonly string[];
  readonly stdin?: string;
}

/** A turn or a compaction that a process runs. */
interface Work {
  readonly running: RunningCommand;
  /** Resolves with its first line, or its end. From then on, Ctrl-C interrupts it. */
  readonly begun: Promise<unknown>;
}

/** What to type for each operation. */
class Commands implements Record<OperationName, (params: Params, options: TurnOptions) => unknown> {
  readonly #project: Project;
  /** Turns that began while another ran in their session. */
  readonly #refused: Set<Promise<unknown>>;
  readonly #keepsSessions: boolean;
  /** Arguments before the command. */
  readonly #as: readonly string[];
  /**
   * Where sessions are not kept, one lives as long as its process: to create it
   * only notes what was asked, and its one turn is a `rkat run`.
   */
  readonly #noted = new Map<string, Params>();
  readonly #working = new Map<string, Work>();

  constructor(
    project: Project,
    refused: Set<Promise<unknown>>,
    keepsSessions: boolean,
    user: string | undefined,
  ) {
    this.#project = project;
    this.#refused = refused;
    this.#keepsSessions = keepsSessions;
    this.#as = user === undefined ? [] : [`--user=${user}`];
  }

  async createSession({ messages, ...fields }: Params) {
    const command = ["sessions", "create", "--json"];
    if (this.#keepsSessions) {
      if (messages === undefined) return await this.#ask({ command, fields });
      if (!Array.isArray(messages)) throw new Unsayable("messages");
      const stdin = messages.map((message) => JSON.stringify(message)).join("\n");
      return await this.#ask({ command: [...command, "--messages=-"], fields, stdin });
    }
    const sessionId = newId();
    this.#noted.set(sessionId, fields);
    return { session_id: sessionId };
  }

  async startTurn({ origin, ...params }: Params, options: TurnOptions) {
    // The prompt comes from a pipe, so that is its author.
    if (origin !== undefined && objectOf(origin).author !== "file") throw new Unsayable("origin");
    const noted = this.#noted.get(String(params.session_id));
    if (!noted) {
      // Without a prompt the command would continue a turn that waits.
      if (!params.prompt) throw new Unsayable("prompt");
      return await this.resume(params, options);
    }
    const { session_id, prompt = "", ...fields } = params;
    this.#noted.delete(String(session_id));
    const line = { command: ["run"], fields: { ...noted, ...fields }, stdin: textOf(prompt) };
    return { ...(await this.#work(session_id, line, options)), session_id };
  }

  async resume({ session_id, prompt = "", ...fields }: Params, options: TurnOptions) {
    const line = { command: ["resume"], fields, words: wordsOf(session_id), stdin: textOf(prompt) };
    return await this.#work(session_id, line, options);
  }

  async compact({ session_id, ...fields }: Params, options: TurnOptions) {
    const line = { command: ["sessions", "compact"], fields, words: wordsOf(session_id) };
    return await this.#work(session_id, line, options);
  }

  readCompaction({ session_id, ...fields }: Params) {
    const command = ["sessions", "diff", "--json"];
    return this.#ask({ command, fields, words: wordsOf(session_id) });
  }

  readMessage({ session_id, message, ...fields }: Params) {
    const words = [...wordsOf(session_id), ...messageWords(message, undefined)];
    return this.#ask({ command: ["sessions", "why", "--json"], fields, words });
  }

  readLog({ session_id, ...fields }: Params) {
    const command = ["sessions", "log", "--json"];
    return this.#ask({ command, fields, words: wordsOf(session_id) });
  }

  undoCompaction({ session_id, ...fields }: Params) {
    const command = ["sessions", "undo", "--json"];
    return this.#ask({ command, fields, words: wordsOf(session_id) });
  }

  bringBack({ session_id, message, ...fields }: Params) {
    const command = ["sessions", "bring-back", "--json"];
    const words = [...wordsOf(session_id), ...messageWords(message, undefined)];
    return this.#ask({ command, fields, words });
  }

  readSources({ id, session_id: session, ...fields }: Params) {
    const command = ["memory", "sources", "--json"];
    const words = id === undefined ? [] : [String(id)];
    return this.#ask({ command, fields: { ...fields, session }, words });
  }

  refuseRecall(request: Params) {
    return this.#askAboutRecall("not-this", request);
  }

  allowRecall(request: Params) {
    return this.#askAboutRecall("allow-recall", request);
  }

  #askAboutRecall(name: string, { session_id, ids, ...fields }: Params) {
    if (!Array.isArray(ids)) throw new Unsayable("ids");
    const command = ["sessions", name, "--json"];
    return this.#ask({ command, fields, words: [...wordsOf(session_id), ...ids.map(String)] });
  }

  forkSession({ session_id, event, ...fields }: Params) {
    const command = ["sessions", "fork", "--json"];
    const at = event === undefined ? {} : { at: String(numberOf(event)) };
    return this.#ask({ command, fields: { ...fields, ...at }, words: wordsOf(session_id) });
  }

  async appendMessages({ session_id, messages, origin, ...fields }: Params) {
    if (!Array.isArray(messages)) throw new Unsayable("messages");
    const command = ["sessions", "append", "--json", "--messages=-"];
    const stdin = messages.map((message) => JSON.stringify(message)).join("\n");
    const said = origin === undefined ? {} : objectOf(origin);
    return await this.#ask({
      command,
      fields: { ...fields, ...said },
      words: wordsOf(session_id),
      stdin,
    });
  }

  /** A command reads files, so this writes one. What is wrong with a request that is no file cannot be said. */
  async importTranscripts(params: Params) {
    const { success, data } = importTranscripts.safeParse(params);
    if (!success) throw new Unsayable("file");
    const { name = "transcript", text, base64 = "" } = data;
    const file = join(await mkdtemp(join(tmpdir(), "rkat-sent-")), name);
    await writeFile(file, text ?? Buffer.from(base64, "base64"));
    const command = ["import", "--json", "--scope=project"];
    const { stores: _, ...report } = objectOf(await this.#ask({ command, words: [file] }));
    return report;
  }

  /** Ctrl-C in the terminal of the turn is the only way to interrupt it. */
  async interrupt({ session_id }: Params) {
    const work = this.#working.get(textOf(session_id));
    if (!work) {
      await this.read({ session_id });
      throw new SessionError("SESSION_NOT_RUNNING");
    }
    await work.begun;
    work.running.kill("SIGINT");
    return { interrupted: true };
  }

  updateTask({ session_id, ...fields }: Params) {
    const command = ["sessions", "task", "--json"];
    return this.#ask({ command, fields, words: wordsOf(session_id) });
  }

  pin({ session_id, message, position, ...fields }: Params) {
    const words = [...wordsOf(session_id), ...messageWords(message, position)];
    return this.#ask({ command: ["sessions", "pin", "--json"], fields, words });
  }

  unpin({ session_id, message, position, ...fields }: Params) {
    const words = [...wordsOf(session_id), ...messageWords(message, position)];
    return this.#ask({ command: ["sessions", "unpin", "--json"], fields, words });
  }

  pins({ session_id, ...fields }: Params) {
    const command = ["sessions", "pins", "--json"];
    return this.#ask({ command, fields, words: wordsOf(session_id) });
  }

  context({ session_id, ...fields }: Params) {
    const command = ["sessions", "context", "--json"];
    return this.#ask({ command, fields, words: wordsOf(session_id) });
  }

  sessionCost({ session_id, ...fields }: Params) {
    const command = ["sessions", "cost", "--json"];
    return this.#ask({ command, fields, words: wordsOf(session_id) });
  }

  read({ session_id, ...fields }: Params) {
    const command = ["sessions", "show", "--json"];
    return this.#ask({ command, fields, words: wordsOf(session_id) });
  }

  async list(fields: Params) {
    return { sessions: await this.#ask({ command: ["sessions", "list", "--json"], fields }) };
  }

  archive({ session_id, ...fields }: Params) {
    const command = ["sessions", "archive", "--json"];
    return this.#ask({ command, fields, words: wordsOf(session_id) });
  }

  unarchive({ session_id, ...fields }: Params) {
    const command = ["sessions", "unarchive", "--json"];
    return this.#ask({ command, fields, words: wordsOf(session_id) });
  }

  delete({ session_id, ...fields }: Params) {
    const command = ["sessions", "delete", "--json"];
    return this.#ask({ command, fields, words: wordsOf(session_id) });
  }

  restore({ session_id, ...fields }: Params) {
    const command = ["sessions", "restore", "--json"];
    return this.#ask({ command, fields, words: wordsOf(session_id) });
  }

  async searchMemory({ query, ...fields }: Params) {
    const command = ["memory", "search", "--json"];
    if (Array.isArray(query)) {
      return { results: await this.#ask({ command, fields: { ...fields, query } }) };
    }
    return { results: await this.#ask({ command, fields, words: wordsOf(query) }) };
  }

  addMemory({ content, ...fields }: Params) {
    return this.#ask({ command: ["memory", "add", "--json"], fields, words: wordsOf(content) });
  }

  async editMemory({ id, content, pinned, ...fields }: Params) {
    const words = wordsOf(id);
    if (pinned !== undefined) {
      const command = ["memory", pinned === true ? "pin" : "unpin", "--json"];
      const entry = await this.#ask({ command, fields, words });
      if (content === undefined) return entry;
    }
    const command = ["memory", "edit", "--json"];
    return await this.#ask({ command, fields, words: [...words, ...wordsOf(content)] });
  }

  keepBoth({ ids = [], undo, ...fields }: Params) {
    if (!Array.isArray(ids)) throw new Unsayable("ids");
    const command = ["memory", "keep-both", "--json", ...(undo === true ? ["--undo"] : [])];
    return this.#ask({ command, fields, words: ids.map(textOf) });
  }

  async listMemory(fields: Params) {
    return { entries: await this.#ask({ command: ["memory", "list", "--json"], fields }) };
  }

  memoryStats(fields: Params) {
    return this.#ask({ command: ["memory", "stats", "--json"], fields });
  }

  forgetMemory({ ids = [], ...fields }: Params) {
    if (!Array.isArray(ids)) throw new Unsayable("ids");
    return this.#ask({ command: ["memory", "forget", "--json"], fields, words: ids.map(textOf) });
  }

  async searchHistory({ query, ...fields }: Params) {
    const command = ["history", "search", "--json"];
    return { results: await this.#ask({ command, fields, words: wordsOf(query) }) };
  }

  async listApprovals(fields: Params) {
    return { approvals: await this.#ask({ command: ["approvals", "list", "--json"], fields }) };
  }

  answerApproval({ approval_id, decision, ...fields }: Params) {
    const command = ["approvals", textOf(decision), "--json"];
    return this.#ask({ command, fields, words: wordsOf(approval_id) });
  }

  async allowedCalls({ session_id, ...fields }: Params) {
    // Without a session, the command shows the last one's.
    if (session_id === undefined) throw new Unsayable("session_id");
    const all = { session: session_id, ...fields };
    const command = ["approvals", "rules", "--json"];
    const { session } = (await this.#ask({ command, fields: all })) as Params;
    return { allowed: session };
  }

  async revokeAllowed({ session_id, tool, command: only, ...fields }: Params) {
    // Without a session, the command revokes a rule of the project.
    if (session_id === undefined) throw new Unsayable("session_id");
    const all = { session: session_id, ...fields };
    const words = [...wordsOf(tool), ...wordsOf(only)];
    return this.#ask({ command: ["approvals", "revoke", "--json"], fields: all, words });
  }

  async listKnowledge({ query, kind, ...fields }: Params) {
    const command = ["knowledge", "list", "--json", ...kindFlag(kind)];
    return { entries: await this.#ask({ command, fields, words: wordsOf(query) }) };
  }

  readKnowledge({ knowledge_id, ...fields }: Params) {
    const command = ["knowledge", "show", "--json"];
    return this.#ask({ command, fields, words: wordsOf(knowledge_id) });
  }

  addKnowledge({ content, kind, pinned, tags, ...fields }: Params) {
    const pin = pinned === true ? ["--pin"] : [];
    const command = ["knowledge", "add", "--json", ...kindFlag(kind), ...pin];
    return this.#ask({ command, fields: { ...fields, tags }, words: wordsOf(content) });
  }

  async editKnowledge({ knowledge_id, content, pinned, ...fields }: Params) {
    const words = wordsOf(knowledge_id);
    if (pinned !== undefined) {
      const command = ["knowledge", pinned === true ? "pin" : "unpin", "--json"];
      const entry = await this.#ask({ command, words });
      if (content === undefined && fields.tags === undefined) return entry;
    }
    const command = ["knowledge", "edit", "--json"];
    return await this.#ask({ command, fields, words: [...words, ...wordsOf(content)] });
  }

  forgetKnowledge({ knowledge_id, ...fields }: Params) {
    const command = ["knowledge", "forget", "--json"];
    return this.#ask({ command, fields, words: wordsOf(knowledge_id) });
  }

  distillKnowledge(fields: Params) {
    return this.#ask({ command: ["knowledge", "distill", "--json"], fields });
  }

  async capabilities() {
    const { capabilities } = (await this.#ask({ command: ["capabilities", "--json"] })) as {
      capabilities: readonly { readonly id: string; readonly available: boolean }[];
    };
    return { capabilities: capabilities.flatMap(({ id, available }) => (available ? [id] : [])) };
  }

  async *subscribe(
    { session_id, after_seq }: Params,
    { signal, onOpen }: SubscribeOptions,
  ): AsyncIterable<EventEnvelope> {
    const after = after_seq ?? ((await this.read({ session_id })) as Json).seq;
    const command = ["sessions", "events", "--json", "--follow", `--after=${after}`];
    const { stdout, ended, kill } = this.#start({ command, words: wordsOf(session_id) });
    let isStopped = false;
    const stop = () => {
      // A second Ctrl-C would end the process before it has said goodbye.
      if (!isStopped) kill("SIGINT");
      isStopped = true;
    };
    signal?.addEventListener("abort", stop);
    onOpen?.(Number(after));
    try {
      for await (const text of createInterface({ input: stdout })) {
        if (signal?.aborted) return;
        yield envelope(String(session_id), JSON.parse(text));
      }
      if (!signal?.aborted) throw failureOf(await ended);
    } finally {
      signal?.removeEventListener("abort", stop);
      stop();
    }
  }

  async close() {
    for (const { running } of this.#working.values()) running.kill("SIGINT");
    await Promise.all([...this.#working.values()].map(({ running }) => running.ended));
  }

  /** Runs a command to its end, and parses its output. */
  async #ask(line: CommandLine): Promise<unknown> {
    const ended = await this.#start(line).ended;
    if (ended.code !== 0) throw failureOf(ended);
    return JSON.parse(ended.stdout);
  }

  /** Runs a command that prints events while it runs. */
  async #work(session: unknown, line: CommandLine, options: TurnOptions): Promise<Json> {
    const sessionId = String(session);
    const before = this.#working.get(sessionId);
    await before?.begun;
    const command = [...line.command, "--output=jsonl"];
    const running = this.#start({ ...line, command });
    const { stdout, ended, kill } = running;
    let last: Json = {};
    const first = Promise.withResolvers<void>();
    const lines = createInterface({ input: stdout });
    const allRead = once(lines, "close");
    lines.on("line", (text) => {
      first.resolve();
      last = JSON.parse(text);
      if (!("type" in last)) options.onEvent?.(last as unknown as EventEnvelope);
    });
    const begun = Promise.race([first.promise, ended]);
    const interrupt = () => void begun.then(() => kill("SIGINT"));
    options.signal?.addEventListener("abort", interrupt);
    if (before) this.#refused.add(ended);
    else this.#working.set(sessionId, { running, begun });
    const outcome = await ended;
    await allRead;
    options.signal?.removeEventListener("abort", interrupt);
    this.#refused.delete(ended);
    if (!before) this.#working.delete(sessionId);
    const { type, ...fields } = last;
    if (type === "result") return fields;
    const failure = failureOf(outcome);
    assert.deepEqual({ type, code: fields.code }, { type: "error", code: failure.code });
    throw failure;
  }

  #start({ command, fields = {}, words = [], stdin = "" }: CommandLine): RunningCommand {
    const rest = words.length > 0 ? ["--", ...words] : [];
    return this.#project.run([...this.#as, ...command, ...flagsOf(fields), ...rest], stdin);
  }
}

/** A message as one argument. Two names become two arguments, which the command refuses. */
function messageWords(message: unknown, position: unknown): string[] {
  return [
    ...(message === undefined ? [] : [`@${message}`]),
    ...(position === undefined ? [] : [String(position)]),
  ];
}

/** `memory search` has no such flag. */
function kindFlag(kind: unknown): string[] {
  return kind === undefined ? [] : [`--kind=${textOf(kind)}`];
}

/** The failure that a command printed for a script. Its exit code is the one in the table. */
function failureOf({ code, stderr }: { readonly code: number | null; readonly stderr: string }) {
  const told = stderr.trimEnd().split("\n").at(-1) ?? "";
  const error = remoteError(told.startsWith("{") ? JSON.parse(told) : { message: stderr });
  assert.equal(code, ERRORS[error.code].exitCode, stderr);
  return error;
}

function configOf({ capabilities, compaction = {}, approvals = {} }: ServiceSetup): string {
  const { windowSize, ...rest } = compaction;
  const { policies = {}, timeoutMs } = approvals;
  return [
    "[capabilities]",
    ...CAPABILITIES.map((name) => `${name.replaceAll("-", "_")} = ${capabilities.includes(name)}`),
    "[compaction]",
    ...Object.entries(rest).map(([name, value]) => `${snakeCase(name)} = ${JSON.stringify(value)}`),
    // The command's own agent has them, and a service has not.
    "[tools]",
    'project = "none"',
    "[approvals]",
    ...(timeoutMs === undefined ? [] : [`timeout = "${timeoutMs}ms"`]),
    ...Object.entries(policies).map(([name, policy]) => `[tools."${name}"]\npolicy = "${policy}"`),
    "[memory]",
    ...(windowSize === undefined ? [] : [`window_size = ${windowSize}`]),
  ].join("\n");
}
