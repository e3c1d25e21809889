import { callModel } from "../agent/call-model.ts";
import { DEFAULT_RETRY_POLICY } from "../agent/retry.ts";
import { SessionError } from "../core/errors.ts";
import type { KnowledgeEntry } from "../core/knowledge.ts";
import type { KnowledgeStore } from "../core/knowledge-store.ts";
import type { LanguageModel } from "../core/language-model.ts";
import type { MemoryStore } from "../core/memory-store.ts";
import * as requests from "../core/requests.ts";
import type { Distillation } from "../core/session-service.ts";
import type { AskModel } from "../knowledge/distill-with-model.ts";
import type { KnowledgeAddendum } from "../knowledge/knowledge-addendum.ts";
import { ProjectKnowledge } from "../knowledge/project-knowledge.ts";
import type { learningOf } from "./service-options.ts";

const LIST_LIMIT_DEFAULT = 50;
const ANSWER_TOKENS_MAX = 4096;
const ANSWER_TIMEOUT_MS = 120_000;

interface Parts {
  readonly memory: MemoryStore | undefined;
  /** What was learned here before. */
  readonly kept: KnowledgeStore | undefined;
  findModel(name: string): Promise<LanguageModel>;
  /** Resolves when what the log teaches has been recorded. */
  recorded(): Promise<void>;
  onError(error: unknown): void;
}

/** What a service does with what the project has learned. */
export class KnowledgeOperations {
  /** Left out where nothing is learned. */
  readonly project: ProjectKnowledge | undefined;
  /** What is forgotten goes from here. */
  readonly forgetful: ProjectKnowledge | undefined;
  readonly #parts: Parts;

  constructor(options: ReturnType<typeof learningOf>, parts: Parts) {
    this.#parts = parts;
    const { memory, findModel, kept } = parts;
    if (!options) {
      this.forgetful = kept && new ProjectKnowledge(kept, {}, { memory });
      return;
    }
    const { store, model, ...settings } = options;
    const ask = model === undefined ? undefined : askerOf(model, findModel);
    this.project = new ProjectKnowledge(store, settings, { memory, ask });
    this.forgetful = this.project;
  }

  async list(request: requests.ListKnowledge): Promise<readonly KnowledgeEntry[]> {
    const checked = requests.parseRequest(requests.listKnowledge, request);
    const { limit = LIST_LIMIT_DEFAULT, ...page } = checked;
    return await (await this.#current()).list({ limit, ...page });
  }

  async read(request: requests.KnowledgeRequest): Promise<KnowledgeEntry> {
    const { knowledgeId } = requests.parseRequest(requests.knowledgeRequest, request);
    return await (await this.#current()).read(knowledgeId);
  }

  async add(request: requests.AddKnowledge): Promise<KnowledgeEntry> {
    const checked = requests.parseRequest(requests.addKnowledge, request);
    return await (await this.#current()).add(checked);
  }

  async edit(request: requests.EditKnowledge): Promise<KnowledgeEntry> {
    const checked = requests.parseRequest(requests.editKnowledge, request);
    return await (await this.#current()).edit(checked);
  }

  async distill(request: requests.DistillKnowledge): Promise<Distillation> {
    requests.parseRequest(requests.distillKnowledge, request);
    return await (await this.#current()).distill();
  }

  /** What a new session is told; a store that fails keeps nobody from working. */
  async addendum(): Promise<KnowledgeAddendum | undefined> {
    try {
      return await (await this.#current()).addendum();
    } catch (error) {
      this.#parts.onError(error);
      return undefined;
    }
  }

  /** Notes that somebody made use of entries, which are then the last to go. */
  async used(work: (project: ProjectKnowledge) => Promise<void>): Promise<void> {
    if (this.project) await work(this.project).catch(this.#parts.onError);
  }

  /** @throws SessionError `SESSION_KNOWLEDGE_DISABLED` */
  async #current(): Promise<ProjectKnowledge> {
    if (!this.project) throw new SessionError("SESSION_KNOWLEDGE_DISABLED");
    await this.#parts.recorded();
    await this.project.settle();
    return this.project;
  }
}

function askerOf(model: LanguageModel | string, findModel: Parts["findModel"]): AskModel {
  return async (content) => {
    const found = typeof model === "string" ? await findModel(model) : model;
    const reply = await callModel(
      found,
      {
        messages: [{ role: "user", content }],
        tools: [],
        maxTokens: ANSWER_TOKENS_MAX,
        signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
      },
      { retry: DEFAULT_RETRY_POLICY },
    );
    const texts = reply.blocks.flatMap((block) =>
      block.block_type === "text" ? [block.data.text] : [],
    );
    return texts.join("\n");
  };
}
