import { execFile, spawn } from "node:child_process";
import { SessionError } from "../core/errors.ts";
import { anything, group, requireOptions } from "../core/options.ts";
import type { SessionService } from "../core/session-service.ts";
import type { Tool } from "../core/tool.ts";
import type { AgentPrompt, PromptRecords, WindowSize } from "../hosts/host-messages.ts";
import { recallRoom } from "../recall/recall-room.ts";
import { connectJsonRpc } from "../surfaces/json-rpc/json-rpc-connection.ts";
import { memorySearchTool, searchProjectHistoryTool } from "../tools/memory-search.ts";

/** The command by which a coding agent calls rkat. */
export interface AgentMemoryOptions {
  /** The command line of rkat, such as `["/usr/bin/node", "/usr/lib/node_modules/rkat/bin/rkat.js"]`. */
  readonly command: readonly string[];
}

/** The agent waits for its memory no longer than that. */
const RECALL_MS_MAX = 10_000;

/**
 * rkat's memory inside a coding agent. It is in processes of its own, because the agent may run on
 * another runtime than Node.
 */
export class AgentMemory {
  readonly #command: readonly string[];
  /** By the project's folder. */
  readonly #services = new Map<string, SessionService>();
  /** Imports that run. True: one more is wanted after it. */
  readonly #imports = new Map<string, boolean>();

  /** @throws SessionError `INVALID_PARAMS` */
  constructor(options: AgentMemoryOptions) {
    requireOptions("rkat in a coding agent", group({ command: anything }), options);
    const { command } = options;
    if (!Array.isArray(command) || command.length === 0) {
      throw new SessionError("INVALID_PARAMS", {
        message: "`command` has to be the command line of rkat, as a list of words.",
        hint: "Let `rkat install` write the file, or pass an absolute path of node and of rkat.js.",
      });
    }
    this.#command = command;
  }

  /** For the model. A process starts with the first search. */
  tools(folder: string): readonly Tool[] {
    return [
      memorySearchTool(({ queries, limit }) =>
        this.#serviceOf(folder).searchMemory({ query: [...queries], limit }),
      ),
      searchProjectHistoryTool((request) => this.#serviceOf(folder).searchHistory(request)),
    ];
  }

  /** The records of memory about a prompt, for the model. It never fails: the agent goes on without it. */
  recall({
    agent,
    sessionId,
    folder,
    prompt,
    windowFrom,
    window,
  }: AgentPrompt & { readonly agent: "pi" | "opencode" }): Promise<PromptRecords | undefined> {
    const { tokens, replaces } = window ? roomIn(window) : WITHOUT_LIMIT;
    if (tokens <= 0) return Promise.resolve(undefined);
    const [program = "", ...words] = this.#command;
    const asked = {
      ...{ session_id: sessionId, cwd: folder, prompt, agent, window_from: windowFrom },
      ...(tokens < Infinity ? { room_tokens: tokens, others_leave: replaces } : {}),
    };
    const options = { cwd: folder, timeout: RECALL_MS_MAX };
    return new Promise((resolve) => {
      const args = [...words, "hook", "UserPromptSubmit"];
      const child = execFile(program, args, options, (error, stdout) => {
        const text = stdout.trim();
        resolve(error || text === "" ? undefined : { text, replaces });
      });
      // A program that cannot start, or ends before it has read.
      child.stdin?.on("error", () => {});
      child.stdin?.end(JSON.stringify(asked));
    });
  }

  /**
   * Imports new messages: `source` is an argument of `rkat import`. There is one import of it at a time. One
   * that is asked for meanwhile comes after it, also if it failed. Returns what went wrong in the last.
   */
  async import(source: readonly string[], folder: string): Promise<string | undefined> {
    const key = JSON.stringify([source, folder]);
    if (this.#imports.has(key)) {
      this.#imports.set(key, true);
      return undefined;
    }
    const args = ["--dir", folder, "import", ...source, "--yes"];
    let problem: string | undefined;
    try {
      do {
        this.#imports.set(key, false);
        problem = await this.#run(args, folder);
      } while (this.#imports.get(key));
      return problem;
    } finally {
      this.#imports.delete(key);
    }
  }

  /** The program goes on when the agent ends. */
  #run(args: readonly string[], cwd: string): Promise<string | undefined> {
    const [program = "", ...words] = this.#command;
    const child = spawn(program, [...words, ...args], { cwd, detached: true, stdio: "ignore" });
    child.unref();
    return new Promise((resolve) => {
      child.once("error", ({ message }) => resolve(message));
      child.once("exit", (code) =>
        resolve(code === 0 ? undefined : `\`rkat ${args.join(" ")}\` ended with code ${code}.`),
      );
    });
  }

  async close(): Promise<void> {
    const services = [...this.#services.values()];
    this.#services.clear();
    await Promise.all(services.map((service) => service.close()));
  }

  #serviceOf(folder: string): SessionService {
    const known = this.#services.get(folder);
    if (known) return known;
    const [command = "", ...words] = this.#command;
    const service = connectJsonRpc({
      command,
      args: [...words, "--dir", folder, "rpc"],
      cwd: folder,
    });
    this.#services.set(folder, service);
    return service;
  }
}

const WITHOUT_LIMIT = { tokens: Infinity, replaces: false };

/** Tokens that records may take before a prompt, as in any window, and whether those of earlier prompts leave for them. */
function roomIn({ threshold, used, recalled }: WindowSize) {
  const { beside, instead } = recallRoom({ threshold, expected: used, recalled });
  const replaces = recalled > 0 && beside < instead / 2;
  return { tokens: replaces ? instead : beside, replaces };
}
