import type {
  MemoryRecalled,
  SessionEvent,
  StandingInstruction,
  ToolApprovalResolved,
} from "../../core/event.ts";
import { headWithin } from "../../core/tokens.ts";
import { oneLine, printable } from "./printable.ts";

/** Limits in UTF-8 bytes. */
const SHOWN = { args: 100, result: 200, text: 500 } as const;

/** The text that `--verbose` prints for an event. Empty for most events. */
export function renderEvent(event: SessionEvent): string {
  switch (event.type) {
    case "run_started":
      return (event.instructions ?? []).map(renderInstruction).join("");
    case "turn_started":
      return `\n── Turn ${event.turn_number + 1} ──\n`;
    case "text_complete":
      return `  text: ${cut(event.content, SHOWN.text)}\n`;
    case "tool_call_requested":
      return `  → ${nameOf(event)} ${cut(JSON.stringify(event.args) ?? "", SHOWN.args)}\n`;
    case "tool_approval_requested":
      return `  ? ${nameOf(event)} waits for approval\n`;
    case "tool_approval_resolved":
      return `  ${event.decision === "allow" ? "allowed" : "denied"} ${BY[event.by] ?? ""}: ${nameOf(event)}${event.reason === undefined ? "" : ` (${cut(event.reason, SHOWN.result)})`}\n`;
    case "knowledge_applied":
      return `  rules in the prompt: ${event.rules.length}\n`;
    case "tool_execution_completed":
      return renderResult(event);
    case "tool_execution_timed_out":
      return `  ✗ ${nameOf(event)} timed out after ${event.timeout_ms} ms\n`;
    case "compaction_started":
      return `  ⟳ Compaction started: ${event.input_tokens} input tokens, ~${event.estimated_history_tokens} history tokens, ${event.message_count} messages\n`;
    case "compaction_completed":
      return `  ✓ Compaction complete: ${event.messages_before} → ${event.messages_after} messages, ${event.summary_tokens} summary tokens\n${renderEffect(event)}`;
    case "compaction_failed":
      return `  ✗ Compaction failed (continuing): ${cut(event.error, SHOWN.text)}\n`;
    case "memory_recalled":
      return renderRecalled(event);
    case "tool_output_pruned":
      return `  ✂ Old tool output pruned: ${event.tokens_before} → ${event.tokens_after} tokens\n${renderEffect(event)}`;
    case "compaction_undone":
      return `  ↩ Undone: the history is what it was before event ${event.undone}\n`;
    case "messages_brought_back":
      return `  ↷ Brought back: ${event.messages.map(({ message }) => `@${message}`).join(", ")}${event.pinned ? ", pinned" : ""}\n`;
    case "recall_refused":
      return `  ↶ Not recalled again: ${oneLine(event.records.join(", "))}\n`;
    case "recall_allowed":
      return `  ↶ May be recalled again: ${oneLine(event.records.join(", "))}\n`;
    case "session_forked":
      return `  ⑂ Session ${event.fork} goes on from event ${event.event}\n`;
    case "history_inherited":
      return `  ⑂ Goes on from event ${event.from.event} of session ${event.from.session}\n`;
    case "task_updated":
      return `  ✎ Task record: ${Object.keys(event.changed).join(", ").replaceAll("_", " ")}\n`;
    case "message_pinned":
      return `  📌 Pinned message @${event.message}\n`;
    case "message_unpinned":
      return `  📌 Unpinned message @${event.message}\n`;
    case "budget_warning":
      return `  ! Budget of ${event.budget_type.replace("_", " ")}: ${event.used} of ${event.limit} used\n`;
    case "retrying":
      return `  ↻ Retrying (${event.attempt} of ${event.max_attempts}) in ${event.delay_ms} ms: ${cut(event.error, SHOWN.text)}\n`;
    case "event_lost":
      return `  ! An event (${event.was || "unknown"}) could not be read, and was lost in a repair\n`;
    default:
      return "";
  }
}

/** The name of a tool, as a model may have made it up. */
function nameOf({ name }: { readonly name: string }): string {
  return oneLine(name, 80);
}

/** The one who answered a request for approval, in words. */
const BY: Readonly<Record<ToolApprovalResolved["by"], string>> = {
  user: "by you",
  model: "by a model",
  settings: "by the settings",
  superseded: "because another prompt came first",
};

/** The same without the events that a chat shows with `--verbose` only. */
export function renderWork(event: SessionEvent): string {
  return WORK.includes(event.type) ? renderEvent(event) : "";
}

const WORK: readonly SessionEvent["type"][] = [
  "tool_execution_completed",
  "tool_execution_timed_out",
  "compaction_completed",
  "compaction_failed",
  "tool_output_pruned",
  "compaction_undone",
  "budget_warning",
  "retrying",
];

/** A line such as "costs 4000 fresh tokens once, saves 11000 in each call". Empty for logs of earlier versions. */
function renderEffect(event: {
  readonly tokens_before: number;
  readonly tokens_after: number;
  readonly rewritten_tokens?: number;
}): string {
  const { rewritten_tokens: rewritten, tokens_before, tokens_after } = event;
  if (rewritten === undefined) return "";
  return `    costs ${rewritten} fresh tokens once, saves ${tokens_before - tokens_after} in each call\n`;
}

function renderResult({
  name: given,
  result,
  is_error,
  duration_ms,
}: Extract<SessionEvent, { type: "tool_execution_completed" }>): string {
  const name = nameOf({ name: given });
  const { error, message } = is_error ? failureIn(result) : { message: result };
  const text = cut(message, SHOWN.result);
  if (error === "denied") {
    const reason = text.replace(DENIED_BY_USER, "");
    return `  ✗ ${name} denied${reason === "" ? "" : `: ${reason}`}\n`;
  }
  // The event does not say how long the call ran.
  if (error === "interrupted") return `  ✗ ${name} interrupted: ${text}\n`;
  const failed = is_error || (given === "run_command" && COMMAND_FAILED.test(result));
  return `  ${failed ? "✗" : "✓"} ${name} (${duration_ms} ms): ${text}\n`;
}

/** The beginning of a result when the user denied the call. The rest is the reason, or meant for the model. */
const DENIED_BY_USER = /^The user denied this call(?:: | and gave no reason\..*)/;

/** The beginning of the result of `run_command` when the command failed. */
const COMMAND_FAILED = /^\[(?:killed |exit code (?!0\]))/;

/** A failure as the model reads it is JSON. A tool may word its own. */
function failureIn(result: string): { readonly error?: string; readonly message: string } {
  try {
    const { error, message } = JSON.parse(result);
    if (typeof error === "string" && typeof message === "string") return { error, message };
  } catch {
    // The tool's own words.
  }
  return { message: result };
}

function renderInstruction({ text, by, replaces }: StandingInstruction): string {
  const earlier = replaces ? " (replaces an earlier one)" : "";
  return `  holds from now on: ${cut(by ? `${by}: ${text}` : text, SHOWN.text)}${earlier}\n`;
}

function cut(text: string, bytesMax: number): string {
  const line = printable(text.replace(/\s+/g, " ").trim());
  const head = headWithin(line, bytesMax);
  return head === line ? line : `${head}...`;
}

/** The records that came back by themselves, and why: the best score, and the one that it had to reach. */
function renderRecalled({ records, tokens, bar }: MemoryRecalled): string {
  if (records.length === 0) return "  ↶ From memory: no room, so what came back before left\n";
  const count = `${records.length} ${records.length === 1 ? "record" : "records"}`;
  const best = Math.max(0, ...records.map(({ score }) => score));
  const why =
    bar === undefined ? "" : `; the best has ${best.toFixed(2)}, needed is ${bar.toFixed(2)}`;
  const lines = records
    .toSorted((one, other) => other.score - one.score)
    .slice(0, RECALLED_SHOWN)
    .map(({ said_by, text }) => `    ${cut(said_by, 20)}: ${cut(text, SHOWN.result)}\n`);
  return `  ↶ From memory: ${count}, ${tokens} tokens${why}\n${lines.join("")}`;
}

const RECALLED_SHOWN = 3;
