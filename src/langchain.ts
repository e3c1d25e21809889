/** rkat in the agents of LangChain. */
import { type HostMemoryOptions, hostMemory } from "./host-memory.ts";
import {
  type LangChainMiddlewareOptions,
  langChainMiddleware,
} from "./hosts/langchain-middleware.ts";

export interface RkatMiddlewareOptions
  extends Omit<LangChainMiddlewareOptions, "memory">,
    Partial<HostMemoryOptions> {}

/**
 * Middleware for `createAgent`: compaction, a second try when the model's provider calls the history
 * too long, and, with `stores`, a memory of everything that leaves the history.
 *
 *     const agent = createAgent({ model, tools, middleware: [rkatMiddleware({ contextWindow: 200_000 })] });
 *
 * The model of the agent writes the summaries, unless you pass `summarize`.
 *
 * @throws SessionError `INVALID_PARAMS`
 */
export function rkatMiddleware({ stores, author, ...options }: RkatMiddlewareOptions) {
  const memory = stores && hostMemory("langchain", { stores, ...(author ? { author } : {}) });
  return langChainMiddleware({ ...options, ...(memory ? { memory } : {}) });
}
