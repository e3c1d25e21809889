import { expect, test } from "vitest";
import { factOf } from "./fact-of.ts";

const result = "Staging listens on port 4310, behind the proxy.";

test.each([
  ["memory_search", "not recorded"],
  ["search_project_history", "not recorded"],
  ["mcp__rkat__memory_search", "not recorded"],
  ["rkat.search_project_history", "not recorded"],
  ["update_task", "not recorded"],
  ["read_file", undefined],
  ["memory_search_settings", undefined],
])("a search of memory or logs is no fact, whatever a host calls it: %s", (name, dropped) => {
  const made = factOf({ name, args: {}, result, sessionId: "s", seq: 1, time: "2025-01-10" });
  expect("dropped" in made ? made.dropped : undefined).toBe(dropped);
});
