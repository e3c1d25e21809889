import { errorText, SessionError } from "../core/errors.ts";
import { isUsersWord } from "../core/event.ts";
import { newId } from "../core/ids.ts";
import type { KnowledgeEntry, KnowledgeKind, NewKnowledge } from "../core/knowledge.ts";
import { asItWas } from "../core/knowledge.ts";
import type { KnowledgeLimits, KnowledgePage, KnowledgeStore } from "../core/knowledge-store.ts";
import {
  EARLIER_MAX,
  type KeptBeside,
  type MemoryEntry,
  type MemoryStore,
  NO_SESSION,
} from "../core/memory-store.ts";
import type { AddKnowledge, Distillation, EditKnowledge } from "../core/operations/knowledge.ts";
import { redactSecrets } from "../secrets/redact-secrets.ts";
import { hashOf } from "./hash-of.ts";
import {
  type KnowledgeAddendum,
  knowledgeAddendum,
  rankRules,
  withGrounds,
} from "./knowledge-addendum.ts";
import {
  type AskModel,
  distillWithModel,
  type Evidence,
  KnowledgeDistiller,
  latestFirst,
} from "./knowledge-distiller.ts";
import { statementKey } from "./learned-entries.ts";

export interface KnowledgeSettings {
  /** Limit of facts. Default 10 000. */
  readonly maxFacts?: number;
  /** Limit of corrections, and of preferences. Default 1 000. */
  readonly maxCorrections?: number;
  /** Rules in a system prompt, at most. Default 20. */
  readonly maxRules?: number;
  /** Corrections and preferences needed before rules are made. Default 1. */
  readonly minEntries?: number;
  /** The entry evicted at the limit: the oldest (default), or the oldest that was never used. Never a pinned one. */
  readonly eviction?: "fifo" | "spare_used";
}

const PAGE = 500;
const ALL = Number.MAX_SAFE_INTEGER;

interface ProjectParts {
  readonly memory?: MemoryStore | undefined;
  readonly ask?: AskModel | undefined;
  /** The project of a user's knowledge. What was added to it by hand is for all users. */
  readonly shared?: ProjectKnowledge | undefined;
}

/** The knowledge of a project, or of one user of it. Every change also reaches the memory and the rules. */
export class ProjectKnowledge {
  readonly store: KnowledgeStore;
  readonly limits: KnowledgeLimits;
  readonly #memory: MemoryStore | undefined;
  readonly #settings: KnowledgeSettings;
  readonly #rules: { readonly maxRules: number; readonly minEntries: number };
  readonly #distiller: KnowledgeDistiller;
  readonly #ask: AskModel | undefined;
  readonly #shared: ProjectKnowledge | undefined;

  constructor(
    store: KnowledgeStore,
    settings: KnowledgeSettings,
    { memory, ask, shared }: ProjectParts,
  ) {
    const { maxFacts = 10_000, maxCorrections = 1_000, maxRules = 20, minEntries = 1 } = settings;
    this.store = store;
    this.#settings = settings;
    this.#memory = memory;
    this.#ask = ask;
    this.#shared = shared;
    this.#rules = { maxRules, minEntries };
    this.#distiller = new KnowledgeDistiller(this.#rules);
    this.limits = {
      max: {
        fact: maxFacts,
        correction: maxCorrections,
        preference: maxCorrections,
        // The distiller has its own limit.
        rule: ALL,
      },
      eviction: settings.eviction ?? "fifo",
    };
  }

  async list(page: KnowledgePage): Promise<readonly KnowledgeEntry[]> {
    return await this.#shown(await this.store.list(page));
  }

  /**
   * Puts the knowledge of a time, in Unix milliseconds, into stores that are empty. Rules are made again, without a
   * model, from it.
   */
  async asOf(
    ms: number,
    into: { readonly store: KnowledgeStore; readonly memory: MemoryStore },
  ): Promise<ProjectKnowledge> {
    const copy = await this.store.copy();
    const entries = copy.entries.flatMap(({ entry, keys }) => {
      const then = asItWas(entry, ms);
      return then ? [{ entry: then, keys }] : [];
    });
    await into.store.restore({ ...copy, entries });
    const known = new ProjectKnowledge(into.store, this.#settings, { memory: into.memory });
    await known.settle();
    return known;
  }

  all(): Promise<readonly KnowledgeEntry[]> {
    return this.store.list({ limit: ALL });
  }

  /** @throws SessionError `KNOWLEDGE_NOT_FOUND` */
  async read(id: string): Promise<KnowledgeEntry> {
    const [entry] = await this.#shown(await this.store.read([id]));
    if (!entry) throw notFound(id);
    return entry;
  }

  /** Entries with what they rest on, and the newer statements that hold in their place. */
  async #shown(entries: readonly KnowledgeEntry[]): Promise<readonly KnowledgeEntry[]> {
    const grounded = await withGrounds(entries, this.store);
    if (!entries.some(({ kind }) => kind === "correction" || kind === "preference"))
      return grounded;
    const { contradictions } = this.#distiller.distill(await this.#evidence());
    const newer = new Map(contradictions.map(({ kept, dropped }) => [dropped.id, kept.id]));
    return grounded.map((entry) => {
      const replacedBy = newer.get(entry.id);
      return replacedBy === undefined ? entry : { ...entry, replacedBy };
    });
  }

  async add({
    content,
    kind = "preference",
    tags,
    pinned,
    origin,
  }: AddKnowledge): Promise<KnowledgeEntry> {
    const text = redactSecrets(content).trim();
    const isUsers = isUsersWord(origin);
    const key = statementKey(kind, text);
    const entry: NewKnowledge = {
      id: `${kind}:${newId()}`,
      kind,
      content: text,
      tags: tags ?? [kind],
      origin: isUsers ? "added" : "model",
      time: new Date().toISOString(),
      // A model's entry is never merged with the user's.
      keys: [isUsers ? key : hashOf("model", key)],
      ...(pinned === undefined ? {} : { pinned }),
    };
    const [added] = await this.store.add([entry], this.limits);
    if (!added) {
      throw new SessionError("NOT_POSSIBLE", {
        message: `All ${this.limits.max[kind]} entries of this kind are pinned${isUsers ? "" : ", or are the user's own words"}.`,
        hint: "Unpin or forget some.",
      });
    }
    await this.settle();
    return await this.read(added.id);
  }

  /** @throws SessionError `KNOWLEDGE_NOT_FOUND`, or `NOT_POSSIBLE` when a model changes the user's words. */
  async edit({
    knowledgeId,
    content,
    tags,
    pinned,
    origin,
  }: EditKnowledge): Promise<KnowledgeEntry> {
    const before = await this.read(knowledgeId);
    const isChanged = content !== undefined || tags !== undefined;
    if (isChanged && !isUsersWord(origin) && before.origin !== "model") throw notYours(before);
    const text = content === undefined ? undefined : redactSecrets(content).trim();
    const { kind, earlier = [] } = before;
    const said = { id: before.id, content: before.content, until: new Date().toISOString() };
    const isText = text !== undefined && text !== before.content;
    const edited = await this.store.edit(knowledgeId, {
      ...(text === undefined ? {} : { content: text }),
      ...(isText ? { earlier: [...earlier, said].slice(-EARLIER_MAX) } : {}),
      ...(text === undefined || kind === "correction" ? {} : { keys: [statementKey(kind, text)] }),
      ...(tags === undefined ? {} : { tags }),
      ...(pinned === undefined ? {} : { pinned }),
    });
    if (!edited) throw notFound(knowledgeId);
    await this.settle();
    return await this.read(knowledgeId);
  }

  /** Notes which statements an entry does not contradict. Rules and memory follow. */
  async keep(id: string, keeps: readonly KeptBeside[]): Promise<void> {
    await this.store.edit(id, { keeps });
    await this.settle();
  }

  /** Forgets entries, and remakes the rules that were made from them. */
  async forget(ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.store.forget(ids);
    await this.settle();
  }

  async deleteSession(sessionId: string): Promise<void> {
    await this.store.deleteSession(sessionId);
    await this.#tellMemory();
  }

  markUsed(ids: readonly string[]): Promise<void> {
    return this.store.markUsed(ids, new Date().toISOString());
  }

  /** Brings rules and memory up to date after a change, also after one of another process. */
  async settle(): Promise<void> {
    const { current, distilled } = await this.store.revision();
    if (current !== distilled) await this.#distill();
    await this.#tellMemory();
  }

  /** Makes new rules in the place of the old ones, with the model if there is one. */
  async distill(): Promise<Distillation> {
    const madeBy = await this.#distill({ byModel: true });
    await this.#tellMemory();
    const evidence = await this.#evidence();
    const { contradictions } = this.#distiller.distill({ ...evidence, rules: [] });
    const rules = await withGrounds(rankRules(evidence.rules), this.store);
    return { rules, contradictions, addendum: (await this.addendum())?.text ?? "", madeBy };
  }

  /** The rules for the system prompt of a new session. */
  async addendum(): Promise<KnowledgeAddendum | undefined> {
    const own = await this.store.list({ kind: "rule", limit: ALL });
    const rules = [...own, ...((await this.#shared?.addedRules()) ?? [])];
    return knowledgeAddendum(rules.filter(mayRule), this.#rules.maxRules);
  }

  /** Valid rules that were added by hand. They contain no words of a session. */
  async addedRules(): Promise<readonly KnowledgeEntry[]> {
    const { preferences, rules } = await this.#evidence();
    const isAdded = ({ origin }: KnowledgeEntry) => origin === "added";
    const added = {
      corrections: [],
      preferences: preferences.filter(isAdded),
      rules: rules.filter(isAdded),
    };
    const { contradictions } = this.#distiller.distill(added);
    const dropped = new Set(contradictions.map((each) => each.dropped.id));
    return [...added.rules, ...added.preferences].filter(({ id }) => !dropped.has(id));
  }

  /** Marks rules and their sources as used. */
  async markRulesUsed(ids: readonly string[]): Promise<void> {
    const rules = await this.store.read(ids);
    await this.markUsed([...ids, ...rules.flatMap(({ sources = [] }) => sources)]);
  }

  async #distill({ byModel = false } = {}): Promise<Distillation["madeBy"]> {
    for (;;) {
      const { current } = await this.store.revision();
      const evidence = await this.#evidence();
      const made = byModel ? await this.#byModel(evidence) : undefined;
      const kept = byModel ? withoutModel(evidence) : evidence;
      const rules = made ?? this.#distiller.distill(kept).rules;
      // Refused when the evidence has changed meanwhile: then try again with the new one.
      if (await this.store.saveRules(current, rules)) return made ? "model" : "grouping";
    }
  }

  async #byModel(evidence: Evidence): Promise<readonly NewKnowledge[] | undefined> {
    const heard = [...evidence.corrections, ...evidence.preferences];
    if (!this.#ask || heard.length < Math.max(1, this.#rules.minEntries)) return undefined;
    try {
      return await distillWithModel(heard.sort(latestFirst), this.#rules.maxRules, this.#ask);
    } catch (error) {
      if (SessionError.is(error)) throw error;
      const detail = `The model made no rules: ${errorText(error)}`;
      throw new SessionError("PROVIDER_ERROR", { detail, cause: error });
    }
  }

  async #evidence(): Promise<Evidence> {
    const all = async (kind: KnowledgeKind) =>
      (await this.store.list({ kind, limit: ALL })).filter(mayRule);
    const [corrections, preferences, rules] = await Promise.all([
      all("correction"),
      all("preference"),
      all("rule"),
    ]);
    return { corrections, preferences, rules };
  }

  async #tellMemory(): Promise<void> {
    for (;;) {
      const unheard = await this.store.unheard(PAGE);
      const { changed, gone } = unheard;
      if (changed.length + gone.length === 0) return;
      if (this.#memory) {
        // Memory keeps the first text of an id, so the old one is deleted first.
        await this.#memory.delete({ ids: [...gone, ...changed.map(({ entry }) => entry.id)] });
        await this.#memory.add(changed.map(({ entry }) => memoryEntry(entry)));
      }
      await this.store.heard(unheard);
    }
  }
}

/** Whether the user's own word is behind an entry, so that rules may rest on it. */
function mayRule({ origin }: KnowledgeEntry): boolean {
  return origin !== "model" && origin !== "imported";
}

function withoutModel(evidence: Evidence): Evidence {
  return { ...evidence, rules: evidence.rules.filter(({ origin }) => origin === "added") };
}

/** A fact belongs to its session and is deleted with it. What the user taught belongs to the project. */
function memoryEntry({
  id,
  kind,
  content,
  sessionId,
  source,
  lastTime,
  tool,
  origin,
  keeps,
}: KnowledgeEntry): MemoryEntry {
  const isFact = kind === "fact" && sessionId !== undefined;
  return {
    id,
    kind,
    content,
    sessionId: isFact ? sessionId : NO_SESSION.learned,
    turn: null,
    time: lastTime,
    role: origin === "model" ? "assistant" : kind === "fact" ? "tool" : "user",
    ...(tool === undefined ? {} : { speaker: tool }),
    ...(isFact && source ? { source } : {}),
    ...(keeps ? { keeps } : {}),
  };
}

function notYours({ id, kind }: KnowledgeEntry): SessionError {
  return new SessionError("NOT_POSSIBLE", {
    message: `Only the user may change this ${kind}: it rests on what the user said.`,
    hint: `Ask the user to run: rkat knowledge edit ${id} "the new text"`,
  });
}

function notFound(id: string): SessionError {
  return new SessionError("KNOWLEDGE_NOT_FOUND", {
    message: `No knowledge entry has the id "${id}".`,
  });
}
