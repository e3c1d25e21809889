import { existsSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { type Command, Option } from "commander";
import type { EffectiveSetting } from "../../config/config.ts";
import { keepingProblem, SET_HOME } from "../../config/config-places.ts";
import { TRUST_VARIABLE } from "../../config/config-source.ts";
import { SETTING_KEYS, SETTINGS, type SettingKey } from "../../config/settings.ts";
import { makeDataFolder } from "../../config/store-file.ts";
import { distrust, settingsFile, trust, trustIn } from "../../config/trust.ts";
import { examineWorkspace, hasCapability, type Workspace } from "../../config/workspace.ts";
import { SessionError } from "../../core/errors.ts";
import { CAPABILITIES, CAPABILITY_DESCRIPTIONS } from "../../core/operations/operation.ts";
import { lookAt, lookAtFile, makeFile } from "../../files/plain-files.ts";
import type { CliContext } from "../cli-context.ts";
import { oneLine } from "../render/printable.ts";
import { renderTable, type Style, styleFor } from "../render/style.ts";
import { printJson, printText, roomIn } from "../terminal/print.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { examinedWorkspace, workspaceOf } from "./with-service.ts";

/** `rkat init`: creates `.rkat` and never changes existing files. */
export function initCommand(program: Command, context: CliContext): void {
  const { terminal } = context;
  const init = program.command("init").action(async () => {
    const folder = resolve(terminal.cwd, init.optsWithGlobals<{ dir?: string }>().dir ?? "");
    const dataFolder = join(folder, ".rkat");
    const places = { folder, dataFolder, storeFile: join(dataFolder, "rkat.db") };
    const config = settingsFile(places);
    const made = [...makeDataFolder(places, terminal.env, { isShared: true })];
    if (makeFile(folder, config, configTemplate())) {
      trust("settings", config, places, terminal.env);
      made.push(config);
    }
    const shown = (path: string) => relative(terminal.cwd, path) || ".";
    const lines =
      made.length > 0
        ? made.map((path) => `created  ${shown(path)}\n`)
        : [`${shown(dataFolder)} exists already. Nothing was changed.\n`];
    await terminal.stdout.write(lines.join(""));
    if (made.includes(config)) {
      await terminal.stderr.write(
        `Set \`model\` in ${shown(config)}, then: ${context.rkat} "hello"\n`,
      );
    }
  });
}

/** `rkat config`: every setting in force, and where it comes from. */
export function configCommand(program: Command, context: CliContext): void {
  const { terminal } = context;
  const command = program
    .command("config")
    .option("--json", "for scripts")
    .action(async ({ json }: { json?: true }) => {
      const { workspace, problem } = await examinedWorkspace(context, command);
      if (json) await printJson(terminal.stdout, settingsJson(workspace));
      else await printSettings(terminal, workspace);
      if (problem) throw problem;
    });
}

/** `rkat capabilities`. */
export function capabilitiesCommand(program: Command, context: CliContext): void {
  const { terminal } = context;
  const command = program
    .command("capabilities")
    .option("--json", "for scripts")
    .action(async ({ json }: { json?: true }) => {
      const { config } = await workspaceOf(context, command);
      const capabilities = CAPABILITIES.map((id) => ({
        id,
        description: CAPABILITY_DESCRIPTIONS[id],
        available: hasCapability(config, id),
      }));
      if (json) return await printJson(terminal.stdout, { capabilities });
      const style = styleFor(terminal.stdout, terminal.env);
      const lines = capabilities.map(({ id, description, available }) => {
        const state = available ? style.green("on ") : style.red("off");
        return `${state}  ${id.padEnd(20)}${description}\n`;
      });
      await printText(terminal.stdout, lines.join(""));
    });
}

/** The settings in force, for scripts and for JSON-RPC clients. */
export function settingsJson({ config, files, notes }: Workspace) {
  return {
    files: Object.entries(files).map(([owner, path]) => ({
      owner,
      path,
      exists: existsSync(path),
    })),
    settings: config.effective().map(({ key, value, origin }) => ({ key, value, origin })),
    notes,
  };
}

async function printSettings(
  { stdout, stderr, env }: Terminal,
  { config, files, notes }: Workspace,
): Promise<void> {
  await stdout.write(renderSettings(config.effective(), styleFor(stdout, env), roomIn(stdout)));
  const places = Object.values(files).map(
    (path) => `  ${path}${existsSync(path) ? "" : " (missing)"}\n`,
  );
  await stderr.write(`\nFiles, later ones win:\n${places.join("")}`);
  if (notes.length > 0)
    await stderr.write(`\nNotes:\n${notes.map((note) => `  ${note}\n`).join("")}`);
}

const VALUE_COLUMNS_MAX = 50;

function renderSettings(settings: readonly EffectiveSetting[], style: Style, room: number): string {
  const rows = settings.map(({ key, written, origin }) => [
    key,
    written === "" ? "-" : oneLine(written, VALUE_COLUMNS_MAX),
    origin,
  ]);
  const columns = [{ title: "SETTING" }, { title: "VALUE" }, { title: "FROM" }];
  return renderTable(columns, rows, style, room);
}

/** `rkat trust`: believe the settings and the store of a project that you did not make here. */
export function trustCommand(program: Command, context: CliContext): void {
  const { terminal } = context;
  const command = program
    .command("trust")
    .option("--revoke", "no longer trust the project")
    .addOption(new Option("--show", "show what is trusted, and change nothing").conflicts("revoke"))
    .option("--json", "for scripts")
    .action(async ({ revoke, show, json }: { revoke?: true; show?: true; json?: true }) => {
      const { dir } = command.optsWithGlobals<{ dir?: string }>();
      const { workspace } = await examineWorkspace(terminal, dir);
      const { folder, dataFolder, storePlace } = workspace;
      if (!lookAt(folder, dataFolder)) {
        throw new SessionError("INVALID_PARAMS", {
          message: `There is no .rkat in ${folder}.`,
          hint: "Name the project's folder with --dir.",
        });
      }
      if (revoke) distrust(workspace, terminal.env);
      else if (!show) {
        lookAtFile(storePlace.folder, storePlace.storeFile);
        if (!trust("folder", dataFolder, workspace, terminal.env)) throw notKept(terminal.env);
        trust("settings", settingsFile(workspace), workspace, terminal.env);
        trust("store", storePlace.storeFile, storePlace, terminal.env);
      }
      const now = {
        settings: trustIn({ ...workspace, storeFile: join(dataFolder, "rkat.db") }, terminal.env)
          .settings,
        store: trustIn(storePlace, terminal.env).store,
      };
      const where = storePlace.folder === folder ? "" : `, in ${storePlace.folder}`;
      if (json)
        return await printJson(terminal.stdout, {
          folder,
          settings: now.settings,
          store: now.store,
        });
      const word = (is: boolean) => (is ? "trusted" : "not trusted");
      await terminal.stdout.write(
        `${folder}\n  settings  ${word(now.settings)}\n  store     ${word(now.store)}${where}\n`,
      );
    });
}

function notKept(env: Terminal["env"]): SessionError {
  return new SessionError("NOT_POSSIBLE", {
    message: `Trust cannot be kept. ${keepingProblem(env) ?? ""}`.trimEnd(),
    hint: `${SET_HOME.slice(0, -1)}, or set ${TRUST_VARIABLE}=true for one command.`,
  });
}

/** The `config.toml` that `rkat init` writes: every setting, commented out, with its default. */
export function configTemplate(): string {
  const lines = [
    "# Settings of this project. All are optional. The values here are defaults and examples.",
    "# To set one, remove the # before it and before the [section] above it, or write both below.",
    "# `rkat config` shows the values in force, and where each comes from.",
  ];
  let section = "";
  for (const key of SETTING_KEYS) {
    if (SETTINGS[key].project === "never") continue;
    const place = placeOf(key);
    if (place.section !== section) lines.push("", `# [${place.section}]`);
    else if (section === "") lines.push("");
    section = place.section;
    lines.push(`# ${SETTINGS[key].description}`, `# ${place.name} = ${example(key)}`);
  }
  return `${lines.join("\n")}\n`;
}

/** Examples for settings without a default. */
const EXAMPLES: Partial<Record<SettingKey, string>> = {
  model: '"anthropic/claude-sonnet-4-5"',
  max_tokens: "8192",
  system_prompt: '"You are a careful engineer."',
  "compaction.user_words_tokens": "20000",
  "sessions.keep_archived_days": "365",
  "sessions.keep_compacted_days": "90",
  "memory.min_score": "0.3",
  "memory.cache_mb": "16",
  "embeddings.model": '"all-MiniLM-L6-v2"',
  "embeddings.dimensions": "384",
  "embeddings.base_url": '"http://127.0.0.1:11434/v1"',
  "embeddings.api_key_env": '"OPENAI_API_KEY"',
  "budget.max_total_tokens": "200000",
  "budget.max_duration": '"30m"',
  "budget.max_tool_calls": "100",
  "providers.*.base_url": '"http://127.0.0.1:11434/v1"',
  "providers.*.api_key_env": '"OLLAMA_API_KEY"',
  "context_windows.*": "131072",
  "prices.*.input": "3",
  "prices.*.output": "15",
  "prices.*.cache_read": "0.3",
  "prices.*.cache_write": "3.75",
  "approvals.default": '"ask"',
  "tools.*.policy": '"ask"',
  "tools.run_command.environment": '["SSH_AUTH_SOCK"]',
  "mcp.servers.*.command": '"npx"',
  "mcp.servers.*.args": '["-y", "@modelcontextprotocol/server-github"]',
  "mcp.servers.*.environment": '["GITHUB_TOKEN"]',
  "mcp.servers.*.url": '"https://mcp.example.com/mcp"',
  "mcp.servers.*.api_key_env": '"GITHUB_TOKEN"',
  "mcp.servers.*.tools": '["search_issues"]',
  "mcp.servers.*.timeout": '"60s"',
  "mcp.servers.*.enabled": "true",
  "memory.window_size": "12",
  "memory.pin_budget": "20000",
  "knowledge.model": '"anthropic/claude-haiku-4-5"',
};

function placeOf(key: SettingKey): { readonly section: string; readonly name: string } {
  if (key === "context_windows.*") return { section: "context_windows", name: '"ollama/llama3.2"' };
  const end = key.lastIndexOf(".");
  return {
    section: key
      .slice(0, Math.max(0, end))
      .replace("tools.*", "tools.run_command")
      .replace("servers.*", "servers.github")
      .replace("prices.*", 'prices."my-server/my-model"')
      .replace("*", "ollama"),
    name: key.slice(end + 1),
  };
}

function example(key: SettingKey): string {
  const { kind, default: value } = SETTINGS[key];
  const write = kind.write as (value: unknown) => string;
  return EXAMPLES[key] ?? write(value);
}
