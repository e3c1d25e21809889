import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { opencodePlugin } from "../../src/coding-agents/extension-files.ts";

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
  /** The latest part of a conversation that opencode keeps besides a summary. */
  readonly keptTokens: number;
  /** Runs the tool `read`, the only one. */
  read(path: string): string;
}

export interface OpencodeProgram {
  /** Has a turn. Resolves to the model's last answer. */
  ask(prompt: string): Promise<string>;
  close(): Promise<void>;
}

/** opencode's own server with one session, in a folder and a home of its own, and the file that `rkat install opencode` writes. */
export async function startOpencode(options: OpencodeOptions): Promise<OpencodeProgram> {
  const files = createServer(({ url = "" }, response) => {
    response.end(options.read(decodeURIComponent(url.slice(1))));
  });
  files.listen(0, "127.0.0.1");
  await once(files, "listening");
  const home = mkdtempSync(join(tmpdir(), "rkat-opencode-"));
  const project = join(home, "project");
  const folder = join(home, "config", "opencode");
  mkdirSync(project);
  const write = (path: string, text: string) => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  };
  const { path, text } = opencodePlugin({ command: [process.execPath, RKAT], folder });
  write(path, text);
  write(join(folder, "plugins", "script.js"), scriptPlugin(addressOf(files)));
  write(join(folder, "opencode.json"), JSON.stringify(settingsOf(options)));
  // Without these, opencode asks the registry for the types of its plugins.
  const types = { dependencies: { "@opencode-ai/plugin": "1.18.33" } };
  const lock = { lockfileVersion: 3, packages: { "": types } };
  mkdirSync(join(folder, "node_modules"));
  write(join(folder, "package.json"), JSON.stringify(types));
  write(join(folder, "package-lock.json"), JSON.stringify(lock));

  const env = {
    PATH: process.env.PATH,
    HOME: home,
    XDG_CONFIG_HOME: join(home, "config"),
    XDG_DATA_HOME: join(home, "data"),
    XDG_CACHE_HOME: join(home, "cache"),
    XDG_STATE_HOME: join(home, "state"),
    OPENCODE_DISABLE_MODELS_FETCH: "1",
    OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
  };
  const program = spawn(PROGRAM, ["serve", "--port", "0"], { env, cwd: project });
  const exited = once(program, "exit");
  const url = await addressSaidBy(program);
  const call = async (path: string, body?: object) => {
    const headers = { "content-type": "application/json" };
    const posted = body && { method: "POST", headers, body: JSON.stringify(body) };
    const response = await fetch(url + path, posted);
    if (!response.ok)
      throw new Error(`opencode answered ${response.status}: ${await response.text()}`);
    return await response.json();
  };
  // A session with a title asks the model for none.
  const { id } = (await call("/session", { title: "A script" })) as { id: string };
  return {
    async ask(prompt) {
      const path = `/session/${id}/message`;
      await call(path, { agent: "build", parts: [{ type: "text", text: prompt }] });
      // The last message is a summary if opencode compacted after the answer.
      const messages = (await call(path)) as readonly Said[];
      const answer = messages.findLast(({ info }) => info.role === "assistant" && !info.summary);
      return (answer?.parts ?? [])
        .flatMap(({ type, text }) => (type === "text" ? [text] : []))
        .join("");
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

function settingsOf({ url, instructions, contextWindow, keptTokens }: OpencodeOptions) {
  const limit = { context: contextWindow, output: OUTPUT_TOKENS };
  const models = { local: { name: "Local", limit, tool_call: true, reasoning: true } };
  const options = { baseURL: url, apiKey: "none" };
  return {
    autoupdate: false,
    share: "disabled",
    snapshot: false,
    permission: "allow",
    model: "local/local",
    provider: { local: { npm: "@ai-sdk/openai", name: "Local", options, models } },
    compaction: { auto: true, preserve_recent_tokens: keptTokens },
    agent: { build: { prompt: instructions, tools: { "*": false, read: true } } },
  };
}

/** opencode compacts when a request and its answer leave less than this of the window. */
const OUTPUT_TOKENS = 600;

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
    export const script = async ({ client }) => ({
      tool: {
        read: {
          description: "Reads a file.",
          args: { path: z.string() },
          execute: async ({ path }) =>
            (await fetch(${JSON.stringify(files)} + encodeURIComponent(path))).text(),
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
