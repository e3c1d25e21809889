import { basename, dirname, join, resolve } from "node:path";
import type { LanguageModel, ModelResolver } from "./core/language-model.ts";
import type { CompactionSettings, StartTurn } from "./core/requests.ts";
import type { SessionService, TurnOptions, TurnResult } from "./core/session-service.ts";
import type { Tool } from "./core/tool.ts";
import type { ApprovalOptions } from "./session/approval-desk.ts";
import { LocalSessionService } from "./session/local-session-service.ts";
import type { CompactionOptions } from "./session/service-options.ts";

/** Settings of one agent, where they differ from its factory. */
export interface AgentBuildConfig {
  /** `provider/model`, or a model. */
  readonly model: LanguageModel | string;
  /** Memory for this agent. Default: as the factory says. */
  readonly overrideMemory?: boolean;
  /** Compaction settings of this agent's session. */
  readonly compaction?: CompactionSettings;
  readonly systemPrompt?: string;
  readonly maxTokens?: number;
  readonly labels?: Readonly<Record<string, string>>;
  /** Continues this session instead of creating one. */
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
  readonly memory: boolean;
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
 *                                   built-in tools; otherwise `memory: false`, `knowledge: false`
 *       .compaction({ … })          compaction; on by default, `false` switches it off
 *       .approvals({ … })           approvals: which tool calls need approval, and who is asked
 *       .tools([…]) .models(…)      tools, models (default: aiSdkModels())
 *     await factory.buildAgent({ model, overrideMemory, compaction })
 *                                   createSession({ memory, compaction, … })
 *     await agent.run("…")          startTurn({ sessionId, prompt })
 *
 * Each setting returns a new factory. The old one stays unchanged.
 */
export class AgentFactory {
  readonly #storePath: string;
  readonly #settings: FactorySettings;

  constructor(storePath: string, settings: Partial<FactorySettings> = {}) {
    this.#storePath = storePath;
    this.#settings = { ...DEFAULTS, ...settings };
  }

  projectRoot(folder: string): AgentFactory {
    return this.#with({ projectRoot: folder });
  }

  builtins(enabled: boolean): AgentFactory {
    return this.#with({ builtins: enabled });
  }

  /** Whether agents have a memory. Default false. */
  memory(enabled: boolean): AgentFactory {
    return this.#with({ memory: enabled });
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

  /** Opens the store, and creates or finds the session. Close the agent when done. */
  async buildAgent(config: AgentBuildConfig): Promise<Agent> {
    const { sqliteStores } = await import("./sqlite.ts");
    const { builtins, compaction, tools, approvals, models } = this.#settings;
    const memory = config.overrideMemory ?? this.#settings.memory;
    const folder = this.#storeFolder();
    const stores = sqliteStores({ path: join(folder, "rkat.db") });
    const sessions = new LocalSessionService({
      persistent: true,
      model: config.model,
      models: models ?? lazyModels,
      stores,
      sessionFiles: join(folder, "sessions"),
      tools,
      approvals,
      builtinTools: builtins || memory,
      ...(memory ? {} : { memory: false, knowledge: false }),
      ...(compaction ? { compaction } : {}),
    });
    let closing: Promise<void> | undefined;
    const close = () => {
      closing ??= sessions.close().then(() => stores.close());
      return closing;
    };
    try {
      const sessionId = await openSession(sessions, config, memory);
      return {
        sessionId,
        sessions,
        run: (prompt, options) => sessions.startTurn({ sessionId, prompt }, options),
        close,
      };
    } catch (error) {
      await close();
      throw error;
    }
  }

  #with(settings: Partial<FactorySettings>): AgentFactory {
    return new AgentFactory(this.#storePath, { ...this.#settings, ...settings });
  }

  #storeFolder(): string {
    const path = resolve(this.#settings.projectRoot, this.#storePath);
    return basename(path) === "sessions" ? dirname(path) : path;
  }
}

async function openSession(
  sessions: SessionService,
  { sessionId, model: _, overrideMemory: __, ...request }: AgentBuildConfig,
  memory: boolean,
): Promise<string> {
  if (sessionId === undefined) {
    const { labels, ...rest } = request;
    const created = await sessions.createSession({
      ...rest,
      memory,
      ...(labels ? { labels: { ...labels } } : {}),
    });
    return created.sessionId;
  }
  await sessions.read({ sessionId });
  return sessionId;
}

const lazyModels: ModelResolver = async (name) => {
  const { aiSdkModels } = await import("./ai-sdk.ts");
  return await aiSdkModels()(name);
};
