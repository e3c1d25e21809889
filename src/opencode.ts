/** rkat in opencode. */
import { AgentMemory, type AgentMemoryOptions } from "./app/agent-memory.ts";
import {
  type OpencodeHooks,
  type OpencodeInput,
  opencodePluginWith,
} from "./hosts/opencode-plugin.ts";

export type { AgentMemoryOptions } from "./app/agent-memory.ts";
export type {
  OpencodeHooks,
  OpencodeInput,
  OpencodeLog,
  OpencodePart,
} from "./hosts/opencode-plugin.ts";

/**
 * A plugin of opencode: rkat's prompt for summaries, what a summary lost below it, and a record of each
 * session in the project's memory. `rkat install opencode` writes a file with it, and sets up rkat's MCP
 * server for the memory tools:
 *
 *     export default rkatPlugin({ command: ["/usr/bin/node", "/usr/lib/node_modules/rkat/bin/rkat.js"] });
 *
 * @throws SessionError `INVALID_PARAMS`
 */
export function rkatPlugin(
  options: AgentMemoryOptions,
): (input: OpencodeInput) => Promise<OpencodeHooks> {
  const memory = new AgentMemory(options);
  return opencodePluginWith({
    recall: (prompt) => memory.recall({ agent: "opencode", ...prompt }),
    record: (folder, since) =>
      memory.import(["opencode", "--project", folder, "--since", since], folder),
    close: () => memory.close(),
  });
}
