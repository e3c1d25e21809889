import type { ApprovalStore, PendingApproval } from "../core/approval.ts";
import type { EventStore } from "../core/event-store.ts";
import type { SessionSnapshot } from "../core/session-snapshot.ts";
import type { SessionStore } from "../core/session-store.ts";
import { redactEvent, redactJson, redactSettings } from "../secrets/redact-message.ts";
import { redactSecrets } from "../secrets/redact-secrets.ts";

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
    }),
    approvals: over(approvals, {
      add: (pending) => approvals.add(pending.map(redactApproval)),
      replace: (pending) => approvals.replace(pending.map(redactApproval)),
      answer: (approvalId, sessionId, answer) =>
        approvals.answer(approvalId, sessionId, redactJson(answer)),
    }),
  };
}

/** A store with some methods in the place of its own. */
function over<Store extends object>(store: Store, methods: Partial<Store>): Store {
  return new Proxy(store, {
    get(target, name) {
      const method = Reflect.get(methods, name) ?? Reflect.get(target, name);
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
