import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { importTranscripts } from "../../src/app/import-transcripts.ts";
import {
  createSessionService,
  defineTool,
  type EventEnvelope,
  SessionError,
  type SessionService,
} from "../../src/index.ts";
import { moveStores } from "../../src/moving/move-stores.ts";
import { postgresStores } from "../../src/postgres.ts";
import { type Stores, sqliteStores } from "../../src/sqlite.ts";
import { postgresAddress } from "../../src/stores/postgres/server-address.ts";
import { scriptedModel } from "../../src/testing/scripted-model.ts";
import { ClaudeLines } from "./claude-lines.ts";

/** A store of a campaign, with the folder for the files of its sessions. */
export interface WorkPlace {
  readonly store: string;
  readonly folder: string;
  /** Is told what was acknowledged. */
  readonly told?: (text: string) => void;
}

/** The sessions that the work is done on. Any text of the first is said nowhere else. */
export interface Prepared {
  readonly first: string;
  readonly deleted: string;
  readonly waiting: string;
  readonly approvalId: string;
}

const TURNS = 12;

export function openStoresAt(store: string): Stores {
  if (store.startsWith("postgres:")) return postgresStores(postgresAddress(store));
  return sqliteStores({ path: store });
}

const PAY = defineTool({
  name: "pay",
  description: "Pays.",
  input: z.object({ to: z.string() }),
  execute: () => "Paid.",
});

export function serviceOver(stores: Stores, { folder }: WorkPlace): SessionService {
  mkdirSync(folder, { recursive: true });
  return createSessionService({
    model: scriptedModel(({ messages }) => {
      const last = messages.at(-1);
      const isAsked = last?.role === "user" && String(last.content).includes("Pay");
      if (isAsked) return { toolCalls: [{ id: "call-1", name: "pay", args: { to: "Ada" } }] };
      return `Answer ${messages.length}.`;
    }),
    stores,
    sessionFiles: join(folder, "sessions"),
    tools: [PAY],
    approvals: { policies: { pay: "ask" }, timeoutMs: 1 },
    compaction: { summarizer: "fallback", minTurnsBetweenCompactions: 1 },
    onBackgroundError: () => {},
  });
}

/** Makes the sessions: one with a long memory, one that is deleted, one that waits for an answer. */
async function prepare(stores: Stores, place: WorkPlace): Promise<Prepared> {
  const service = serviceOver(stores, place);
  const sessionWith = async (name: string, turns: number) => {
    const { sessionId } = await service.createSession({});
    const messages = Array.from({ length: turns }, (_, turn) => [
      { role: "user" as const, content: `${name} asks for otter ${turn}.` },
      { role: "assistant" as const, content: `${name} hears of river ${turn}.` },
    ]);
    await service.appendMessages({ sessionId, messages: messages.flat() });
    return sessionId;
  };
  const first = await sessionWith("Ada", TURNS);
  const deleted = await sessionWith("Bob", TURNS);
  const waiting = await sessionWith("Cleo", 2);
  await service.startTurn({ sessionId: waiting, prompt: "I always prefer tea. Pay Ada." });
  const [asked] = await service.listApprovals({});
  await service.delete({ sessionId: deleted });
  await service.close();
  return { first, deleted, waiting, approvalId: asked?.approvalId ?? "" };
}

/** A place of its own for some work: a file, or a namespace of the tests' PostgreSQL. */
export async function newWorkPlace(engine: string, folder: string): Promise<WorkPlace> {
  if (engine === "SQLite") return { store: join(folder, "rkat.db"), folder };
  const { postgresPlace } = await import("./postgres.ts");
  const { connectionString, schema } = await postgresPlace();
  const url = new URL(connectionString);
  url.searchParams.set("schema", schema);
  url.searchParams.set("namespace", crypto.randomUUID());
  return { store: url.href, folder };
}

/** Prepares a place, and closes it. */
export async function filledPlace(place: WorkPlace): Promise<Prepared> {
  const stores = openStoresAt(place.store);
  try {
    return await prepare(stores, place);
  } finally {
    await stores.close();
  }
}

type Work = (
  service: SessionService,
  prepared: Prepared,
  stores: Stores,
  place: WorkPlace,
) => Promise<unknown>;

/** What is interrupted. */
export const WORK: Readonly<Record<string, Work>> = {
  turns: async (service, { first: sessionId }, _, { told }) => {
    for (let turn = 0; turn < 4; turn += 1) {
      const prompt = `Where is heron ${turn}? I always prefer reed ${turn}.`;
      const onEvent = ({ seq }: EventEnvelope) => told?.(`seq ${seq}`);
      await service.startTurn({ sessionId, prompt }, { onEvent });
    }
  },
  delete: (service, { first }) => service.delete({ sessionId: first }),
  "delete now": (service, { first }) => service.delete({ sessionId: first, now: true }),
  restore: (service, { deleted }) => service.restore({ sessionId: deleted }),
  forget: async (service) => {
    const query = "Ada asks for otter 3.";
    const [hit] = await service.searchMemory({ query, limit: 1 });
    const ids = [hit?.content === query ? hit.id : "none"];
    const { forgotten } = await service.forgetMemory({ ids });
    if (forgotten === 0) throw new SessionError("NOT_POSSIBLE");
  },
  "forget a session": (service, { first }) => service.forgetMemory({ sessionId: first }),
  import: async (_, __, stores) => {
    const lines = new ClaudeLines("00000001-1111-4222-8333-444455556666");
    for (let turn = 0; turn < TURNS; turn += 1) {
      lines.user(`Imported question ${turn}.`);
      lines.text(`msg_${turn}`, `Imported answer ${turn}.`);
    }
    const bytes = (async function* () {
      yield Buffer.from(String(lines));
    })();
    return await importTranscripts({ stores, bytes, name: "imported.jsonl" });
  },
  move: async (_, __, stores, { store }) => {
    const to = openStoresAt(otherStore(store));
    try {
      return await moveStores(stores, to);
    } finally {
      await to.close();
    }
  },
  compaction: (service, { first }) => service.compact({ sessionId: first }),
  undo: async (service, { first: sessionId }) => {
    await service.compact({ sessionId });
    await service.undoCompaction({ sessionId });
    await service.undoCompaction({ sessionId, redo: true });
  },
  "bring back": async (service, { first: sessionId }) => {
    await service.compact({ sessionId });
    await service.bringBack({ sessionId, turn: 0, pin: true });
    await service.bringBack({ sessionId, turn: 1 });
  },
  fork: async (service, { first: sessionId }) => {
    await service.compact({ sessionId });
    const fork = await service.forkSession({ sessionId });
    await service.forkSession({ sessionId: fork.sessionId });
  },
  archive: (service, { first }) => service.archive({ sessionId: first }),
  approval: async (service, { waiting: sessionId, approvalId }) => {
    await service.answerApproval({ sessionId, approvalId, decision: "allow" });
    await service.resume({ sessionId });
  },
  refusal: (service, { waiting: sessionId, approvalId }) =>
    service.answerApproval({ sessionId, approvalId, decision: "deny", reason: "Never pay Ada." }),
};

/** The store that a move goes to. */
export function otherStore(store: string): string {
  if (!store.startsWith("postgres:")) return `${store}-moved`;
  const url = new URL(store);
  url.searchParams.set("namespace", `${url.searchParams.get("namespace")}-moved`);
  return url.href;
}
