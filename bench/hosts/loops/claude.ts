import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  createSdkMcpServer,
  query,
  type SDKUserMessage,
  tool,
} from "@anthropic-ai/claude-agent-sdk";
import { z } from "zod";
import { execFileSync } from "../../../test/support/start-process.ts";
import type { Contender, HostLoop, Lab } from "../play-run.ts";
import { withRecordedMemory } from "./recorded-memory.ts";

const HOST = "Claude Agent SDK 0.3";

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const PROGRAM = at("../claude/node_modules/@anthropic-ai/claude-agent-sdk-linux-x64/claude");
const RKAT = at("../../../examples/hosts/node_modules/rkat/bin/rkat.js");

/** Tokens of the window that the program leaves for its own summary. */
const LEFT_FREE = 13_000;

interface ClaudeLoop extends HostLoop {
  /** The folder that has the memory. */
  readonly project: string;
  close(): Promise<void>;
}

/** The SDK with its own program, in a home of its own. */
async function loopWith(lab: Lab, withRkat: boolean): Promise<ClaudeLoop> {
  const home = mkdtempSync(join(tmpdir(), "rkat-claude-"));
  const cwd = join(home, "project");
  mkdirSync(cwd);
  const env = { HOME: home, PATH: process.env.PATH ?? "" };
  if (withRkat) execFileSync(process.execPath, [RKAT, "install", "claude-code"], { env, cwd });
  const prompts = new Prompts();
  const said = query({
    prompt: prompts.all(),
    options: {
      cwd,
      // A name that the program does not know has the window that the environment says.
      model: "local",
      systemPrompt: lab.instructions,
      tools: [],
      mcpServers: { harbour: toolsOf(lab) },
      permissionMode: "dontAsk",
      allowedTools: [TOOL, "mcp__rkat__*"],
      settingSources: withRkat ? ["user"] : [],
      pathToClaudeCodeExecutable: PROGRAM,
      env: {
        ...env,
        ANTHROPIC_API_KEY: "none",
        ANTHROPIC_BASE_URL: lab.urls.anthropic.replace(/\/v1$/, ""),
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
        CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS: "1",
        CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(0.8 * lab.contextWindow + LEFT_FREE),
        CLAUDE_CODE_MAX_OUTPUT_TOKENS: "1000",
        CLAUDE_CODE_MAX_RETRIES: "0",
      },
    },
  });
  return {
    // Sessions of a folder without a store of its own are in the user's.
    project: home,
    async ask(prompt, picture) {
      prompts.add(prompt, picture);
      for (;;) {
        const { value, done } = await said.next();
        if (done) throw new Error("The program has ended.");
        if (value.type !== "result") continue;
        if (value.subtype === "success" && !value.is_error) return value.result;
        throw new Error("result" in value ? value.result : value.errors.join(" "));
      }
    },
    async close() {
      await said.return();
      rmSync(home, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

const TOOL = "mcp__harbour__read";

function toolsOf({ otherTools, read }: Lab) {
  const answer = (text: string) => ({ content: [{ type: "text" as const, text }] });
  return createSdkMcpServer({
    name: "harbour",
    alwaysLoad: true,
    tools: [
      tool("read", "Reads a file.", { path: z.string() }, async ({ path }) => answer(read(path))),
      ...otherTools.map(({ name, description }) =>
        tool(name, description, {}, async () => answer("")),
      ),
    ],
  });
}

/** What the user says, when it is said. */
class Prompts {
  readonly #waiting: SDKUserMessage[] = [];
  #wake = () => {};

  add(text: string, picture?: string): void {
    const source = { type: "base64", media_type: "image/png", data: picture ?? "" } as const;
    const image = picture ? [{ type: "image" as const, source }] : [];
    const content = [...image, { type: "text" as const, text }];
    this.#waiting.push({
      type: "user",
      message: { role: "user", content },
      parent_tool_use_id: null,
    });
    this.#wake();
  }

  async *all(): AsyncGenerator<SDKUserMessage, never> {
    for (;;) {
      for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) yield next;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

const shared = {
  host: HOST,
  tool: TOOL,
  // The program asks again for a summary that is not in its form.
  summary: (text: string) => `<summary>\n${text}\n</summary>`,
};

export const claudeContenders: readonly Contender[] = existsSync(PROGRAM)
  ? [
      { ...shared, name: "its own compaction", open: (lab) => loopWith(lab, false) },
      {
        ...shared,
        name: "rkat",
        open: async (lab) => withRecordedMemory(await loopWith(lab, true)),
      },
    ]
  : [];
