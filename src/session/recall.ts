import type { Recall } from "../agent/run-turn.ts";
import { contentWords } from "../compaction/content-words.ts";
import type { MemoryRecalled, RecalledRecord } from "../core/event.ts";
import type { MemoryEntry, MemoryHit, MemoryStore } from "../core/memory-store.ts";
import { contentText, isSummary } from "../core/message.ts";
import { recordsWithin } from "../core/recalled.ts";
import type { SessionState } from "../core/session-state.ts";
import { utf8Bytes } from "../core/tokens.ts";
import { startsTurn } from "../core/turn.ts";
import { saidBy } from "../tools/memory-search.ts";
import type { ServiceCore } from "./service-core.ts";
import { memoryOf, recallTokensOf } from "./service-options.ts";

/**
 * Nothing comes back unless the best record has this score. `npm run bench -- coherence` counts the questions about other
 * talks that recall anything all the same: three to five in a hundred.
 */
const BEST_SCORE_MIN = 0.42;

/** Records that are looked at. */
const CANDIDATES = 60;
/** The best records come with what was said right before and after them: an answer has few words of its question. */
const WITH_NEIGHBOURS = 8;
/** UTF-8 bytes of a record. A longer text is cut to the passage with the words of the prompt. */
const RECORD_BYTES_MAX = 640;
/** A prompt with fewer words of its own, such as "go on", is read with the one before it and the goal. */
const OWN_WORDS_MIN = 2;
/** Characters of a long prompt that are looked for, from its beginning and from its end. */
const QUERY_CHARACTERS = 1_000;

/** The compactions of each session after which memory was known to have all that left. */
const CAUGHT_UP = new WeakMap<SessionState, number>();

/**
 * Finds what memory has about a prompt: what a compaction took out of the window, and only if it is sure of the best of it.
 * `undefined` in a session that has no memory, and in a service that recalls nothing.
 *
 * It looks at this session only. What others said would be copied into this log, and outlive the deletion of theirs.
 */
export function recallOf(core: ServiceCore, state: SessionState): Recall | undefined {
  const memory = memoryOf(core.options);
  const recallTokens = recallTokensOf(core.options, state.settings);
  if (!memory || recallTokens === 0) return undefined;
  return async (prompt, { beside, instead }) => {
    const tokensMax = Math.min(recallTokens, Math.max(beside, instead));
    // Before the first compaction the window shows all.
    if (tokensMax <= 0 || state.compactions === 0) return undefined;
    await catchUp(core, state);
    // A turn goes on without memory.
    const found = await core.outages.attempt(memory, () =>
      recall(state, prompt, tokensMax, memory),
    );
    return found && found.tokens > beside ? { ...found, replaces: true } : found;
  };
}

/** What was said gets to memory in the background. Once it has all that left, it need not have the rest. */
async function catchUp({ outages, projected }: ServiceCore, state: SessionState): Promise<void> {
  const { compactions } = state;
  if (CAUGHT_UP.get(state) === compactions) return;
  await outages.attempt(projected, async () => {
    await projected();
    CAUGHT_UP.set(state, compactions);
  });
}

async function recall(
  state: SessionState,
  prompt: string,
  tokensMax: number,
  memory: Pick<MemoryStore, "search">,
): Promise<MemoryRecalled | undefined> {
  const query = queryOf(state, prompt);
  if (query === "") return undefined;
  const hits = await memory.search({
    query,
    sessionId: state.id,
    limit: CANDIDATES,
    neighbours: 1,
  });
  const isNew = unseenBy(state);
  const unseen = hits.filter((hit) => RECALLED_KINDS.has(hit.kind) && isNew(hit));
  if ((unseen[0]?.score ?? 0) < BEST_SCORE_MIN) return undefined;
  const words = new Set(contentWords(query));
  const { records, tokens } = recordsWithin(tokensMax, candidates(unseen, isNew, words));
  return records.length === 0
    ? undefined
    : { type: "memory_recalled", records: inOrder(records), tokens };
}

/** Rules and preferences are told in the system prompt. */
const RECALLED_KINDS: ReadonlySet<string> = new Set(["message", "fact", "correction"]);

/** "Noted." beside a record says nothing. */
function saysSomething({ content }: MemoryEntry): boolean {
  return new Set(contentWords(content)).size >= OWN_WORDS_MIN;
}

function queryOf({ messages, working }: SessionState, prompt: string): string {
  const own = ends(prompt);
  if (new Set(contentWords(own)).size >= OWN_WORDS_MIN) return own;
  const before = messages.findLast(
    (message) =>
      startsTurn(message) && message.role === "user" && contentText(message.content) !== prompt,
  );
  const earlier = before?.role === "user" ? ends(contentText(before.content)) : "";
  return [working.task.goal ?? "", earlier, own].join("\n").trim();
}

function ends(text: string): string {
  if (text.length <= 2 * QUERY_CHARACTERS) return text;
  return `${text.slice(0, QUERY_CHARACTERS)}\n${text.slice(-QUERY_CHARACTERS)}`.toWellFormed();
}

/** Tells whether neither the history nor a record shows an entry, nor a summary quotes it. */
function unseenBy({ id: session, history, recalled }: SessionState) {
  const shown = new Set(history.map(({ id }) => `${session}:${id}`));
  const summaries = history
    .filter(({ message }) => isSummary(message))
    .map(({ message }) => (message.role === "user" ? oneLine(contentText(message.content)) : ""));
  return ({ id, content }: Pick<MemoryEntry, "id" | "content">): boolean => {
    if (shown.has(id) || recalled.has(id)) return false;
    const text = oneLine(content);
    return !summaries.some((summary) => summary.includes(text));
  };
}

/** The entries from the best on, each once and none in the words of another, as records with their neighbours. */
function* candidates(
  hits: readonly MemoryHit[],
  isNew: (entry: MemoryEntry) => boolean,
  words: ReadonlySet<string>,
): Generator<RecalledRecord> {
  const given = new Set<string>();
  for (const [rank, hit] of hits.entries()) {
    const { before = [], after = [] } = (rank < WITH_NEIGHBOURS && hit.neighbours) || {};
    const group = [hit, ...after, ...before].filter((entry) => {
      const text = oneLine(entry.content);
      const isKnown = given.has(entry.id) || given.has(text);
      if (!isKnown) given.add(entry.id).add(text);
      return !isKnown && isNew(entry) && (entry === hit || saysSomething(entry));
    });
    for (const entry of group) yield recordOf(entry, hit.score, words);
  }
}

function recordOf(entry: MemoryEntry, score: number, words: ReadonlySet<string>): RecalledRecord {
  const { id, turn, time, content } = entry;
  return {
    id,
    turn,
    said_by: oneLine(saidBy(entry)),
    ...(time === undefined ? {} : { time }),
    score: Math.round(score * 1000) / 1000,
    text: passageOf(oneLine(content), words),
  };
}

/** In the order in which they were said. */
function inOrder(records: readonly RecalledRecord[]): readonly RecalledRecord[] {
  return records.toSorted(
    (one, other) =>
      compare(one.time ?? "", other.time ?? "") || (one.turn ?? 0) - (other.turn ?? 0),
  );
}

function compare(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}

/** The sentences around the one with the most words of the prompt. */
function passageOf(text: string, words: ReadonlySet<string>): string {
  if (utf8Bytes(text) <= RECORD_BYTES_MAX) return text;
  const sentences = text.match(SENTENCE) ?? [];
  const worth = sentences.map(
    (sentence) => [...new Set(contentWords(sentence))].filter((word) => words.has(word)).length,
  );
  const best = Math.max(0, worth.indexOf(Math.max(...worth)));
  let [from, to] = [best, best + 1];
  let bytes = utf8Bytes(sentences[best] ?? "");
  for (let side = 0; side < 2 * sentences.length; side += 1) {
    const next = side % 2 === 0 ? to : from - 1;
    const size = utf8Bytes(sentences[next] ?? "");
    if (size === 0 || bytes + size > RECORD_BYTES_MAX) continue;
    if (side % 2 === 0) to += 1;
    else from -= 1;
    bytes += size;
  }
  const start = from > 0 ? "… " : "";
  const end = to < sentences.length ? " …" : "";
  return start + sentences.slice(from, to).join("").trim() + end;
}

/** A sentence, or a part of a long one. */
const SENTENCE = /[^.!?。！？]{1,300}[.!?。！？]{0,3}|[.!?。！？]{1,300}/gu;
