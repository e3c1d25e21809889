import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { ModelRequest } from "../src/core/language-model.ts";
import { indexableText, type Message } from "../src/core/message.ts";
import { MessageAssembler } from "../src/core/message-assembler.ts";
import { createSessionService, SessionError, type SessionService } from "../src/index.ts";
import { type Stores, sqliteStores } from "../src/sqlite.ts";
import { type ScriptedReply, scriptedModel } from "../src/testing.ts";
import { GIVEN_SEED } from "./support/given-seed.ts";
import { note } from "./support/running-test.ts";
import { LONG, trials } from "./support/trials.ts";

const RUNS = trials(4, 100);

const WORDS = "the quick brown fox considers the merits of jumping over a lazy dog ";

/** What happens next in a session. */
type Step =
  | { readonly does: "turn"; readonly calls: number; readonly length: number }
  | { readonly does: "restart" | "compact" }
  | { readonly does: "pin" | "unpin"; readonly position: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      does: fc.constant("turn"),
      calls: fc.constantFrom(0, 0, 1, 3),
      length: fc.constantFrom(1, 10, 60),
    }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constantFrom("restart", "compact") }) },
  {
    weight: 2,
    arbitrary: fc.record({ does: fc.constantFrom("pin", "unpin"), position: fc.nat(20) }),
  },
) as fc.Arbitrary<Step>;

const settings = fc.record(
  {
    autoCompactThreshold: fc.constantFrom(1800, 2500, 100_000),
    windowSize: fc.constantFrom(2, 6),
    minTurnsBetweenCompactions: fc.constantFrom(1, 3),
    recentTurnBudget: fc.constantFrom(1, 4),
    onSummaryFailure: fc.constantFrom("keep", "fallback"),
  },
  { requiredKeys: ["autoCompactThreshold", "minTurnsBetweenCompactions"] },
);

const summaries = fc.array(fc.constantFrom("So far.", "", "Error: 500", "throws"), {
  minLength: 1,
});

/** One session, in one store, through as many processes as it takes. */
class Life {
  readonly #path: string;
  readonly #compaction: object;
  readonly #summaries: readonly string[];
  #stores!: Stores;
  #service!: SessionService;
  #turn: Extract<Step, { does: "turn" }> = { does: "turn", calls: 0, length: 1 };
  #said = 0;
  #asked = 0;
  sessionId = "";
  compactions = 0;

  constructor(folder: string, compaction: object, summaries: readonly string[]) {
    this.#path = join(folder, "rkat.db");
    this.#compaction = compaction;
    this.#summaries = summaries;
  }

  async begin(): Promise<void> {
    this.#open();
    const created = await this.#service.createSession({ systemPrompt: "Be brief." });
    this.sessionId = created.sessionId;
  }

  async end(): Promise<void> {
    await this.#service.close();
    await this.#stores.close();
  }

  async take(step: Step): Promise<void> {
    const { sessionId } = this;
    switch (step.does) {
      case "turn":
        this.#turn = step;
        await this.#service.startTurn({ sessionId, prompt: this.#text("asks", step.length) });
        return;
      case "restart":
        await this.end();
        this.#open();
        return;
      case "compact":
        await this.#service.compact({ sessionId });
        return;
      default:
        // A pin may be refused: out of range, too large, of a system message.
        await this.#service[step.does]({ sessionId, position: step.position }).catch((error) => {
          assert.ok(SessionError.is(error));
        });
    }
  }

  /** Every message is in the history, or memory and log have it. */
  async check(): Promise<void> {
    const view = await this.#service.read({ sessionId: this.sessionId });
    this.compactions = view.compactions;
    const held = new Set(view.history.map(({ id }) => id));
    const log = await Array.fromAsync(this.#stores.events.read(this.sessionId, 0));
    const spans = log.flatMap(({ event }) =>
      event.type === "compaction_completed" ? event.discarded : [],
    );
    const assembler = new MessageAssembler();
    const left: string[] = [];
    for (const stored of log) {
      const logged = assembler.push(stored);
      if (!logged || held.has(logged.id)) continue;
      const { id, message } = logged;
      assert.ok(
        spans.some(({ from, to }) => from <= id && id <= to),
        `${id} is nowhere`,
      );
      if (indexableText(message).trim() !== "") left.push(`${this.sessionId}:${id}`);
    }
    // A search waits for what is still to be indexed.
    await this.#service.searchMemory({ query: "fox" });
    assert.equal((await this.#stores.memory.read(left)).length, left.length);
  }

  #open(): void {
    this.#stores = sqliteStores({ path: this.#path, thread: "main" });
    const scripted = scriptedModel((request) => this.#reply(request));
    this.#service = createSessionService({
      // What comes back by itself is besides the tiers.
      recallTokens: 0,
      model: {
        id: scripted.id,
        stream: (request) => this.#checked(request, () => scripted.stream(request)),
      },
      stores: this.#stores,
      knowledge: false,
      compaction: this.#compaction,
    });
  }

  /** What the model is sent is the history, and nothing of it is missing anywhere. */
  async *#checked<Chunk>(request: ModelRequest, stream: () => AsyncIterable<Chunk>) {
    if (!asksForSummary(request)) {
      const { history } = await this.#service.read({ sessionId: this.sessionId });
      const sent = request.messages.filter((message) => !isRecord(message));
      assert.deepEqual(
        sent,
        history.map(({ message }) => message),
      );
    }
    yield* stream();
  }

  #reply(request: ModelRequest): ScriptedReply {
    if (asksForSummary(request)) {
      const summary = this.#summaries[this.#asked++ % this.#summaries.length] ?? "";
      return summary === "throws" ? { error: "PROVIDER_ERROR" } : summary;
    }
    const { calls, length } = this.#turn;
    this.#turn = { ...this.#turn, calls: Math.max(0, calls - 1) };
    const text = this.#text("answers", length);
    if (calls === 0) return text;
    return {
      text,
      toolCalls: [{ id: `c${this.#said}`, name: "datetime", args: { path: "a.ts" } }],
    };
  }

  #text(who: string, length: number): string {
    this.#said += 1;
    return `${who} ${this.#said}: ${WORDS.repeat(length)}`;
  }
}

function asksForSummary({ messages }: ModelRequest): boolean {
  return JSON.stringify(messages.at(-1)).includes("CONTEXT COMPACTION");
}

function isRecord(message: Message): boolean {
  return JSON.stringify(message).includes("[Task record]");
}

test("no message is ever outside all tiers, with every trigger, failure and restart", async () => {
  let compactions = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 5, maxLength: 25 }),
      settings,
      summaries,
      async (steps, compaction, summaries) => {
        const folder = await mkdtemp(join(tmpdir(), "rkat-tiers-"));
        const life = new Life(folder, compaction, summaries);
        try {
          await life.begin();
          for (const step of steps) {
            await life.take(step);
            await life.check();
          }
          compactions += life.compactions;
        } finally {
          await life.end();
          await rm(folder, { recursive: true, force: true });
        }
      },
    ),
    { numRuns: RUNS, seed: GIVEN_SEED ?? 20_260_101, endOnFailure: true },
  );
  if (LONG) note(`${compactions} compactions along the tiers`);
  expect(compactions).toBeGreaterThan(RUNS);
}, 120_000);
