import { z } from "zod";
import type { KnowledgeEntry, NewKnowledge } from "../core/knowledge.ts";
import { shapeOfTags } from "./call-shape.ts";
import { hashOf } from "./hash-of.ts";
import { RULE_MAX } from "./knowledge-distiller.ts";
import { oneLine } from "./one-line.ts";

/** Sends a prompt to a model and returns its answer. */
export type AskModel = (prompt: string) => Promise<string>;

const EVIDENCE_MAX = 200;

const answer = z.array(z.object({ rule: z.string(), sources: z.array(z.string()).min(1) }));

/**
 * Asks a model to make the rules. It sees the user's words and the kinds of calls, but no tool
 * results. Each rule must name its sources.
 *
 * @throws Error when the answer has another form.
 */
export async function distillWithModel(
  evidence: readonly KnowledgeEntry[],
  maxRules: number,
  ask: AskModel,
): Promise<readonly NewKnowledge[]> {
  const shown = evidence.slice(0, EVIDENCE_MAX);
  const byId = new Map(shown.map((entry, index) => [`e${index + 1}`, entry]));
  const reply = await ask(promptFor(byId, maxRules));
  const found = answer.parse(JSON.parse(jsonIn(reply)));
  return found.slice(0, maxRules).flatMap(({ rule, sources }) => {
    const entries = sources.flatMap((name) => byId.get(name) ?? []);
    const content = oneLine(rule, RULE_MAX);
    return entries.length === 0 || content === "" ? [] : [ruleOf(content, entries)];
  });
}

function promptFor(byId: ReadonlyMap<string, KnowledgeEntry>, maxRules: number): string {
  const lines = [...byId].map(([name, entry]) =>
    JSON.stringify({
      name,
      said: entry.reason ?? (entry.kind === "preference" ? entry.content : null),
      ...(entry.tool === undefined
        ? {}
        : { refused_call: { tool: entry.tool, arguments: shapeOfTags(entry.tags) } }),
      times: entry.count,
      last: entry.lastTime.slice(0, 10),
    }),
  );
  return `Below is what the user of a project said to an agent, and which of its tool calls they refused, newest first, one JSON object per line. Write short rules for the agent to follow in later sessions. Merge statements that say the same. If two contradict each other, follow the newer one. Leave out what applied only once. Write at most ${maxRules} rules, each one sentence, in the user's language. Add nothing that the user did not say.

Answer with a JSON array and nothing else: [{"rule": "…", "sources": ["e1", "e4"]}]

${lines.join("\n")}`;
}

function jsonIn(reply: string): string {
  return reply.slice(reply.indexOf("["), reply.lastIndexOf("]") + 1);
}

function ruleOf(content: string, entries: readonly KnowledgeEntry[]): NewKnowledge {
  const sources = entries.map(({ id }) => id);
  const time =
    entries
      .map(({ lastTime }) => lastTime)
      .sort()
      .at(-1) ?? "";
  const id = `rule:${hashOf("model", ...[...sources].sort())}`;
  return {
    id,
    kind: "rule",
    content,
    tags: ["rule", "model"],
    origin: "distilled",
    time,
    count: entries.reduce((sum, entry) => sum + entry.count, 0),
    sources,
    keys: [hashOf("rule", id, time)],
  };
}
