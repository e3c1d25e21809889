import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, onTestFinished, test, vi } from "vitest";
import { CODING_AGENTS } from "../src/coding-agents/agents.ts";
import { carryOut, planInstall } from "../src/coding-agents/installation.ts";
import { temporaryFolder } from "./support/obey.ts";
import { Project } from "./support/rkat-process.ts";

const AGENTS = Object.keys(CODING_AGENTS);

/** A file in the home of a project. */
function fileIn(project: Project) {
  const home = join(project.folder, "..");
  return {
    read: (path: string) => readFileSync(join(home, path), "utf8"),
    write(path: string, text: string) {
      mkdirSync(dirname(join(home, path)), { recursive: true });
      writeFileSync(join(home, path), text);
    },
    at: (path: string) => join(home, path),
  };
}

const SETTINGS = `{
    "model": "opus",
    "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}, "x": [1,2]
}`;
const OWN = '{"numStartups": 4, "mcpServers": {"other": {"command": "other"}}}';

test("installing for Claude Code adds to its files, twice is once, and uninstalling gives them back", async () => {
  const project = await Project.open();
  const { read, write, at } = fileIn(project);
  write(".claude/settings.json", SETTINGS);
  write(".claude.json", OWN);
  const first = await project.rkat(["install", "claude-code"]);
  expect(first).toMatchObject({ code: 0, stderr: "" });
  expect(first.stdout).toContain("Claude Code now has the MCP server and hooks.");
  const { hooks, ...rest } = JSON.parse(read(".claude/settings.json"));
  expect(rest).toEqual({ model: "opus", x: [1, 2] });
  expect(hooks.Stop).toHaveLength(2);
  expect(Object.keys(JSON.parse(read(".claude.json")).mcpServers)).toEqual(["other", "rkat"]);
  expect(lstatSync(at(".claude.json")).mode & 0o777).toBe(0o600);
  const installed = [read(".claude/settings.json"), read(".claude.json")];
  const again = await project.rkat(["install", "claude-code"]);
  expect(again.stdout).toBe("Claude Code has all of it already.\n");
  expect([read(".claude/settings.json"), read(".claude.json")]).toEqual(installed);
  write(".config/rkat/hooks/code/v24/a", "what Node compiled");
  await project.rkat(["uninstall", "claude-code"]);
  expect([read(".claude/settings.json"), read(".claude.json")]).toEqual([SETTINGS, OWN]);
  expect(existsSync(at(".config/rkat/hooks/code"))).toBe(false);
  const nothing = await project.rkat(["uninstall", "claude-code"]);
  expect(nothing.stdout).toBe("Nothing of rkat is installed for Claude Code.\n");
});

test("what Claude Code and others write meanwhile stays when rkat is uninstalled", async () => {
  const project = await Project.open();
  const { read, write } = fileIn(project);
  write(".claude.json", OWN);
  await project.rkat(["install", "claude-code"]);
  const own = JSON.parse(read(".claude.json"));
  write(".claude.json", JSON.stringify({ ...own, numStartups: 5 }, null, 2));
  await project.rkat(["uninstall", "claude-code"]);
  expect(JSON.parse(read(".claude.json"))).toEqual({ ...JSON.parse(OWN), numStartups: 5 });
});

test.each(AGENTS)(
  "%s: files that were not there are made, and removed with their folders",
  async (agent) => {
    const project = await Project.open();
    const { at } = fileIn(project);
    const shown = await project.json(["install", agent, "--print", "--json"]);
    const { files } = shown as { files: { path: string; change: string; text: string }[] };
    expect(files.map(({ path }) => existsSync(path))).toEqual(files.map(() => false));
    await project.rkat(["install", agent]);
    expect(files.map(({ path }) => readFileSync(path, "utf8"))).toEqual(
      files.map(({ text }) => text),
    );
    await project.rkat(["uninstall", agent]);
    const folders = files.map(({ path }) => dirname(path)).filter((each) => each !== at("."));
    expect(folders.map((folder) => existsSync(folder))).toEqual(folders.map(() => false));
  },
);

test.each(["claude-code", "cursor", "gemini", "opencode"])("%s: for one project", async (agent) => {
  const project = await Project.open();
  const shown = await project.json(["install", agent, "--scope", "project", "--json"]);
  expect(shown).toMatchObject({ agent, scope: "project" });
  const { files } = shown as { files: { path: string; change: string }[] };
  expect(files.every(({ change }) => change === "made")).toBe(true);
  expect(files.some(({ path }) => path.startsWith(project.folder))).toBe(true);
});

test("settings with comments and last commas keep both, and the hooks of other agents answer in JSON", async () => {
  const project = await Project.open({ config: "" });
  const { read, write } = fileIn(project);
  const zed =
    '// mine\n{\n  "theme": "One", // dark\n  "context_servers": {\n    "other": {"command": "x"},\n  },\n}\n';
  write(".config/zed/settings.json", zed);
  await project.rkat(["install", "zed"]);
  expect(read(".config/zed/settings.json")).toContain('"rkat": {');
  expect(read(".config/zed/settings.json")).toContain('"theme": "One", // dark');
  await project.rkat(["uninstall", "zed"]);
  expect(read(".config/zed/settings.json")).toBe(zed);

  await project.rkat(["memory", "add", "Staging listens on port 4310."]);
  for (const [agent, event] of [
    ["codex", "UserPromptSubmit"],
    ["gemini", "BeforeAgent"],
    ["qwen", "UserPromptSubmit"],
  ] as const) {
    const prompt = "Which port does staging listen on?";
    const input = JSON.stringify({ session_id: agent, cwd: project.folder, prompt });
    const hook = ["hook", "UserPromptSubmit", "--agent", agent];
    const { code, stdout } = await project.rkat(hook, input);
    const { hookEventName, additionalContext } = JSON.parse(stdout).hookSpecificOutput;
    expect([code, hookEventName, additionalContext]).toEqual([
      0,
      event,
      expect.stringContaining("4310"),
    ]);
    const none = await project.rkat(
      hook,
      JSON.stringify({ session_id: agent, cwd: project.folder, prompt: "ok" }),
    );
    expect([none.code, none.stdout]).toEqual([0, ""]);
  }
});

test("a broken file, a server of yours, a link: one error, and nothing is written", async () => {
  const project = await Project.open();
  const { read, write, at } = fileIn(project);
  write(".claude.json", OWN);
  write(".claude/settings.json", '{"hooks": {');
  const broken = await project.rkat(["install", "claude-code"]);
  expect(broken.code).toBe(17);
  expect(broken.stderr).toBe(
    `error: ${at(".claude/settings.json")} cannot be changed: it is not JSON (line 1).\nhint: Nothing was written. Change the file, and run the command again.\n`,
  );
  expect(read(".claude.json")).toBe(OWN);
  write(".claude/settings.json", SETTINGS);
  write(".claude.json", '{"mcpServers": {"rkat": {"command": "npx"}}}');
  const taken = await project.rkat(["install", "claude-code"]);
  expect(taken.stderr).toContain("it has another mcpServers.rkat already");
  expect(read(".claude/settings.json")).toBe(SETTINGS);
  const latin1 = Buffer.from('{"caf\xe9": "\uFFFD"}', "latin1");
  writeFileSync(at(".claude.json"), latin1);
  expect((await project.rkat(["install", "claude-code"])).stderr).toContain("it is not UTF-8");
  expect(readFileSync(at(".claude.json"))).toEqual(latin1);
  write("elsewhere.json", "{}");
  mkdirSync(join(project.folder, ".cursor"));
  symlinkSync(at("elsewhere.json"), join(project.folder, ".cursor/mcp.json"));
  const linked = await project.rkat(["install", "cursor", "--scope", "project"]);
  expect(linked.code).toBe(41);
  expect(linked.stderr).toContain("is a link");
  expect(read("elsewhere.json")).toBe("{}");
});

test("in your own home a file or a folder that is a link is changed where it leads to, and the link stays", async () => {
  const project = await Project.open();
  const { read, write, at } = fileIn(project);
  write("dotfiles/claude/settings.json", SETTINGS);
  write("dotfiles/claude.json", OWN);
  symlinkSync("dotfiles/claude", at(".claude"));
  symlinkSync("dotfiles/claude.json", at(".claude.json"));
  chmodSync(at("dotfiles/claude.json"), 0o640);
  expect(await project.rkat(["install", "claude-code"])).toMatchObject({ code: 0, stderr: "" });
  expect([read("dotfiles/claude/settings.json"), read("dotfiles/claude.json")]).toEqual([
    expect.stringContaining("hook SessionStart"),
    expect.stringContaining('"rkat"'),
  ]);
  const again = await project.rkat(["install", "claude-code"]);
  expect(again.stdout).toBe("Claude Code has all of it already.\n");
  await project.rkat(["uninstall", "claude-code"]);
  expect([read("dotfiles/claude/settings.json"), read("dotfiles/claude.json")]).toEqual([
    SETTINGS,
    OWN,
  ]);
  expect(lstatSync(at("dotfiles/claude.json")).mode & 0o777).toBe(0o640);
  for (const path of [".claude", ".claude.json"])
    expect(lstatSync(at(path)).isSymbolicLink()).toBe(true);

  symlinkSync("dotfiles/none.json", at("dangling"));
  mkdirSync(at(".cursor"));
  symlinkSync(at("dangling"), at(".cursor/mcp.json"));
  const dangling = await project.rkat(["install", "cursor"]);
  expect([dangling.code, dangling.stderr]).toEqual([
    41,
    expect.stringContaining("leads to nothing"),
  ]);
});

test("a file keeps its permissions over install and uninstall, unless they were changed meanwhile", async () => {
  const project = await Project.open();
  const { write, at } = fileIn(project);
  const mode = () => lstatSync(at(".cursor/mcp.json")).mode & 0o777;
  write(".cursor/mcp.json", OWN);
  chmodSync(at(".cursor/mcp.json"), 0o664);
  await project.rkat(["install", "cursor"]);
  await project.rkat(["install", "cursor"]);
  expect(mode()).toBe(0o600);
  await project.rkat(["uninstall", "cursor"]);
  expect(mode()).toBe(0o664);
  await project.rkat(["install", "cursor"]);
  chmodSync(at(".cursor/mcp.json"), 0o640);
  await project.rkat(["uninstall", "cursor"]);
  expect(mode()).toBe(0o640);
});

test("settings that are read-only are refused by a sentence, and no other file is changed", async () => {
  const project = await Project.open();
  const { read, write, at } = fileIn(project);
  write(".claude.json", OWN);
  write("store/settings.json", SETTINGS);
  chmodSync(at("store/settings.json"), 0o444);
  mkdirSync(at(".claude"));
  symlinkSync(at("store/settings.json"), at(".claude/settings.json"));
  const { code, stderr } = await project.rkat(["install", "claude-code"]);
  expect([code, stderr]).toEqual([17, expect.stringContaining("it is read-only")]);
  expect(stderr).toContain("add there what `--print` shows");
  const shown = await project.rkat(["install", "claude-code", "--print"]);
  expect([shown.code, shown.stdout]).toEqual([0, expect.stringContaining("hook SessionStart")]);
  expect([read(".claude.json"), read("store/settings.json")]).toEqual([OWN, SETTINGS]);
  expect(existsSync(at(".config/rkat/installed.json"))).toBe(false);
});

test("settings of another user are refused with advice that does not break them", async () => {
  const HOME = await temporaryFolder();
  const path = join(HOME, ".cursor", "mcp.json");
  mkdirSync(join(HOME, ".cursor"));
  writeFileSync(path, "{}");
  const content = { kind: "json", edits: [{ path: ["a"], value: 1 }] } as const;
  const file = { root: HOME, path, isOwn: true, content } as const;
  const getuid = vi.spyOn(process, "getuid").mockReturnValue(lstatSync(path).uid + 1);
  onTestFinished(() => getuid.mockRestore());
  const error = await planInstall([file], { HOME }).catch((thrown) => thrown);
  expect(error.message).toContain("belongs to another user");
  expect(error.hint).toBe(
    "Nothing was written. rkat changes only regular files of yours. Run it as the user whose files these are.",
  );
});

test("when one of the files cannot be written, those before it are as they were", async () => {
  const home = await temporaryFolder();
  const [first, second] = [join(home, "one.json"), join(home, "file", "two.json")];
  const env = { HOME: home };
  const content = { kind: "json", edits: [{ path: ["a"], value: 1 }] } as const;
  writeFileSync(first, "{}", { mode: 0o644 });
  const plan = await planInstall(
    [first, second].map((path) => ({ root: home, path, content })),
    env,
  );
  // Something takes the place of the second one's folder after everything was looked at.
  writeFileSync(join(home, "file"), "");
  expect(() => carryOut(plan, env)).toThrow(`${second} cannot be written`);
  expect(readFileSync(first, "utf8")).toBe("{}");
  expect(lstatSync(first).mode & 0o777).toBe(0o644);
  expect(existsSync(join(home, ".config", "rkat", "installed.json"))).toBe(false);
});

test("--print shows the changed lines, and writes nothing", async () => {
  const project = await Project.open();
  const { read, write } = fileIn(project);
  write(".codex/config.toml", 'model = "o5" # mine\n');
  const { stdout, stderr } = await project.rkat(["install", "codex", "--print"]);
  expect(stdout).toMatch(/^would change {2}.*\.codex.config\.toml\n/);
  expect(stdout).toContain('  model = "o5" # mine\n+ \n+ [mcp_servers.rkat]\n');
  expect(stderr).toBe("Nothing was written. `rkat install codex` writes this.\n");
  expect(read(".codex/config.toml")).toBe('model = "o5" # mine\n');
});

test("an agent that is not known is an error with the names", async () => {
  const project = await Project.open();
  const { code, stderr } = await project.rkat(["install", "claud-code"]);
  expect(code).toBe(2);
  expect(stderr).toContain("claude-code");
  const scope = await project.rkat(["install", "codex", "--scope", "project"]);
  expect(scope.stderr).toBe(
    "error: Codex has no settings for one project.\nhint: Leave --scope out.\n",
  );
});

test("the installed command line starts an MCP server that remembers", async () => {
  const project = await Project.open({ ownProcesses: true });
  const { read } = fileIn(project);
  await project.rkat(["install", "claude-code"]);
  const { command, args } = JSON.parse(read(".claude.json")).mcpServers.rkat;
  const client = new Client({ name: "test", version: "1" });
  onTestFinished(() => client.close());
  const { folder: cwd, env } = project;
  await client.connect(new StdioClientTransport({ command, args, cwd, env }));
  await client.callTool({ name: "memory_add", arguments: { content: "Staging uses port 4310." } });
  const found = await client.callTool({
    name: "memory_search",
    arguments: { query: "which port does staging use" },
  });
  expect(JSON.stringify(found)).toContain("4310");
});
