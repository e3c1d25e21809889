import type { ApprovalStore, PendingApproval } from "../core/approval.ts";
import type { BesideMessages, DurableEvent, SessionSettings } from "../core/event.ts";
import type { EventStore } from "../core/event-store.ts";
import { changedJson, jsonText } from "../core/json-values.ts";
import type { AssistantBlock, ContentBlock, Message } from "../core/message.ts";
import type { SessionSnapshot } from "../core/session-snapshot.ts";
import type { SessionStore } from "../core/session-store.ts";
import { type OnRedacted, redactSecrets } from "./redact-secrets.ts";

/** The message with a note in the place of each credential. */
export function redactMessage(message: Message, onRedacted?: OnRedacted): Message {
  switch (message.role) {
    case "system":
      return { ...message, content: redactSecrets(message.content, onRedacted) };
    case "user":
      return {
        ...message,
        content:
          typeof message.content === "string"
            ? redactSecrets(message.content, onRedacted)
            : message.content.map((block) => redactContent(block, onRedacted)),
      };
    case "assistant":
      return {
        ...message,
        content: redactSecrets(message.content, onRedacted),
        ...(message.tool_calls
          ? {
              tool_calls: message.tool_calls.map((call) => ({
                ...call,
                args: redactJson(call.args, onRedacted),
              })),
            }
          : {}),
      };
    case "block_assistant":
      return { ...message, blocks: message.blocks.map((block) => redactBlock(block, onRedacted)) };
    case "tool_results":
      return {
        ...message,
        results: message.results.map((result) => ({
          ...result,
          content: redactSecrets(result.content, onRedacted),
        })),
      };
  }
}

/** Labels and titles are texts. The names of a source are its identity, so they stay. */
function redactSettings({ labels, source, ...settings }: SessionSettings): SessionSettings {
  const title = source?.title;
  return {
    ...settings,
    labels: redactJson(labels),
    ...(source
      ? { source: title === undefined ? source : { ...source, title: redactSecrets(title) } }
      : {}),
  };
}

/** The event with a note in the place of each credential in its texts. Ids and numbers stay. */
export function redactEvent(event: DurableEvent): DurableEvent {
  switch (event.type) {
    case "session_created":
      return { ...event, settings: redactSettings(event.settings) };
    case "session_titled":
      return event.title === undefined ? event : { ...event, title: redactSecrets(event.title) };
    case "message_added":
      return {
        ...event,
        message: redactMessage(event.message),
        ...(event.instructions ? { instructions: redactJson(event.instructions) } : {}),
      };
    case "host_items_changed":
      return { ...event, items: redactJson(event.items) };
    case "run_started":
      return {
        ...event,
        prompt: redactSecrets(event.prompt),
        ...(event.content ? { content: event.content.map((block) => redactContent(block)) } : {}),
        ...(event.instructions ? { instructions: redactJson(event.instructions) } : {}),
      };
    case "run_completed":
      return { ...event, result: redactSecrets(event.result) };
    case "run_failed":
    case "compaction_failed":
    case "retrying":
      return { ...event, error: redactSecrets(event.error) };
    case "reasoning_complete":
    case "text_complete": {
      const content = redactSecrets(event.content);
      // The provider's signature of the old text would not fit the new one.
      return content === event.content ? event : { type: event.type, content };
    }
    case "tool_call_requested":
      return { ...event, args: redactJson(event.args) };
    case "tool_approval_requested":
      return { ...event, args: redactJson(event.args), goal: redactSecrets(event.goal) };
    case "tool_approval_resolved":
      return {
        ...event,
        ...(event.reason === undefined ? {} : { reason: redactSecrets(event.reason) }),
        ...(event.allows === undefined ? {} : { allows: redactJson(event.allows) }),
      };
    case "approval_revoked":
      return redactJson(event);
    case "tool_execution_completed":
      return { ...event, result: redactSecrets(event.result) };
    case "compaction_completed":
      return withRedactedBefore(
        event.summary === null ? event : { ...event, summary: redactSecrets(event.summary) },
      );
    case "tool_output_pruned":
      return withRedactedBefore(event);
    case "memory_recalled":
      return { ...event, records: redactJson(event.records) };
    case "messages_brought_back":
      return {
        ...event,
        messages: event.messages.map((each) => ({ ...each, text: redactSecrets(each.text) })),
      };
    case "history_inherited": {
      const { summary } = event;
      const rest = redactBeside(event);
      return summary
        ? { ...rest, summary: { ...summary, text: redactSecrets(summary.text) } }
        : rest;
    }
    case "task_updated":
      return { ...event, changed: redactJson(event.changed) };
    default:
      return event satisfies WithoutText;
  }
}

/** Events that have ids, numbers and names of tools, but no text. */
type WithoutText = Extract<
  DurableEvent,
  {
    readonly type:
      | "event_lost"
      | "session_archived"
      | "session_unarchived"
      | "session_deleted"
      | "session_remembered"
      | "skills_resolved"
      | "knowledge_applied"
      | "run_paused"
      | "run_resumed"
      | "turn_started"
      | "turn_completed"
      | "tool_execution_started"
      | "tool_execution_timed_out"
      | "tool_result_received"
      | "context_overflow"
      | "compaction_started"
      | "compaction_undone"
      | "recall_refused"
      | "recall_allowed"
      | "session_forked"
      | "text_forgotten"
      | "message_pinned"
      | "message_unpinned"
      | "budget_warning";
  }
>;

function withRedactedBefore<Event extends { readonly before?: BesideMessages }>(
  event: Event,
): Event {
  return event.before ? { ...event, before: redactBeside(event.before) } : event;
}

function redactBeside<Beside extends BesideMessages>(beside: Beside): Beside {
  const { recalled, shown_task: shown, task, denied, instructions } = beside;
  return {
    ...beside,
    ...(recalled ? { recalled: redactJson(recalled) } : {}),
    ...(beside.brought_back ? { brought_back: redactJson(beside.brought_back) } : {}),
    task: redactJson(task),
    shown_task: shown && { ...shown, text: redactSecrets(shown.text) },
    denied: redactJson(denied),
    instructions: redactJson(instructions),
  };
}

function redactContent(block: ContentBlock, onRedacted?: OnRedacted): ContentBlock {
  return block.type === "text" ? { ...block, text: redactSecrets(block.text, onRedacted) } : block;
}

function redactBlock(block: AssistantBlock, onRedacted?: OnRedacted): AssistantBlock {
  if (block.block_type === "tool_use") {
    return { ...block, data: { ...block.data, args: redactJson(block.data.args, onRedacted) } };
  }
  const text = redactSecrets(block.data.text, onRedacted);
  return text === block.data.text ? block : { ...block, data: { text } };
}

/**
 * JSON with a note in the place of each credential: text by text, and then as a whole, because in
 * `{"password": "hunter2"}` only the name says what the value is.
 */
export function redactJson<Json>(value: Json, onRedacted?: OnRedacted): Json {
  const before = jsonText(value);
  const texts = redactTexts(value, onRedacted) as Json;
  const text = jsonText(texts);
  const redacted = redactSecrets(text, onRedacted);
  if (redacted === before) return value;
  try {
    return JSON.parse(redacted);
  } catch {
    // A note replaced the end of a text and what follows it, so this is no longer JSON.
    return texts;
  }
}

function redactTexts(value: unknown, onRedacted: OnRedacted | undefined): unknown {
  return changedJson(value, {
    leaf: (leaf) => {
      if (typeof leaf === "string") return redactSecrets(leaf, onRedacted);
      return typeof leaf === "number" ? redactNumber(leaf, onRedacted) : leaf;
    },
  });
}

/** The numbers of JSON that are long enough for a card. A note in their place is a text. */
function redactNumber(number: number, onRedacted: OnRedacted | undefined): number | string {
  if (!Number.isInteger(number) || number < 1e12) return number;
  const text = String(number);
  const redacted = redactSecrets(text, onRedacted);
  return redacted === text ? number : redacted;
}

interface Written {
  readonly events: EventStore;
  readonly sessions: SessionStore;
  readonly approvals: ApprovalStore;
}

/**
 * The same stores, with a note in the place of each credential in what is written: events,
 * snapshots, and calls that wait for approval. The running session keeps what was said, so its
 * model and its tools work with it until the session is opened again.
 */
export function redactingStores<Stores extends Written>(stores: Stores): Stores {
  const { events, sessions, approvals } = stores;
  return {
    ...stores,
    events: over(events, {
      append: (sessionId, lastSeq, added, held) =>
        events.append(
          sessionId,
          lastSeq,
          added.map((one) => ({ ...one, event: redactEvent(one.event) })),
          held,
        ),
    }),
    sessions: over(sessions, {
      save: (snapshot, held) => sessions.save(redactSnapshot(snapshot), held),
      saveAndRelease: async (snapshot, held) =>
        sessions.saveAndRelease?.(redactSnapshot(snapshot), held),
    }),
    approvals: over(approvals, {
      add: (pending) => approvals.add(pending.map(redactApproval)),
      replace: (pending) => approvals.replace(pending.map(redactApproval)),
      answer: (approvalId, sessionId, answer) =>
        approvals.answer(approvalId, sessionId, redactJson(answer)),
    }),
  };
}

/** A store with some methods in the place of its own. What it lacks, it goes on to lack. */
function over<Store extends object>(store: Store, methods: Partial<Store>): Store {
  return new Proxy(store, {
    get(target, name) {
      const own = Reflect.get(target, name);
      const method = own && (Reflect.get(methods, name) ?? own);
      return typeof method === "function" ? method.bind(target) : method;
    },
  });
}

/** The other fields of a snapshot have ids, numbers and places in the log. */
function redactSnapshot(snapshot: SessionSnapshot): SessionSnapshot {
  const { settings, last_assistant_text: said, task, denied, instructions } = snapshot;
  const { shown_task: shown, allowed, recalled, brought_back, next_window: next } = snapshot;
  return {
    ...snapshot,
    settings: redactSettings(settings),
    last_assistant_text: said === null ? null : redactSecrets(said),
    ...(task ? { task: redactJson(task) } : {}),
    ...(shown ? { shown_task: { ...shown, text: redactSecrets(shown.text) } } : {}),
    ...(recalled ? { recalled: redactJson(recalled) } : {}),
    ...(brought_back ? { brought_back: redactJson(brought_back) } : {}),
    ...(allowed ? { allowed: redactJson(allowed) } : {}),
    ...(denied ? { denied: redactJson(denied) } : {}),
    ...(instructions ? { instructions: redactJson(instructions) } : {}),
    ...(next ? { next_window: redactJson(next) } : {}),
  };
}

function redactApproval(approval: PendingApproval): PendingApproval {
  const { args, goal } = approval;
  return { ...approval, args: redactJson(args), goal: redactSecrets(goal) };
}
