import { basename, dirname, join, resolve } from "node:path";
import { SessionError } from "../core/errors.ts";
import { given } from "../core/fields.ts";
import type { LanguageModel, ModelResolver } from "../core/language-model.ts";
import type { MemoryStore } from "../core/memory-store.ts";
import { parseRequest } from "../core/operations/operation.ts";
import type { CompactionSettings } from "../core/operations/request-fields.ts";
import { createSession } from "../core/operations/sessions.ts";
import type { StartTurn, TurnOptions, TurnResult } from "../core/operations/turns.ts";
import { requireArgument, text } from "../core/options.ts";
import type { SessionService } from "../core/session-service.ts";
import type { Tool } from "../core/tool.ts";
import type { ApprovalOptions } from "../session/approval-desk.ts";
import { openService } from "../session/open-service.ts";
import type { CompactionOptions } from "../session/service-options.ts";

/** Settings of one agent, where they differ from its factory. */
export interface AgentBuildConfig {
  /** `provider/model`, or a model. */
  readonly model: LanguageModel | string;
  /** Memory for this agent: on, off, or a store of its own. Default: as the factory says. */
  readonly overrideMemory?: boolean | MemoryStore;
  /** Compaction settings of this agent's turns. */
  readonly compaction?: CompactionSettings;
  readonly systemPrompt?: string;
  readonly maxTokens?: number;
  readonly labels?: Readonly<Record<string, string>>;
  /**
   * Continues this session instead of creating one. Its system prompt, labels and memory were set
   * when it was created: others are refused.
   */
  readonly sessionId?: string;
}

/** One session, ready for its next turn. */
export interface Agent {
  readonly sessionId: string;
  /** The service, for everything else. */
  readonly sessions: SessionService;
  /** Runs a turn to its end. */
  run(prompt: StartTurn["prompt"], options?: TurnOptions): Promise<TurnResult>;
  /** Interrupts a running turn and closes the store. */
  close(): Promise<void>;
}

interface FactorySettings {
  readonly projectRoot: string;
  readonly builtins: boolean;
  readonly memory: boolean | MemoryStore;
  readonly compaction: CompactionOptions | false;
  readonly tools: readonly Tool[];
  readonly approvals: ApprovalOptions;
  readonly models?: ModelResolver;
}

const DEFAULTS: FactorySettings = {
  projectRoot: ".",
  builtins: false,
  memory: false,
  compaction: {},
  tools: [],
  approvals: {},
};

/**
 * Builds agents as the specification does. Each call stands for options of `createSessionService`,
 * `createSession` and `startTurn`:
 *
 *     new AgentFactory(storePath)   sqliteStores({ path }), `<store>/rkat.db`; of `.rkat/sessions`,
 *                                   the store is `.rkat`, and the sessions are shown there as files
 *       .projectRoot(".")           what a relative store path is relative to
 *       .builtins(true)             builtinTools; off unless memory is on
 *       .memory(true)               memory and knowledge of the stores, and memory_search with the
 *                                   built-in tools; otherwise `memory: false`, `knowledge: false`.
 *                                   A memory store of your own is used instead. Closing it is yours.
 *       .compaction({ … })          compaction; on by default, `false` switches it off
 *       .approvals({ … })           approvals: which tool calls need approval, and who is asked
 *       .tools([…]) .models(…)      tools, models (default: aiSdkModels())
 *     await factory.buildAgent({ model, overrideMemory, compaction })
 *                                   createSession({ memory, compaction, … })
 *     await agent.run("…")          startTurn({ sessionId, prompt, model, compaction, maxTokens })
 *
 * Each setting returns a new factory. The old one stays unchanged.
 */
export class AgentFactory {
  readonly #storePath: string;
  #settings = DEFAULTS;

  /** @throws SessionError `INVALID_PARAMS` */
  constructor(storePath: string) {
    requireArgument("the store's path of AgentFactory", text, storePath);
    this.#storePath = storePath;
  }

  projectRoot(folder: string): AgentFactory {
    return this.#with({ projectRoot: folder });
  }

  builtins(enabled: boolean): AgentFactory {
    return this.#with({ builtins: enabled });
  }

  /** Whether agents have a memory, or the store that they share. Default false. */
  memory(memory: boolean | MemoryStore): AgentFactory {
    return this.#with({ memory });
  }

  compaction(options: CompactionOptions | false): AgentFactory {
    return this.#with({ compaction: options });
  }

  tools(tools: readonly Tool[]): AgentFactory {
    return this.#with({ tools });
  }

  approvals(options: ApprovalOptions): AgentFactory {
    return this.#with({ approvals: options });
  }

  models(models: ModelResolver): AgentFactory {
    return this.#with({ models });
  }

  /**
   * Opens the store, and creates or finds the session. Close the agent when done.
   *
   * @throws SessionError `INVALID_PARAMS` when an existing session cannot take what is asked for.
   */
  async buildAgent(config: AgentBuildConfig): Promise<Agent> {
    const { sqliteStores } = await import("../stores/sqlite/sqlite-stores.ts");
    const { builtins, compaction, tools, approvals, models } = this.#settings;
    const { model, maxTokens } = config;
    const memory = memoryFor(config, this.#settings);
    const folder = this.#storeFolder();
    const stores = sqliteStores({ path: join(folder, "rkat.db") });
    let closing: Promise<void> | undefined;
    let close = () => stores.close();
    try {
      const { service: sessions } = openService({
        persistent: true,
        model,
        models: models ?? lazyModels,
        stores,
        sessionFiles: join(folder, "sessions"),
        tools,
        approvals,
        builtinTools: builtins || memory !== false,
        ...(memory === false ? { knowledge: false } : {}),
        ...(memory === true ? {} : { memory }),
        ...(compaction ? { compaction } : {}),
      });
      close = () => {
        closing ??= sessions.close().then(() => stores.close());
        return closing;
      };
      const sessionId = await openSession(sessions, config, memory !== false);
      const settings = given({
        model: typeof model === "string" ? model : model.id,
        compaction: config.compaction,
        maxTokens,
      });
      return {
        sessionId,
        sessions,
        run: (prompt, options) => sessions.startTurn({ sessionId, prompt, ...settings }, options),
        close,
      };
    } catch (error) {
      await close();
      throw error;
    }
  }

  #with(settings: Partial<FactorySettings>): AgentFactory {
    const factory = new AgentFactory(this.#storePath);
    factory.#settings = { ...this.#settings, ...settings };
    return factory;
  }

  #storeFolder(): string {
    const path = resolve(this.#settings.projectRoot, this.#storePath);
    return basename(path) === "sessions" ? dirname(path) : path;
  }
}

/** The memory of an agent: on, off, or a store. */
function memoryFor(
  { overrideMemory }: AgentBuildConfig,
  { memory }: FactorySettings,
): boolean | MemoryStore {
  if (overrideMemory === undefined) return memory;
  // A switch does not say which store: the factory does.
  return overrideMemory === true && memory !== false ? memory : overrideMemory;
}

async function openSession(
  sessions: SessionService,
  { sessionId, model: _, overrideMemory, labels, ...rest }: AgentBuildConfig,
  memory: boolean,
): Promise<string> {
  const asked = { ...rest, ...(labels ? { labels: { ...labels } } : {}) };
  if (sessionId === undefined) {
    return (await sessions.createSession({ ...asked, memory })).sessionId;
  }
  const { compaction, systemPrompt } = parseRequest(createSession, asked);
  if (compaction && !(await sessions.capabilities()).includes("session-compaction")) {
    throw new SessionError("SESSION_COMPACTION_DISABLED");
  }
  const session = await sessions.read({ sessionId });
  const [first] = session.history;
  const prompt = first?.message.role === "system" ? first.message.content : "";
  const refused = [
    ...(systemPrompt === undefined || prompt.startsWith(systemPrompt) ? [] : ["systemPrompt"]),
    ...(labels === undefined || isSame(labels, session.labels) ? [] : ["labels"]),
    ...(overrideMemory === undefined || memory === (await hasMemory(sessions, sessionId))
      ? []
      : ["overrideMemory"]),
  ];
  if (refused.length === 0) return sessionId;
  throw new SessionError("INVALID_PARAMS", {
    message: `The session "${sessionId}" exists already, with another ${refused.join(", ")}.`,
    hint: `Leave ${refused.length === 1 ? "it" : "them"} out, or create a session. These are set when a session is created.`,
  });
}

/** Whether a session was created with memory, as the first event of its log says. */
async function hasMemory(sessions: SessionService, sessionId: string): Promise<boolean> {
  for await (const { payload } of sessions.subscribe({ sessionId, afterSeq: 0 })) {
    return payload.type === "session_created" && payload.settings.memory;
  }
  return false;
}

function isSame(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}

const lazyModels: ModelResolver = async (name) => {
  const { aiSdkModels } = await import("../models/ai-sdk-models.ts");
  return await aiSdkModels()(name);
};
