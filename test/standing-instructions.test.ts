import { join } from "node:path";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import type { CompactionCompleted, DurableEvent, SessionEvent } from "../src/core/event.ts";
import { contentText, type Message } from "../src/core/message.ts";
import { createSessionService, type SessionService } from "../src/index.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { type ScriptedModel, scriptedModel } from "../src/testing.ts";
import { temporaryFolder } from "./support/obey.ts";
import { trials } from "./support/trials.ts";

const LONG = "The quick brown fox considers the merits of jumping over the lazy dog. ".repeat(40);

type PromptEvent = Extract<DurableEvent, { type: "run_started" }>;

interface Opened {
  readonly service: SessionService;
  readonly model: ScriptedModel;
  close(): Promise<void>;
}

/** A session whose summaries tell nothing of what the user said. */
class Session {
  readonly events: SessionEvent[] = [];
  readonly #open: () => Opened;
  #opened: Opened;
  readonly id: string;

  private constructor(open: () => Opened, opened: Opened, id: string) {
    this.#open = open;
    this.#opened = opened;
    this.id = id;
  }

  static async open(autoCompactThreshold = 3000): Promise<Session> {
    const path = join(await temporaryFolder(), "rkat.db");
    const open = () => {
      const stores = sqliteStores({ path });
      const model = scriptedModel(() => LONG);
      const service = createSessionService({
        model,
        stores,
        compaction: {
          autoCompactThreshold,
          minTurnsBetweenCompactions: 1,
          recentTurnBudget: 1,
          // What people said stands below the summary anyway. These tests are about what outlasts that.
          userWordsTokens: 0,
          summarizer: scriptedModel(() => "The fox was considered, and so was the dog."),
        },
      });
      let closing: Promise<void> | undefined;
      const close = () => {
        closing ??= service.close().then(() => stores.close());
        return closing;
      };
      return { service, model, close };
    };
    const opened = open();
    const { sessionId } = await opened.service.createSession({});
    const session = new Session(open, opened, sessionId);
    onTestFinished(() => session.close());
    return session;
  }

  get service(): SessionService {
    return this.#opened.service;
  }

  async restart(): Promise<void> {
    await this.close();
    this.#opened = this.#open();
  }

  close(): Promise<void> {
    return this.#opened.close();
  }

  async say(prompt: string, more: object = {}): Promise<PromptEvent> {
    const seen: SessionEvent[] = [];
    const onEvent = ({ payload }: { readonly payload: SessionEvent }) => void seen.push(payload);
    await this.service.startTurn({ sessionId: this.id, prompt, ...more }, { onEvent });
    this.events.push(...seen);
    return seen.find((event) => event.type === "run_started") as PromptEvent;
  }

  async compact(): Promise<void> {
    const onEvent = ({ payload }: { readonly payload: SessionEvent }) =>
      void this.events.push(payload);
    await this.service.compact({ sessionId: this.id }, { onEvent });
  }

  /** What the model was sent last. */
  get sent(): string {
    const { messages = [] } = this.#opened.model.requests.at(-1) ?? {};
    return messages.map(textOf).join("\n");
  }

  get compactions(): readonly CompactionCompleted[] {
    return this.events.filter((event) => event.type === "compaction_completed");
  }
}

function textOf(message: Message): string {
  if (message.role === "system") return message.content;
  return message.role === "user" ? contentText(message.content) : "";
}

test("what a user says to hold survives every compaction, word for word, and the report counts it", async () => {
  const session = await Session.open();
  await session.say("Never use the network. Now look at the parser.");
  await session.say("Constraint: only edit files under src/");
  await session.say("From now on answer in German. What do you think?");
  for (let turn = 0; turn < 12; turn += 1) await session.say(`Question ${turn}?`);
  await session.restart();
  await session.say("Where were we?");
  expect(session.compactions.length).toBeGreaterThan(4);
  expect(session.sent).toContain("Never use the network.");
  expect(session.sent).toContain("Constraint: only edit files under src/");
  expect(session.sent).toContain("From now on answer in German.");
  expect(session.compactions.at(-1)?.report?.survived.instructions).toBe(3);
  const { history } = await session.service.read({ sessionId: session.id });
  expect(JSON.stringify(history)).not.toContain("only edit files under src/");
});

test("a later word that contradicts an instruction replaces it, and the event says so", async () => {
  const session = await Session.open();
  await session.say("Always deploy with Terraform.");
  await session.say("Never use the network.");
  const later = await session.say("Always deploy with Pulumi.");
  expect(later.instructions).toEqual([
    { id: 3, text: "Always deploy with Pulumi.", replaces: [1], lasting: true },
  ]);
  expect((await session.say("You may use the network now.")).instructions).toEqual([
    { id: 4, text: "You may use the network now.", replaces: [2] },
  ]);
  for (let turn = 0; turn < 4; turn += 1) await session.say(`Question ${turn}?`);
  await session.compact();
  await session.say("Go on.");
  expect(session.sent).toContain("Always deploy with Pulumi.");
  expect(session.sent).toContain("You may use the network now.");
  expect(session.sent).not.toContain("Terraform");
  expect(session.sent).not.toContain("Never use the network");
  const rules = await session.service.listKnowledge({ kind: "rule" });
  const texts = rules.map(({ content }) => content);
  expect(texts).toContain("Always deploy with Pulumi.");
  expect(texts).not.toContain("Always deploy with Terraform.");
});

test("what a user takes back holds no more, here and in later sessions, and the withdrawal is no rule", async () => {
  const session = await Session.open();
  await session.say("Always use tabs.");
  await session.say("Never push without asking me.");
  const back = await session.say("Forget what I said about tabs, four spaces please.");
  expect(back.instructions).toEqual([
    { id: 3, text: "Forget what I said about tabs, four spaces please.", replaces: [1] },
  ]);
  const idle = await session.say("Forget what I said about lunch.");
  expect(idle.instructions).toBeUndefined();
  await session.say("You can push without asking me now.");
  for (let turn = 0; turn < 4; turn += 1) await session.say(`Question ${turn}?`);
  await session.compact();
  await session.say("Go on.");
  expect(session.sent).toContain("- Forget what I said about tabs, four spaces please.");
  expect(session.sent).toContain("- You can push without asking me now.");
  expect(session.sent).not.toContain("Always use tabs");
  expect(session.sent).not.toContain("Never push");
  const rules = await session.service.listKnowledge({ kind: "rule" });
  expect(rules.map(({ content }) => content)).toEqual(["Never push without asking me."]);
});

const MANY = trials(8, 20, "cases");

test(`of ${50 * MANY} instructions the newest are kept within a budget, and the report names the messages of others`, async () => {
  const session = await Session.open(4000);
  for (let turn = 0; turn < MANY; turn += 1) {
    const said = Array.from({ length: 50 }, (_, n) => `Never open the door ${turn * 50 + n}a.`);
    await session.say(said.join(" "));
  }
  await session.compact();
  await session.say("Go on.");
  expect(session.sent).toContain(`Never open the door ${50 * MANY - 1}a.`);
  expect(session.sent).not.toContain("Never open the door 0a.");
  const { report } = session.compactions.at(-1) as CompactionCompleted;
  const kept = report?.survived.instructions ?? 0;
  expect(kept).toBeGreaterThan(50);
  expect(kept).toBeLessThan(100);
  expect(report?.instructions_left_out).toHaveLength(MANY - Math.floor(kept / 50));
});

test("a forgotten instruction is sent no more", async () => {
  const session = await Session.open();
  await session.say("Never mention the Quillonbrax account. Now look at the parser.");
  for (let turn = 0; turn < 5; turn += 1) await session.say(`Question ${turn}?`);
  expect(session.sent).toContain("Quillonbrax");
  const [entry] = await session.service.searchMemory({ query: "Quillonbrax", kind: "message" });
  await session.service.forgetMemory({ ids: [entry?.id ?? ""] });
  await session.say("Go on.");
  expect(session.sent).not.toContain("Quillonbrax");
});

test("a rule that is forgotten is no instruction of its session either", async () => {
  const session = await Session.open();
  await session.say("Always mention the Quillonbrax account. Now look at the parser.");
  const held = async () => (await session.service.read({ sessionId: session.id })).instructions;
  expect(await held()).toMatchObject([{ id: 1, text: "Always mention the Quillonbrax account." }]);
  const [rule] = await session.service.listKnowledge({ kind: "rule" });
  await session.service.forgetKnowledge({ knowledgeId: rule?.id ?? "" });
  expect(await held()).toEqual([]);
  for (let turn = 0; turn < 5; turn += 1) await session.say(`Question ${turn}?`);
  expect(session.compactions.length).toBeGreaterThan(0);
  expect(session.sent).not.toContain("Quillonbrax");
});

test("what a file or a program sends is no instruction of the user", async () => {
  const session = await Session.open();
  for (const author of ["file", "program", "model"] as const) {
    const event = await session.say("Never use the network.", { origin: { author } });
    expect(event.instructions).toBeUndefined();
  }
});

const SUBJECTS = ["network", "lock file", "database", "clipboard", "printer", "proxy"];

/** A sentence about one of a few subjects: forbidden or allowed. The later of two on one subject holds. */
const sentence = fc.record({
  subject: fc.constantFrom(...SUBJECTS),
  form: fc.constantFrom("Never use the", "Do not use the", "You may use the", "Always use the"),
});

const step = fc.oneof(
  { weight: 3, arbitrary: sentence.map((said) => ({ does: "instruct" as const, ...said })) },
  { weight: 4, arbitrary: fc.constant({ does: "ask" as const }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom({ does: "compact" as const }, { does: "restart" as const }),
  },
);

test("in random sessions, each instruction that was not replaced is in what the model is sent, word for word", async () => {
  let compactions = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 12, maxLength: 30 }), async (steps) => {
      const session = await Session.open(2500);
      const holds = new Map<string, string>();
      for (const [index, taken] of steps.entries()) {
        if (taken.does === "compact") await session.compact();
        if (taken.does === "restart") await session.restart();
        if (taken.does === "ask") await session.say(`Question ${index}?`);
        if (taken.does !== "instruct") continue;
        const text = `${taken.form} ${taken.subject}.`;
        await session.say(`Look at part ${index}. ${text}`);
        holds.set(taken.subject, text);
      }
      await session.say("And now?");
      for (const text of holds.values()) expect(session.sent).toContain(text);
      compactions += session.compactions.length;
      await session.close();
    }),
    { numRuns: trials(2, 200) },
  );
  expect(compactions).toBeGreaterThan(8);
});
