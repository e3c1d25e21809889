import { callModel } from "../agent/call-model.ts";
import { DEFAULT_RETRY_POLICY } from "../agent/retry.ts";
import { SessionError } from "../core/errors.ts";
import type { KnowledgeEntry } from "../core/knowledge.ts";
import type { LanguageModel } from "../core/language-model.ts";
import * as requests from "../core/requests.ts";
import type { Distillation } from "../core/session-service.ts";
import type { AskModel } from "../knowledge/distill-with-model.ts";
import type { KnowledgeAddendum } from "../knowledge/knowledge-addendum.ts";
import type { ProjectKnowledge } from "../knowledge/project-knowledge.ts";
import type { TurnSettings } from "./turn-settings.ts";

const LIST_LIMIT_DEFAULT = 50;
const ANSWER_TOKENS_MAX = 4096;
const ANSWER_TIMEOUT_MS = 120_000;

/** The operations of a service on what the project has learned. */
export class KnowledgeOperations {
  readonly #project: ProjectKnowledge | undefined;
  readonly #projected: () => Promise<void>;
  readonly #onError: (error: unknown) => void;

  /** Without `project` the service does not learn, and each operation says so. */
  constructor(
    project: ProjectKnowledge | undefined,
    projected: () => Promise<void>,
    onError: (error: unknown) => void,
  ) {
    this.#project = project;
    this.#projected = projected;
    this.#onError = onError;
  }

  get isOn(): boolean {
    return this.#project !== undefined;
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

  /** What a new session is told. When the store fails, the session starts without it. */
  async addendum(): Promise<KnowledgeAddendum | undefined> {
    try {
      return await (await this.#current()).addendum();
    } catch (error) {
      this.#onError(error);
      return undefined;
    }
  }

  /** Notes that a session was told these rules. What was used is evicted last. */
  async rulesUsed(ids: readonly string[]): Promise<void> {
    await this.#project?.markRulesUsed(ids).catch(this.#onError);
  }

  /** @throws SessionError `SESSION_KNOWLEDGE_DISABLED` */
  async #current(): Promise<ProjectKnowledge> {
    if (!this.#project) throw new SessionError("SESSION_KNOWLEDGE_DISABLED");
    try {
      await this.#projected();
      await this.#project.settle();
    } catch (error) {
      // On a full disk, for example, it answers with what it has. Changes fail by themselves.
      this.#onError(error);
    }
    return this.#project;
  }
}

/** A way to ask a model for rules. `undefined` when no model is configured for that. */
export function askerOf(
  model: LanguageModel | string | undefined,
  settings: Pick<TurnSettings, "model">,
): AskModel | undefined {
  if (model === undefined) return undefined;
  return async (content) => {
    const found = typeof model === "string" ? await settings.model(model) : model;
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
