import { SessionError } from "../core/errors.ts";
import type { MemoryEntry, MemoryHit, MemoryStats, MemoryStore } from "../core/memory-store.ts";
import * as requests from "../core/requests.ts";
import type { MemoryForgotten } from "../core/session-service.ts";
import { withinTokens } from "../core/within-tokens.ts";
import { type ForgettingParts, forgetMemory } from "./forget-memory.ts";
import type { KnowledgeOperations } from "./knowledge-operations.ts";

const LIST_LIMIT_DEFAULT = 20;
const SEARCH_LIMIT_DEFAULT = 10;

interface Parts extends Omit<ForgettingParts, "knowledge"> {
  readonly knowledge: KnowledgeOperations;
  /** Whether memory is searched, not only kept. */
  readonly isSearchable: boolean;
  readonly memoryResults: number | undefined;
}

/** What a service does with memory, and how it forgets. */
export class MemoryOperations {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async search(request: requests.SearchMemory): Promise<readonly MemoryHit[]> {
    const { maxTokens, ...query } = requests.parseRequest(requests.searchMemory, request);
    const memory = await this.#memory();
    const { isSearchable, memoryResults, knowledge } = this.#parts;
    if (!isSearchable) {
      throw new SessionError("SESSION_MEMORY_DISABLED", {
        detail: "Memory is kept, and not searched.",
        hint: "Leave `searchableMemory` out; for a command, set enabled = true under [search].",
      });
    }
    const hits = await memory.search({ limit: memoryResults ?? SEARCH_LIMIT_DEFAULT, ...query });
    await knowledge.found(hits);
    return maxTokens === undefined ? hits : withinTokens(hits, maxTokens);
  }

  async list(request: requests.ListMemory): Promise<readonly MemoryEntry[]> {
    const page = requests.parseRequest(requests.listMemory, request);
    const memory = await this.#memory();
    return await memory.list({ limit: LIST_LIMIT_DEFAULT, ...page });
  }

  async stats(request: requests.MemoryStatsRequest): Promise<MemoryStats> {
    const { sessionId } = requests.parseRequest(requests.memoryStats, request);
    const memory = await this.#memory();
    return await memory.stats(sessionId === undefined ? undefined : { sessionId });
  }

  async forget(request: requests.ForgetMemory): Promise<MemoryForgotten> {
    const { ids, sessionId = "" } = requests.parseRequest(requests.forgetMemory, request);
    await this.#memory();
    return await forgetMemory(ids ? { ids } : { sessionId }, this.#forgetting);
  }

  async forgetKnowledge(request: requests.KnowledgeRequest): Promise<void> {
    const { id } = await this.#parts.knowledge.read(request);
    await forgetMemory({ ids: [id] }, this.#forgetting);
  }

  get #forgetting(): ForgettingParts {
    return { ...this.#parts, knowledge: this.#parts.knowledge.forgetful };
  }

  /** The memory, with all that the log has for it. */
  async #memory(): Promise<MemoryStore> {
    const { memory, projected } = this.#parts;
    if (!memory) throw new SessionError("SESSION_MEMORY_DISABLED");
    await projected();
    return memory;
  }
}
