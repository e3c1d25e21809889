import type { AgentRun, Question } from "./agent-run.ts";

type Json = Readonly<Record<string, unknown>>;

/** One request for a step of a run. */
export interface StepRequest {
  readonly body: Json;
  /** The turn that it belongs to. */
  readonly turn: number;
  /** Summaries that were paid for before it. */
  readonly summaries: number;
}

/** What a loop did in a run, whichever protocol it speaks. */
export const PROMISES = {
  callParted: "a call without its result, or a result without its call",
  reasoningParted: "reasoning parted from its call",
  lastUserLost: "the last user message lost or changed",
  standingLost: "the standing instruction lost",
  rewritten:
    "sent otherwise than before, without a compaction, and not to make room for a prompt's records",
} as const;

export type Violation = keyof typeof PROMISES;

/** Which promises the requests of a run break. */
export function violationsIn(
  run: AgentRun,
  requests: readonly StepRequest[],
): ReadonlySet<Violation> {
  const broken = new Set<Violation>();
  const reasoned = new Set(
    run.turns.flatMap(({ steps }) =>
      steps.flatMap(({ reasoning, calls }) => (reasoning ? calls.map(({ id }) => id) : [])),
    ),
  );
  const sent = requests.map(({ body }) => partsOf(body));
  const speaksOfReasoning = sent.some((parts) => parts.some(({ kind }) => kind === "reasoning"));
  for (const [index, parts] of sent.entries()) {
    const { turn, summaries } = requests[index] as StepRequest;
    if (!isPaired(parts)) broken.add("callParted");
    if (speaksOfReasoning && isReasoningParted(parts, reasoned)) broken.add("reasoningParted");
    const prompt = run.turns[turn]?.prompt ?? "";
    if (!parts.some((part) => isSaid(part) && part.text.includes(prompt))) {
      broken.add("lastUserLost");
    }
    if (!parts.some(({ text }) => text.includes(run.standing))) broken.add("standingLost");
    const before = requests[index - 1];
    if (before && summaries === before.summaries) {
      // The records of a new prompt may take the place of earlier ones.
      const lasting = turn === before.turn ? (all: readonly Part[]) => all : withoutRecords;
      if (isRewritten(lasting(sent[index - 1] ?? []), lasting(parts))) broken.add("rewritten");
    }
  }
  return broken;
}

/** Whether a text says what the question asks for: the answer near what it is about. */
export function isAnsweredBy(text: string, { subject, answer }: Question): boolean {
  for (let at = text.indexOf(answer); at >= 0; at = text.indexOf(answer, at + 1)) {
    if (text.slice(Math.max(0, at - NEAR), at + NEAR).includes(subject)) return true;
  }
  return false;
}

/** Characters between an answer and what it is about. */
const NEAR = 100;

/** The texts of a request. */
export function windowOf(body: Json): string {
  return partsOf(body)
    .map(({ text }) => text)
    .join("\n");
}

interface Part {
  readonly kind: "user" | "assistant" | "system" | "call" | "result" | "reasoning" | "other";
  /** The id of a call. */
  readonly id?: string;
  readonly text: string;
}

/**
 * The parts of a request to Anthropic's messages. What Claude Code and its hooks say is in messages of the system between
 * the others, and for models that have no such messages in the user's.
 */
function claudeParts({ system, messages }: Json): readonly Part[] {
  const all = [{ role: "all", content: system }, ...((messages ?? []) as readonly Json[])];
  return all.flatMap(({ role, content }): readonly Part[] => {
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
    return ((blocks ?? []) as readonly Json[]).map((block): Part => {
      switch (block.type) {
        case "thinking":
          return { kind: "reasoning", text: "" };
        case "tool_use":
          return { kind: "call", id: String(block.id), text: JSON.stringify(block.input) };
        case "tool_result":
          return { kind: "result", id: String(block.tool_use_id), text: textOf(block.content) };
      }
      const text = String(block.text ?? "");
      if (role === "all") return { kind: "system", text };
      return { kind: role === "assistant" ? role : "user", text };
    });
  });
}

/** The parts of a request to OpenAI's chat completions or responses, or to Anthropic's messages. */
function partsOf(body: Json): readonly Part[] {
  if ("system" in body) return claudeParts(body);
  const { messages, input } = body;
  return ((messages ?? input ?? []) as readonly Json[]).flatMap((item): readonly Part[] => {
    switch (item.type) {
      case "reasoning":
        return [{ kind: "reasoning", text: "" }];
      case "function_call":
        return [{ kind: "call", id: String(item.call_id), text: String(item.arguments) }];
      case "function_call_output":
        return [{ kind: "result", id: String(item.call_id), text: textOf(item.output) }];
      case "compaction":
        return [{ kind: "other", text: String(item.encrypted_content) }];
    }
    const text = textOf(item.content);
    if (item.role === "tool") return [{ kind: "result", id: String(item.tool_call_id), text }];
    const kind = item.role === "user" || item.role === "assistant" ? item.role : "system";
    const calls = (item.tool_calls ?? []) as readonly Json[];
    return [
      { kind, text },
      ...calls.map(
        ({ id, function: { arguments: args } = {} as Json }: Json & { function?: Json }) => ({
          kind: "call" as const,
          id: String(id),
          text: String(args),
        }),
      ),
    ];
  });
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part: Json) => String(part.text ?? "")).join("\n");
}

function isPaired(parts: readonly Part[]): boolean {
  const ids = (wanted: Part["kind"]) =>
    parts.flatMap(({ kind, id = "" }) => (kind === wanted ? [id] : [])).sort();
  return ids("call").join() === ids("result").join();
}

/** Whether a call lacks the reasoning that led to it, or reasoning what it led to. */
function isReasoningParted(parts: readonly Part[], reasoned: ReadonlySet<string>): boolean {
  return parts.some(({ kind, id = "" }, index) => {
    const next = parts[index + 1]?.kind;
    if (kind === "reasoning") return next !== "call" && next !== "assistant";
    if (kind !== "call" || !reasoned.has(id)) return false;
    const before = parts.slice(0, index);
    const start = before.findLastIndex((part) => part.kind !== "call" && part.kind !== "assistant");
    return before[start]?.kind !== "reasoning";
  });
}

/** The parts that no later prompt replaces. An answer may stand between records and the prompt that they are for. */
function withoutRecords(parts: readonly Part[]): readonly Part[] {
  const areRecords = (part?: Part) => part?.kind === "user" && RECORDS.test(part.text);
  return parts.filter((part, index) => {
    const isBetween = areRecords(parts[index - 1]) && part.text === ANSWER;
    return !areRecords(part) && !isBetween;
  });
}

/** The beginning of records of memory that came back by themselves. Coding agents get them in a tag. */
const RECORDS = /^(?:<rkat-memory>\n)?\[Recalled from memory\]/;

/** What a request says between two messages of the user. */
const ANSWER = "Noted.";

/** Whether a request begins otherwise than the one before, though hardly anything left it. */
function isRewritten(before: readonly Part[], now: readonly Part[]): boolean {
  const isSame = before.every(({ kind, text }, index) => {
    return now[index]?.kind === kind && now[index]?.text === text;
  });
  if (isSame) return false;
  const kept = new Set(now.map(({ kind, text }) => `${kind} ${text}`));
  const gone = before.filter(({ kind, text }) => !kept.has(`${kind} ${text}`));
  return length(gone) < COMPACTED_SHARE * length(before);
}

/** The part of a request that a compaction takes at least. What drops less each time keeps no cache. */
const COMPACTED_SHARE = 0.1;

/** Whether a part is a message. In opencode, a summary is a message of the model. */
function isSaid({ kind }: Part): boolean {
  return kind === "user" || kind === "assistant";
}

function length(parts: readonly Part[]): number {
  return parts.reduce((sum, { text }) => sum + text.length, 0);
}
