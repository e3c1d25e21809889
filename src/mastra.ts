/** rkat in the agents of Mastra. */

import { type HostMemoryOptions, hostMemory } from "./app/host-windows.ts";
import { group, HOST, prices, requireOptions } from "./core/options.ts";
import { type MastraProcessorOptions, mastraProcessor } from "./hosts/mastra-processor.ts";

export interface RkatProcessorOptions extends MastraProcessorOptions, Partial<HostMemoryOptions> {}

/**
 * A processor for Mastra's `Agent`: compaction of what the model is sent, a second try when the
 * provider calls that too long, and, with `stores`, a memory of everything that leaves it.
 *
 *     const rkat = rkatProcessor({ contextWindow: 200_000, stores });
 *     new Agent({ …, inputProcessors: [rkat], errorProcessors: [rkat], tools: { ...tools, ...rkat.tools } });
 *
 * The model of the agent writes the summaries, unless you pass `summarize`.
 *
 * @throws SessionError `INVALID_PARAMS`
 */
export function rkatProcessor(given: RkatProcessorOptions) {
  requireOptions("rkatProcessor", group({ ...HOST, prices }), given);
  const { stores, author, recallTokens, ...options } = given;
  const memory = stores && hostMemory("mastra", { stores, author, recallTokens });
  return mastraProcessor(options, memory);
}
