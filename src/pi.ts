/** rkat in pi. */
import { readFile } from "node:fs/promises";
import { AgentMemory, type AgentMemoryOptions } from "./app/agent-memory.ts";
import type { PiApi } from "./hosts/pi-api.ts";
import { piExtensionWith } from "./hosts/pi-extension.ts";

export type { AgentMemoryOptions } from "./app/agent-memory.ts";
export type { PiApi, PiEvent } from "./hosts/pi-api.ts";

/**
 * An extension of pi: rkat's summary in the place of pi's, memory as tools, and a record of each session
 * in the project's memory. `rkat install pi` writes a file with it:
 *
 *     export default rkatExtension({ command: ["/usr/bin/node", "/usr/lib/node_modules/rkat/bin/rkat.js"] });
 *
 * @throws SessionError `INVALID_PARAMS`
 */
export function rkatExtension(options: AgentMemoryOptions): (pi: PiApi) => void {
  const memory = new AgentMemory(options);
  return piExtensionWith({
    tools: (folder) => memory.tools(folder),
    recall: (prompt) => memory.recall({ agent: "pi", ...prompt }),
    read: (file) => readFile(file, "utf8").catch(() => ""),
    record: (file, folder) => memory.import(["pi", file], folder),
    close: () => memory.close(),
  });
}
