import { setTimeout as sleep } from "node:timers/promises";
import { SessionError, type SessionService } from "rkat";
import { ClaudeLines } from "../../test/support/claude-lines.ts";
import { conversation } from "../data/conversation.ts";
import { below, oneOf, type Random, randomFrom } from "../data/random.ts";

/** What the sessions do, and how often of a hundred times. */
const SHARES = {
  turn: 66,
  search: 14,
  history: 6,
  read: 8,
  compact: 2,
  undo: 2,
  import: 2,
} as const;
export type Deed = keyof typeof SHARES | "delete";

export interface CrowdOptions {
  readonly service: SessionService;
  readonly sessions: number;
  /** Deeds of all of them in a second. */
  readonly perSecond: number;
  readonly seed: number;
  readonly signal: AbortSignal;
  readonly note: (deed: Deed, ms: number) => void;
}

/** After so many turns a session is deleted and another begins, so that there is as much at the end as there was. */
const TURNS = 40;

/** Talks in many sessions at once until the signal. What fails, fails the crowd. */
export async function talkInCrowd(options: CrowdOptions): Promise<void> {
  const all = Array.from({ length: options.sessions }, (_, number) => talk(options, number));
  await Promise.all(all);
}

async function talk(options: CrowdOptions, number: number): Promise<void> {
  const { service, sessions, perSecond, signal } = options;
  const random = randomFrom(options.seed * 1000 + number);
  const pauseMs = (1000 * sessions) / perSecond;
  for (let life = 0; !signal.aborted; life += 1) {
    const { entries, questions } = conversation(life * sessions + number, options.seed);
    const { sessionId } = await service.createSession({});
    const imported = new Set<string>();
    // The first lives have other lengths, so that not all sessions end at once.
    const turns = life === 0 ? 1 + below(TURNS, random) : TURNS;
    for (let turn = 0; turn < turns && !signal.aborted; ) {
      await sleep(2 * pauseMs * random(), undefined, { signal }).catch(() => {});
      const deed = deedOf(random);
      const said = entries[turn % entries.length]?.content ?? "";
      const question = oneOf(questions, random).text;
      await timed(options, deed, () => {
        if (deed === "turn") return service.startTurn({ sessionId, prompt: said });
        if (deed === "search") return service.searchMemory({ query: question, limit: 5 });
        if (deed === "history") return service.searchHistory({ query: question, limit: 5 });
        if (deed === "read") return service.read({ sessionId });
        if (deed === "compact") return service.compact({ sessionId });
        if (deed === "undo") return service.undoCompaction({ sessionId });
        const id = `${hex(number, 8)}-${hex(life, 4)}-4222-8333-${hex(imported.size, 12)}`;
        imported.add(`claude-code:${id}`);
        return importTalk(service, id, entries);
      });
      if (deed === "turn") turn += 1;
    }
    for (const id of [sessionId, ...imported]) {
      await timed(options, "delete", () => service.delete({ sessionId: id, now: true }));
    }
  }
}

async function timed(
  { note }: CrowdOptions,
  deed: Deed,
  work: () => Promise<unknown>,
): Promise<void> {
  const start = performance.now();
  try {
    await work();
  } catch (error) {
    // There may be nothing to undo.
    if (!SessionError.is(error) || error.code !== "NOT_POSSIBLE") throw error;
  }
  note(deed, performance.now() - start);
}

function deedOf(random: Random): keyof typeof SHARES {
  let at = random() * 100;
  for (const [deed, share] of Object.entries(SHARES)) {
    at -= share;
    if (at < 0) return deed as keyof typeof SHARES;
  }
  return "turn";
}

function importTalk(
  service: SessionService,
  id: string,
  entries: readonly { readonly content: string }[],
): Promise<unknown> {
  const lines = new ClaudeLines(id);
  for (const [at, { content }] of entries.slice(0, 12).entries()) {
    // A copy of a transcript has other ids and the same times.
    const timestamp = new Date().toISOString();
    if (at % 2 === 0) lines.user(content, { timestamp });
    else lines.answer(`${id}_${at}`, { type: "text", text: content }, { timestamp });
  }
  return service.importTranscripts({ name: `${id}.jsonl`, text: String(lines) });
}

function hex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, "0");
}
