import type { Embedder } from "../../core/embedder.ts";
import type { MemoryStats } from "../../core/memory-store.ts";
import { embedQueries } from "./embed-queries.ts";
import type { EmbeddedSearch } from "./search-vectors.ts";
import { VectorQueue, type VectorQueueStatus, type VectorWork } from "./vector-queue.ts";

/** A process that searches once and ends starts no work in the background. */
const FIRST_LOOK_MS = 1000;
const QUERY_TIMEOUT_MS = 3000;
/** After a question could not be embedded, searches use words alone for so long. */
const PAUSE_MS = 10_000;

/** What a memory store does with a trained embedder: it embeds questions at once, and passages in the background. */
export class EmbeddedMemory {
  readonly #embedder: Embedder;
  readonly #queue: VectorQueue;
  #firstLook: NodeJS.Timeout | undefined;
  #failed: { readonly problem: string; readonly until: number } | undefined;

  constructor(work: VectorWork, embedder: Embedder) {
    this.#embedder = embedder;
    this.#queue = new VectorQueue(work, { embedder });
  }

  /** Says that passages were added. */
  wake(): void {
    this.#queue.wake();
  }

  async embed(texts: readonly string[]): Promise<EmbeddedSearch> {
    this.#firstLook ??= setTimeout(() => this.#queue.wake(), FIRST_LOOK_MS).unref();
    const embedder = this.#embedder.id;
    const failed = this.#failed;
    if (failed && performance.now() < failed.until) return { problem: failed.problem, embedder };
    const embedded = await embedQueries(this.#embedder, texts, QUERY_TIMEOUT_MS);
    this.#failed =
      "problem" in embedded
        ? { problem: embedded.problem, until: performance.now() + PAUSE_MS }
        : undefined;
    return { ...embedded, embedder };
  }

  async stats(): Promise<NonNullable<MemoryStats["vectors"]>> {
    const { embedded, pending } = await this.#queue.status();
    return { embedder: this.#embedder.id, embedded, pending };
  }

  /** Resolves when every passage has its vector, or the rest keep failing. */
  done(): Promise<VectorQueueStatus> {
    return this.#queue.done();
  }

  async close(): Promise<void> {
    clearTimeout(this.#firstLook);
    await this.#queue.close();
  }
}
