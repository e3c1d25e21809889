import type { OperationName } from "../../src/core/operations.ts";
import type { EventEnvelope, SessionService } from "../../src/index.ts";
import { SessionError } from "../../src/index.ts";

/** What somebody may have learned of another user: ids, and words that the user's secrets stand beside. */
export interface Known {
  readonly sessionId: string;
  readonly message: number;
  readonly approvalId: string;
  readonly knowledgeId: string;
  readonly memoryId: string;
  readonly words: string;
}

type Asked = readonly [request: object, ...more: object[]];

/** Requests of every operation that name what belongs to another user. An operation that is missing does not compile. */
const REQUESTS: Readonly<Record<OperationName, (known: Known) => Asked>> = {
  capabilities: () => [{}],
  createSession: () => [{}, { memory: true, knowledge: true }],
  startTurn: ({ sessionId }) => [{ sessionId, prompt: "What did I say?" }],
  resume: ({ sessionId }) => [{ sessionId, prompt: "What did I say?" }, { sessionId }],
  appendMessages: ({ sessionId }) => [
    { sessionId, messages: [{ role: "user", content: "And mine." }] },
  ],
  importTranscripts: () => [{ text: '{"messages":[{"role":"user","content":"Mine."}]}' }],
  interrupt: ({ sessionId }) => [{ sessionId }],
  compact: ({ sessionId }) => [{ sessionId }],
  readCompaction: ({ sessionId }) => [{ sessionId }, { sessionId, event: 1 }],
  readMessage: ({ sessionId, message }) => [{ sessionId, message }],
  readLog: ({ sessionId }) => [{ sessionId }, { sessionId, afterSeq: 0 }],
  undoCompaction: ({ sessionId, message }) => [
    { sessionId },
    { sessionId, redo: true, leaveOut: [message] },
  ],
  bringBack: ({ sessionId, message }) => [
    { sessionId, message },
    { sessionId, turn: 0, pin: true },
  ],
  readSources: ({ sessionId, memoryId, knowledgeId }) => [
    { id: memoryId },
    { id: knowledgeId },
    { sessionId },
  ],
  refuseRecall: ({ sessionId, memoryId }) => [{ sessionId, ids: [memoryId] }],
  allowRecall: ({ sessionId, memoryId }) => [{ sessionId, ids: [memoryId] }],
  forkSession: ({ sessionId, message }) => [{ sessionId }, { sessionId, event: message }],
  updateTask: ({ sessionId }) => [{ sessionId }, { sessionId, goal: "mine now" }],
  pin: ({ sessionId, message }) => [
    { sessionId, message },
    { sessionId, position: 0 },
  ],
  unpin: ({ sessionId, message }) => [{ sessionId, message }],
  pins: ({ sessionId }) => [{ sessionId }],
  context: ({ sessionId }) => [{ sessionId }],
  sessionCost: ({ sessionId }) => [{ sessionId }, { sessionId, limit: 2 }],
  read: ({ sessionId }) => [{ sessionId }],
  list: ({ sessionId }) => [
    { includeArchived: true, limit: 1000 },
    { idPrefix: sessionId.slice(0, 8), includeArchived: true },
    { deleted: true },
  ],
  archive: ({ sessionId }) => [{ sessionId }],
  unarchive: ({ sessionId }) => [{ sessionId }],
  searchMemory: ({ words, sessionId }) => [
    { query: words, minScore: 0, limit: 1000, neighbours: 5, explain: true },
    { query: [words, "code"], sessionId, minScore: 0 },
    { query: words, kind: "preference", minScore: 0 },
    { query: words, asOf: "2999-01-01", minScore: 0 },
  ],
  addMemory: () => [{ content: "A note of mine." }],
  editMemory: ({ memoryId }) => [
    { id: memoryId, content: "Another note." },
    { id: memoryId, pinned: true },
  ],
  keepBoth: ({ memoryId, knowledgeId }) => [
    { ids: [memoryId, knowledgeId] },
    { ids: [knowledgeId, memoryId], undo: true },
  ],
  listMemory: ({ sessionId, memoryId }) => [
    { limit: 1000 },
    { sessionId },
    { after: memoryId },
    { kind: "rule" },
    { asOf: "2999-01-01" },
  ],
  memoryStats: ({ sessionId }) => [{}, { sessionId }],
  forgetMemory: ({ memoryId, knowledgeId, sessionId }) => [
    { ids: [memoryId, knowledgeId] },
    { sessionId },
  ],
  searchHistory: ({ words, sessionId }) => [
    { query: words, limit: 200 },
    { query: words, sessionId },
  ],
  listApprovals: ({ sessionId }) => [{}, { sessionId }],
  answerApproval: ({ sessionId, approvalId }) => [{ sessionId, approvalId, decision: "allow" }],
  allowedCalls: ({ sessionId }) => [{ sessionId }],
  revokeAllowed: ({ sessionId }) => [{ sessionId, tool: "shell" }],
  listKnowledge: ({ words, knowledgeId }) => [
    { limit: 1000 },
    { query: words.split(" ")[0] },
    { after: knowledgeId },
    { asOf: "2999-01-01" },
  ],
  readKnowledge: ({ knowledgeId }) => [{ knowledgeId }],
  addKnowledge: () => [{ content: "Always answer in Dutch." }],
  editKnowledge: ({ knowledgeId }) => [{ knowledgeId, content: "Never answer." }],
  forgetKnowledge: ({ knowledgeId }) => [{ knowledgeId }],
  distillKnowledge: () => [{}],
  delete: ({ sessionId }) => [{ sessionId }, { sessionId, now: true }],
  restore: ({ sessionId }) => [{ sessionId }],
};

export interface Answered {
  readonly operation: OperationName | "subscribe";
  /** The result, or the failure, with all events. */
  readonly text: string;
  readonly code: string | undefined;
}

/** The requests of an operation, the plainest first. */
export function requestsFor(operation: OperationName, known: Known): Asked {
  return REQUESTS[operation](known);
}

/** Asks a service everything about what is known of another user, and returns each answer as text. */
export async function askEverything(
  service: SessionService,
  known: Known,
): Promise<readonly Answered[]> {
  const answers: Answered[] = [];
  for (const operation of Object.keys(REQUESTS) as OperationName[]) {
    for (const request of requestsFor(operation, known)) {
      const events: EventEnvelope[] = [];
      const onEvent = (event: EventEnvelope) => void events.push(event);
      const said = await told(() => service[operation](request as never, { onEvent }));
      answers.push({ operation, ...said, text: said.text + JSON.stringify(events) });
    }
  }
  const { sessionId } = known;
  const subscribed = await told(() =>
    service
      .subscribe({ sessionId, afterSeq: 0 }, { signal: AbortSignal.timeout(1000) })
      [Symbol.asyncIterator]()
      .next(),
  );
  return [...answers, { operation: "subscribe", ...subscribed }];
}

async function told(work: () => Promise<unknown>): Promise<Pick<Answered, "text" | "code">> {
  try {
    return { text: JSON.stringify((await work()) ?? null), code: undefined };
  } catch (error) {
    const { code, message, hint, issues, cause } = SessionError.from(error);
    return { text: JSON.stringify({ code, message, hint, issues, cause: String(cause) }), code };
  }
}

/** Everything that a service shows of its own, as text. */
export async function everythingOf(service: SessionService): Promise<string> {
  const sessions = await service.list({ includeArchived: true, limit: 1000 });
  const deleted = await service.list({ deleted: true, limit: 1000 });
  const views = await Promise.all(
    sessions.map(async ({ sessionId: id }) => [
      await service.read({ sessionId: id }),
      await service.pins({ sessionId: id }),
    ]),
  );
  return JSON.stringify([
    views,
    deleted,
    await service.listMemory({ limit: 1000 }),
    await service.listKnowledge({ limit: 1000 }),
    await service.listApprovals({}),
    await service.memoryStats({}),
  ]);
}
