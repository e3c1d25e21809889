import type { DurableEvent, SessionSettings } from "../core/event.ts";
import type { Message } from "../core/message.ts";
import type { KnowledgeAddendum } from "../knowledge/knowledge-addendum.ts";
import { MEMORY_RETRIEVAL_SKILL } from "../tools/memory-retrieval-skill.ts";

/**
 * The first events of a session: its settings, its system prompt, and the history that it begins with.
 *
 * The system prompt never changes afterwards. What the project learns later is for later sessions.
 */
export function openingEvents(session: {
  readonly id: string;
  readonly settings: SessionSettings;
  readonly systemPrompt: string | undefined;
  /** Whether the model can search memory. The prompt then tells it how. */
  readonly searchesMemory: boolean;
  /** The learned rules. */
  readonly knowledge: KnowledgeAddendum | undefined;
  readonly messages: readonly Message[];
}): DurableEvent[] {
  const { id, settings, systemPrompt, searchesMemory, knowledge, messages } = session;
  const skill = searchesMemory ? MEMORY_RETRIEVAL_SKILL : undefined;
  const prompt = [systemPrompt, skill?.text, knowledge?.text].filter(Boolean).join("\n\n");
  const system: Message[] = prompt === "" ? [] : [{ role: "system", content: prompt }];
  return [
    { type: "session_created", session_id: id, settings },
    ...(skill ? [skillsResolved(skill)] : []),
    ...(knowledge ? [knowledgeApplied(knowledge)] : []),
    ...[...system, ...messages].map((message) => ({ type: "message_added", message }) as const),
  ];
}

function skillsResolved({
  id,
  text,
}: {
  readonly id: string;
  readonly text: string;
}): DurableEvent {
  return { type: "skills_resolved", skills: [id], injection_bytes: Buffer.byteLength(text) };
}

function knowledgeApplied({ text, rules }: KnowledgeAddendum): DurableEvent {
  return { type: "knowledge_applied", rules, injection_bytes: Buffer.byteLength(text) };
}
