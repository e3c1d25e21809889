import { expect, test } from "vitest";
import { openCommand } from "./session-source.ts";

test("a subagent of Claude Code has no command that opens it, and a fork has one", () => {
  const of = (nativeId: string, relation: "fork" | "subagent") =>
    openCommand({ agent: "claude-code", nativeId, parent: { id: "claude-code:0f3c", relation } });
  expect(of("0f3c.agent-1a2b", "subagent")).toBeUndefined();
  expect(of("1a2b", "fork")).toBe("claude --resume 1a2b");
});
