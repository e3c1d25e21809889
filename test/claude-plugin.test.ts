import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { claudeHooks } from "../src/coding-agents/agents.ts";

const json = (path: string) => JSON.parse(readFileSync(path, "utf8"));

const { version, files } = json("package.json");

test("the plugin for Claude Code has the hooks that `rkat install` writes", () => {
  // Claude Code copies a plugin away from its package, so it starts the `rkat` of your path. Without one it does nothing.
  const expected: Record<string, unknown[]> = {};
  for (const { event, command, hook } of claudeHooks(["rkat"])) {
    const entry = { hooks: [{ ...hook, command: `${command} || true` }] };
    expected[event] = [...(expected[event] ?? []), entry];
  }
  expect(json("plugins/claude-code/hooks/hooks.json").hooks).toEqual(expected);
});

test("the plugin starts the MCP server, and is in the package with the package's version", () => {
  const { mcpServers } = json("plugins/claude-code/.mcp.json");
  expect(mcpServers).toEqual({ rkat: { type: "stdio", command: "rkat", args: ["mcp"] } });
  expect(json("plugins/claude-code/.claude-plugin/plugin.json")).toMatchObject({
    name: "rkat",
    version,
  });
  expect(json(".claude-plugin/marketplace.json").plugins).toMatchObject([
    { name: "rkat", version, source: "./plugins/claude-code" },
  ]);
  expect(files).toEqual(expect.arrayContaining([".claude-plugin", "plugins"]));
});
