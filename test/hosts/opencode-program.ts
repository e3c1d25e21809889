import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { opencodePlugin } from "../../src/coding-agents/agents.ts";
import { type ChildProcess, spawn } from "../support/start-process.ts";

const MODULES = resolve("examples/hosts/node_modules");
const RKAT = join(MODULES, "rkat/bin/rkat.js");
const PROGRAM = resolve("examples/hosts/opencode/node_modules/opencode-linux-x64/bin/opencode");

/** opencode's program is installed on 64-bit Linux only. */
export const hasOpencode = existsSync(PROGRAM);

export interface OpencodeOptions {
  /** Where the model answers, in OpenAI's protocol. */
  readonly url: string;
  readonly instructions: string;
  /** Tokens of a request and its answer, by the provider's count. */
  readonly contextWindow: number;
  /** The latest part of a conversation that opencode keeps besides a summary. Default: opencode's, from 2 000 to 15 000. */
  readonly keptTokens?: number;
  /** Runs the tool `read`, the only one. */
  read(path: string): string;
}

export interface OpencodeProgram {
  /** A session in a project of its own. */
  openSession(options: OpencodeOptions): Promise<OpencodeSession>;
  close(): Promise<void>;
}

export interface OpencodeSession {
  /** The project's folder. */
  readonly project: string;
  /** Has a turn. Resolves to the model's last answer. */
  ask(prompt: string): Promise<string>;
  close(): Promise<void>;
}

/**
 * opencode's own server in a home of its own, with the file that `rkat install opencode` writes unless
 * `withRkat` is false. Its start takes seconds, a session in it much less.
 */
export async function startOpencode({ withRkat = true } = {}): Promise<OpencodeProgram> {
  const home = mkdtempSync(join(tmpdir(), "rkat-opencode-"));
  /** The tool of each session, by the project's folder. */
  const tools = new Map<string, OpencodeOptions["read"]>();
  const files = createServer(({ url = "" }, response) => {
    const asked = new URL(url, "http://localhost").searchParams;
    const read = tools.get(asked.get("project") ?? "");
    response.end(read?.(asked.get("path") ?? ""));
  });
  files.keepAliveTimeout = 0;
  files.listen(0, "127.0.0.1");
  await once(files, "listening");
  writeSettings(join(home, "config", "opencode"), addressOf(files), withRkat);
  const env = {
    HOME: home,
    XDG_CONFIG_HOME: join(home, "config"),
    XDG_DATA_HOME: join(home, "data"),
    XDG_CACHE_HOME: join(home, "cache"),
    XDG_STATE_HOME: join(home, "state"),
    OPENCODE_DISABLE_MODELS_FETCH: "1",
    OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
  };
  const program = spawn(PROGRAM, ["serve", "--port", "0"], { env, cwd: home });
  const exited = once(program, "exit");
  const url = await addressSaidBy(program);
  let sessions = 0;
  return {
    async openSession(options) {
      sessions += 1;
      const project = join(home, `project-${sessions}`);
      write(join(project, "opencode.json"), JSON.stringify(settingsOf(options)));
      tools.set(project, options.read);
      const call = (path: string, body?: object) => post(url + path, project, body);
      // A session with a title asks the model for none.
      const { id } = (await call("/session", { title: "A script" })) as { id: string };
      const path = `/session/${id}/message`;
      return {
        project,
        async ask(prompt) {
          await call(path, { agent: "build", parts: [{ type: "text", text: prompt }] });
          // The last message is a summary if opencode compacted after the answer.
          const messages = (await call(path)) as readonly Said[];
          const answer = messages.findLast(
            ({ info }) => info.role === "assistant" && !info.summary,
          );
          return (answer?.parts ?? [])
            .flatMap(({ type, text }) => (type === "text" ? [text] : []))
            .join("");
        },
        async close() {
          await call("/instance/dispose", {});
          tools.delete(project);
        },
      };
    },
    async close() {
      program.kill();
      await exited;
      files.close();
      rmSync(home, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

interface Said {
  readonly info: { readonly role: string; readonly summary?: boolean };
  readonly parts: readonly { readonly type: string; readonly text?: string }[];
}

/** Asks opencode's server about a project; with a body, by POST. */
async function post(address: string, project: string, body?: object): Promise<unknown> {
  const headers = {
    "content-type": "application/json",
    "x-opencode-directory": encodeURIComponent(project),
  };
  const posted = body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers };
  const response = await fetch(address, posted);
  if (!response.ok)
    throw new Error(`opencode answered ${response.status}: ${await response.text()}`);
  return await response.json();
}

/** The settings of all projects: plugins. */
function writeSettings(folder: string, files: string, withRkat: boolean): void {
  if (withRkat) {
    const { path, text } = opencodePlugin({ command: [process.execPath, RKAT], folder });
    write(path, text);
  }
  write(join(folder, "plugins", "script.js"), scriptPlugin(files));
  // Without these, opencode asks the registry for the types of its plugins.
  const types = { dependencies: { "@opencode-ai/plugin": "1.18.33" } };
  const lock = { lockfileVersion: 3, packages: { "": types } };
  mkdirSync(join(folder, "node_modules"));
  write(join(folder, "package.json"), JSON.stringify(types));
  write(join(folder, "package-lock.json"), JSON.stringify(lock));
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

function settingsOf({ url, instructions, contextWindow, keptTokens }: OpencodeOptions) {
  // opencode compacts when a request leaves less than an answer of the window.
  const limit = { context: contextWindow, output: OUTPUT_PART * contextWindow };
  const models = { local: { name: "Local", limit, tool_call: true, reasoning: true } };
  const options = { baseURL: url, apiKey: "none" };
  return {
    autoupdate: false,
    share: "disabled",
    snapshot: false,
    permission: "allow",
    model: "local/local",
    provider: { local: { npm: "@ai-sdk/openai", name: "Local", options, models } },
    compaction: {
      auto: true,
      ...(keptTokens === undefined ? {} : { preserve_recent_tokens: keptTokens }),
    },
    agent: { build: { prompt: instructions, tools: { "*": false, read: true } } },
  };
}

const OUTPUT_PART = 1 / 5;

/**
 * The tool of a script, in the place of opencode's own.
 *
 * After a compaction opencode tells its model to go on, even if the answer before it was the last one. A
 * script has no answer to that.
 */
function scriptPlugin(files: string): string {
  const zod = pathToFileURL(join(MODULES, "zod/index.js")).href;
  return `
    import { z } from ${JSON.stringify(zod)};
    export const script = async ({ client, directory }) => ({
      tool: {
        read: {
          description: "Reads a file.",
          args: { path: z.string() },
          async execute({ path }) {
            const asked = new URLSearchParams({ project: directory, path });
            return (await fetch(${JSON.stringify(files)} + "?" + asked)).text();
          },
        },
      },
      async "experimental.compaction.autocontinue"({ sessionID }, output) {
        const { data } = await client.session.messages({ path: { id: sessionID } });
        const last = data.findLast(({ info }) => info.role === "assistant" && !info.summary);
        output.enabled = last?.info.finish === "tool-calls";
      },
    });
  `;
}

function addressOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

async function addressSaidBy({ stdout, stderr }: ChildProcess): Promise<string> {
  let said = "";
  stderr?.resume();
  for await (const chunk of stdout ?? []) {
    said += chunk;
    const [address] = /http:\/\/[\d.]+:\d+/.exec(said) ?? [];
    if (address) return address;
  }
  throw new Error(`opencode did not start: ${said}`);
}
