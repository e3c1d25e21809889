import assert from "node:assert/strict";
import type { KnowledgeOperations } from "../core/operations/knowledge.ts";
import type { KnowledgeAddendum } from "../knowledge/knowledge-addendum.ts";
import type { ProjectKnowledge } from "../knowledge/project-knowledge.ts";
import { timeSpan } from "../text/time/calendar.ts";
import type { Part, ServiceCore } from "./service-core.ts";

const LIST_LIMIT_DEFAULT = 50;

/** Forgetting is a matter of the logs: see `logOperations`. */
type Operations = Part<Exclude<keyof KnowledgeOperations, "forgetKnowledge">>;

/** The project's statements that new sessions are told. */
export interface ToldRules {
  /** When the store fails, the session starts without it. */
  addendum(): Promise<KnowledgeAddendum | undefined>;
  /** Notes that a session was told these rules. What was used is evicted last. */
  rulesUsed(ids: readonly string[]): Promise<void>;
}

/** Reads and changes what the project has learned. */
export function knowledgeOperations({
  project,
  projected,
  wait,
  outages,
}: Pick<ServiceCore, "project" | "projected" | "wait" | "outages">): Operations & ToldRules {
  // The keys by which outages are told apart.
  const telling = {};
  const noting = {};

  async function current(): Promise<ProjectKnowledge> {
    assert(project);
    // On a full disk, for example, it answers with what it has. Changes fail by themselves.
    await outages.attempt(project, async () => {
      await projected();
      await project.settle();
    });
    return project;
  }

  /** Soon, with what is there. */
  async function soon(): Promise<ProjectKnowledge> {
    assert(project);
    if (await wait.isDone()) await outages.attempt(project, () => project.settle());
    return project;
  }

  return {
    listKnowledge: async ({ limit = LIST_LIMIT_DEFAULT, asOf, ...page }) => {
      const now = await soon();
      if (asOf === undefined) return await now.list({ limit, ...page });
      const { knowledgeAsOf } = await import("./memory-as-of.ts");
      const then = await knowledgeAsOf(timeSpan({ until: asOf }).until, now);
      return await then.list({ limit, ...page });
    },
    readKnowledge: async ({ knowledgeId }) => await (await soon()).read(knowledgeId),
    addKnowledge: async (request) => await (await current()).add(request),
    editKnowledge: async (request) => await (await current()).edit(request),
    distillKnowledge: async () => await (await current()).distill(),
    addendum: () =>
      outages.attempt(telling, async () => {
        // A new session does not wait long for what others said a moment ago.
        return project && (await (await soon()).addendum());
      }),
    rulesUsed: (ids) => outages.attempt(noting, async () => await project?.markRulesUsed(ids)),
  };
}
