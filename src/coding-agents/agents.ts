import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { systemHome } from "../files/make-folders.ts";
import { shellWord } from "../text/quoting.ts";
import type { AgentFile } from "./installation.ts";
import { hookEdits, OTHER_AGENTS } from "./other-agents.ts";
import { json, mcpArguments, mcpServer, rootOf, type Scope, type Target } from "./target.ts";

interface CodingAgent {
  /** Its name for people. */
  readonly title: string;
  /** The first one is the default. */
  readonly scopes: readonly Scope[];
  /** The parts that it gets, described for people. */
  readonly gets: string;
  files(target: Target): readonly AgentFile[];
}

/** The agents that `rkat install` knows. */
export const CODING_AGENTS = {
  "claude-code": {
    title: "Claude Code",
    scopes: ["user", "project"],
    gets: "the MCP server and hooks",
    files: (target) => {
      const { env, scope, folder, command } = target;
      const own = env.CLAUDE_CONFIG_DIR || undefined;
      const home = systemHome(env);
      const server = { type: "stdio", ...mcpServer(target) };
      // A server of a project is in your own file, so that your paths do not get into the repository.
      const path = scope === "user" ? [] : ["projects", folder];
      return [
        {
          root: own ?? home,
          path: join(own ?? home, ".claude.json"),
          content: json([{ path: [...path, "mcpServers", "rkat"], value: server }]),
        },
        {
          ...(scope === "project"
            ? { root: folder, path: join(folder, ".claude", "settings.local.json") }
            : { root: own ?? home, path: join(own ?? join(home, ".claude"), "settings.json") }),
          content: json(
            claudeHooks(command).map(({ event, hook }) => ({
              path: ["hooks", event],
              isItem: true,
              value: { hooks: [hook] },
            })),
          ),
        },
      ];
    },
  },

  codex: {
    title: "Codex",
    scopes: ["user"],
    gets: "the MCP server and hooks",
    files: (target) => {
      const { env } = target;
      const own = env.CODEX_HOME || undefined;
      const home = systemHome(env);
      const content = {
        kind: "toml",
        table: ["mcp_servers", "rkat"],
        values: { ...mcpServer(target) },
      } as const;
      const root = own ?? home;
      const folder = own ?? join(home, ".codex");
      return [
        { root, path: join(folder, "config.toml"), content },
        { root, path: join(folder, "hooks.json"), content: json(hookEdits(target, "codex")) },
      ];
    },
  },

  cursor: {
    title: "Cursor",
    scopes: ["user", "project"],
    gets: "the MCP server",
    files: (target) => [
      {
        root: rootOf(target),
        path: join(rootOf(target), ".cursor", "mcp.json"),
        content: json([{ path: ["mcpServers", "rkat"], value: mcpServer(target) }]),
      },
    ],
  },

  gemini: {
    title: "Gemini CLI",
    scopes: ["user", "project"],
    gets: "the MCP server and hooks",
    files: (target) => [
      {
        root: rootOf(target),
        path: join(rootOf(target), ".gemini", "settings.json"),
        content: json(
          [
            { path: ["mcpServers", "rkat"], value: mcpServer(target) },
            ...hookEdits(target, "gemini"),
          ],
          true,
        ),
      },
    ],
  },

  ...OTHER_AGENTS,

  opencode: {
    title: "opencode",
    scopes: ["user", "project"],
    gets: "the MCP server and a plugin for its summaries and for the record of its sessions",
    files: (target) => {
      const { scope, env, command } = target;
      const own = env.XDG_CONFIG_HOME || undefined;
      const root = scope === "project" ? rootOf(target) : (own ?? rootOf(target));
      const folder = scope === "project" ? root : join(own ?? join(root, ".config"), "opencode");
      const server = { type: "local", command: [...command, ...mcpArguments(target)] };
      // opencode reads both. What an earlier install put into the other one is taken out.
      const named = ["opencode.json", "opencode.jsonc"].map((name) => join(folder, name));
      const there = named.filter((path) => existsSync(path));
      const settings = there.at(-1) ?? join(folder, "opencode.json");
      const plugin = opencodePlugin({
        command,
        folder: scope === "project" ? join(root, ".opencode") : folder,
      });
      return [
        {
          root,
          path: settings,
          content: json([{ path: ["mcp", "rkat"], value: { ...server, enabled: true } }], true),
        },
        ...there
          .filter((path) => path !== settings)
          .map((path) => ({ root, path, content: json([], true) })),
        { root, path: plugin.path, content: { kind: "whole", text: plugin.text } },
      ];
    },
  },

  pi: {
    title: "pi",
    scopes: ["user"],
    gets: "the summaries, the memory tools and the record of its sessions",
    files: ({ env, command }) => {
      const own = env.PI_CODING_AGENT_DIR || undefined;
      const home = systemHome(env);
      const { path, text } = piExtension({ command, folder: own ?? join(home, ".pi", "agent") });
      return [{ root: own ?? home, path, content: { kind: "whole", text } }];
    },
  },
} as const satisfies Readonly<Record<string, CodingAgent>>;

export type CodingAgentName = keyof typeof CODING_AGENTS;

/** A hook of Claude Code that runs `rkat hook …`. */
interface ClaudeHook {
  /** Claude Code's name of the event. */
  readonly event: string;
  readonly does: "SessionStart" | "UserPromptSubmit" | "PreCompact" | "import";
  /** Claude Code goes on meanwhile. A version that does not know this waits, which takes little time. */
  readonly async?: true;
}

/**
 * The actions of rkat at each event. `import` hands its work to a process of its own and ends at once.
 */
const CLAUDE_HOOKS: readonly ClaudeHook[] = [
  { event: "SessionStart", does: "SessionStart" },
  { event: "UserPromptSubmit", does: "UserPromptSubmit" },
  { event: "PreCompact", does: "PreCompact" },
  { event: "PreCompact", does: "import", async: true },
  { event: "PostCompact", does: "import", async: true },
  { event: "Stop", does: "import", async: true },
  { event: "SessionEnd", does: "import" },
];

const TIMEOUT_SECONDS = 10;

/** The hooks as Claude Code's settings have them. */
export function claudeHooks(program: readonly string[]) {
  return CLAUDE_HOOKS.map(({ event, does, async }) => {
    const command = [...program, "hook", does].map(shellWord).join(" ");
    const hook = { type: "command", command, timeout: TIMEOUT_SECONDS };
    return { event, command, hook: async ? { ...hook, async } : hook };
  });
}

/** The command and the folder by which a coding agent's extension finds rkat. */
interface InstalledRkat {
  /** The command line of rkat, with absolute paths. The last word is `bin/rkat.js` of the package. */
  readonly command: readonly string[];
  /** The folder of the agent's settings. */
  readonly folder: string;
}

interface ExtensionFile {
  readonly path: string;
  readonly text: string;
}

/** The extension of pi, in the folder that pi loads extensions from. `folder` is `~/.pi/agent`. */
export function piExtension({ command, folder }: InstalledRkat): ExtensionFile {
  return {
    path: join(folder, "extensions", "rkat.ts"),
    text: `// Written by \`rkat install pi\`. \`rkat uninstall pi\` removes it.
import { rkatExtension } from ${JSON.stringify(doorOf(command, "pi"))};

export default rkatExtension({ command: ${JSON.stringify(command)} });
`,
  };
}

/** The plugin of opencode, in the folder that opencode loads plugins from. `folder` is `~/.config/opencode`. */
export function opencodePlugin({ command, folder }: InstalledRkat): ExtensionFile {
  return {
    path: join(folder, "plugins", "rkat.js"),
    text: `// Written by \`rkat install opencode\`. \`rkat uninstall opencode\` removes it.
import { rkatPlugin } from ${JSON.stringify(doorOf(command, "opencode"))};

export default rkatPlugin({ command: ${JSON.stringify(command)} });
`,
  };
}

function doorOf(command: readonly string[], name: string): string {
  const packageFolder = dirname(dirname(command.at(-1) ?? ""));
  return pathToFileURL(join(packageFolder, "dist", `${name}.js`)).href;
}
