import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { TOOL_NAMES } from "../src/config/tool-names.ts";
import type { ScriptedReply } from "../src/testing.ts";
import type { ProviderServer } from "./support/provider-server/provider-server.ts";
import { Project } from "./support/rkat-process.ts";
import { scriptedProvider } from "./support/scripted-provider.ts";
import { spawnSync } from "./support/start-process.ts";

let calls = 0;

const use = (name: string, args: object): ScriptedReply => {
  calls += 1;
  return { toolCalls: [{ id: `call${calls}`, name, args }] };
};

/** What the model was given back, one text for each request. */
const sent = (provider: ProviderServer) => JSON.stringify(provider.requests.at(-1)?.body);

async function projectWith(
  replies: ScriptedReply[],
  options: { readonly config?: string } = {},
): Promise<{ project: Project; provider: ProviderServer }> {
  const provider = await scriptedProvider(replies);
  return { provider, project: await Project.open({ provider, ...options }) };
}

test("in a repository, on the first try: the model reads a file, edits it, and runs a command", async () => {
  const { project, provider } = await projectWith([
    use("list_files", { glob: "*.js" }),
    use("read_file", { path: "add.js" }),
    use("edit_file", { path: "add.js", old_text: "a - b", new_text: "a + b" }),
    use("run_command", { command: "node add.js" }),
    "Fixed: 1 + 2 is 3 now.",
  ]);
  project.write("add.js", "const add = (a, b) => a - b;\nconsole.log(add(1, 2));\n");
  const args = [
    "run",
    "-m",
    "openai-compatible/any",
    "--on-approval",
    "prompt",
    "add.js prints -1, fix it",
  ];
  const server = { OPENAI_COMPATIBLE_BASE_URL: provider.urls["openai-compatible"] };
  const { code, stdout, stderr } = await project.rkat(args, "y\ny\n", server);
  expect([code, stdout]).toEqual([0, "Fixed: 1 + 2 is 3 now.\n"]);
  expect(stderr).toContain("→ edit_file add.js\n  │ - a - b\n  │ + a + b\n");
  expect(stderr).toContain('"always" (s or p) allows every call of edit_file');
  expect(stderr).toContain("→ run_command node add.js\n");
  expect(readFileSync(join(project.folder, "add.js"), "utf8")).toContain("a + b");
  expect(sent(provider)).toContain("[exit code 0]\\n3");
});

test("without a terminal a change waits, --allow names what may run, and a file with keys still waits", async () => {
  const { project, provider } = await projectWith([
    use("write_file", { path: "new.txt", content: "hello" }),
    "made",
    use("read_file", { path: ".env" }),
  ]);
  project.write(".env", "PASSWORD=tangerine");
  const waits = await project.rkat(["run", "make new.txt"]);
  expect(waits.code).toBe(25);
  expect(waits.stderr).toContain("--allow");
  expect(existsSync(join(project.folder, "new.txt"))).toBe(false);
  const allowed = await project.rkat(["resume", "last", "--allow", "write_file"]);
  expect([allowed.code, allowed.stdout]).toEqual([0, "made\n"]);
  expect(readFileSync(join(project.folder, "new.txt"), "utf8")).toBe("hello");
  const asks = await project.rkat(["run", "read .env", "--allow", "read_file"]);
  expect(asks.code).toBe(25);
  expect(sent(provider)).not.toContain("tangerine");
});

test("`--tools` and the setting say which tools there are", async () => {
  const { project, provider } = await projectWith([]);
  const toolsOf = async (...flags: string[]) => {
    expect((await project.rkat(["run", "hello", ...flags])).code).toBe(0);
    const { tools } = { tools: [], ...provider.requests.at(-1)?.body } as {
      readonly tools: readonly { readonly name: string }[];
    };
    return tools.map(({ name }) => name).filter((name) => /file|command/.test(name));
  };
  const reading = ["list_files", "search_files", "read_file"];
  const all = [...reading, "edit_file", "write_file", "run_command"];
  expect(await toolsOf()).toEqual(all);
  expect(await toolsOf("--tools", "read")).toEqual(reading);
  expect(await toolsOf("--tools", "none")).toEqual([]);
  project.write(".rkat/config.toml", '[tools]\nproject = "none"');
  expect(await toolsOf()).toEqual([]);
  expect(await toolsOf("--tools", "all")).toEqual(all);
});

test("a server gives its clients none of these tools", async () => {
  const { project, provider } = await projectWith([]);
  const { child } = project.start(["serve", "--port", "0"]);
  let said = "";
  child.stderr?.on("data", (bytes) => {
    said += bytes;
  });
  const address = () => /at (http:\S+)/.exec(said)?.[1];
  while (address() === undefined) await sleep(20);
  const post = async (path: string, body: object) => {
    const headers = { "content-type": "application/json" };
    const response = await fetch(new URL(path, address()), {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    return (await response.json()) as { session_id: string };
  };
  const { session_id } = await post("/sessions", {});
  await post(`/sessions/${session_id}/messages`, { prompt: "hello" });
  expect(sent(provider)).toContain('"memory_search"');
  expect(sent(provider)).not.toContain("_file");
  expect(sent(provider)).not.toContain("run_command");
});

test("a hostile repository's settings allow nothing", async () => {
  const { project, provider } = await projectWith([
    use("run_command", { command: "touch pwned" }),
    use("run_command", { command: "touch pwned" }),
  ]);
  project.write(
    ".rkat/config.toml",
    '[approvals]\ndefault = "allow"\n[tools]\nproject = "all"\n[tools.run_command]\npolicy = "allow"\n["tools"."*"]\npolicy = "allow"',
  );
  project.write(".rkat/approvals.json", '[{"tool":"run_command"}]');
  project.writeOwnConfig("");
  const run = await project.rkat(["run", "go"], "", { RKAT_TRUST: "" });
  expect(run.code).toBe(25);
  project.writeOwnConfig('[tools]\nproject = "read"');
  await project.rkat(["run", "go"], "", { RKAT_TRUST: "" });
  expect(sent(provider)).not.toContain('"write_file"');
  expect(existsSync(join(project.folder, "pwned"))).toBe(false);
});

test.skipIf(process.platform === "win32")("Ctrl-C ends the command with the turn", async () => {
  const mark = `97${Math.floor(Math.random() * 1e8)}`;
  const { project } = await projectWith([
    use("run_command", { command: `touch begun; (sleep ${mark}; true) | cat` }),
  ]);
  const running = project.start(["run", "wait", "--allow", "run_command"]);
  while (!existsSync(join(project.folder, "begun"))) await sleep(20);
  running.kill("SIGINT");
  await running.ended;
  const runs = () => spawnSync("pgrep", ["-f", mark]).status === 0;
  await expect.poll(runs).toBe(false);
});

test("a policy or a flag for a tool that is not there is told, with the tool that was meant", async () => {
  const provider = await scriptedProvider(["Done."], async () => {});
  const config = '[tools.Run-Command]\npolicy = "deny"\n\n[tools.shell]\npolicy = "deny"\n';
  const project = await Project.open({ provider, config });
  const meant = 'there is no tool called "Run-Command". Did you mean run_command?';
  const shown = await project.rkat(["config"]);
  expect(shown.stderr).toContain(`tools.Run-Command.policy has no effect: ${meant}`);
  expect(shown.stderr).toContain(
    'there is no tool called "shell". Tools of MCP servers are called',
  );
  const flags = ["--allow", "Edit-File", "--approval", "writefile=ask"];
  const { code, stderr } = await project.rkat(["run", ...flags, "hello"]);
  expect(code).toBe(0);
  expect(stderr).toContain(`warning: tools.Run-Command.policy has no effect: ${meant}`);
  expect(stderr).toContain("--allow Edit-File has no effect");
  expect(stderr).toContain("Did you mean edit_file?");
  expect(stderr).toContain("--approval writefile has no effect");
  // It may be meant for tools of another program.
  expect(stderr).not.toContain("shell");
});

test("the names that are known are those of the tools that a run gives its model", async () => {
  const provider = await scriptedProvider(["Done."], async () => {});
  const project = await Project.open({ provider });
  await project.rkat(["run", "hello"]);
  const body = provider.requests[0]?.body as { tools?: { name: string }[] } | undefined;
  expect(body?.tools?.map(({ name }) => name).sort()).toEqual(TOOL_NAMES);
});

test("`mcp add`, `allow` and `remove` tell a script in JSON what they did", async () => {
  const project = await Project.open();
  const settings = expect.stringMatching(/config\.toml$/);
  const add = ["mcp", "add", "docs", "--json", "--", "npx", "docs-server", "--json"];
  expect(await project.json(add)).toEqual({ name: "docs", settings });
  project.write(".mcp.json", JSON.stringify({ mcpServers: { theirs: { command: "theirs" } } }));
  expect(await project.json(["mcp", "allow", "theirs", "--json"])).toEqual({
    name: "theirs",
    starts: "theirs",
  });
  expect(await project.json(["mcp", "remove", "docs", "--json"])).toEqual({
    removed: true,
    settings,
  });
  const again = await project.rkat(["mcp", "remove", "docs", "--json"]);
  expect([again.code, again.stdout]).toEqual([2, ""]);
  expect(JSON.parse(again.stderr)).toMatchObject({ code: "INVALID_PARAMS" });
});
