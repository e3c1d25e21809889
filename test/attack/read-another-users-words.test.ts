import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { createSessionService, type SessionService } from "../../src/index.ts";
import { sqliteStores } from "../../src/sqlite.ts";
import { ephemeralStores } from "../../src/stores/ephemeral/ephemeral-stores.ts";
import { type ScriptedReply, scriptedModel } from "../../src/testing.ts";
import { askEverything, everythingOf, type Known } from "../support/ask-everything.ts";
import { temporaryFolder } from "../support/obey.ts";
import { LONG } from "../support/trials.ts";

/** Words that Ada's secrets stand beside. Others may guess them, and search for them. */
const WORDS = "vault code garden";

/** A service with everything, whose model calls a tool when it is asked to. */
async function openService(thread: "sqlite" | "ephemeral" = "sqlite") {
  const place = await temporaryFolder();
  const model = scriptedModel(({ messages }): ScriptedReply => {
    const last = messages.findLast(({ role }) => role === "user");
    const text = last && "content" in last ? JSON.stringify(last.content) : "";
    const answered = messages.at(-1)?.role === "tool_results";
    const [, tool, note] = /call (\w+) with ([\w -]+)/.exec(text) ?? [];
    if (!tool || answered) return `I heard: ${text}`;
    return { toolCalls: [{ id: `c${messages.length}`, name: tool, args: { query: note } }] };
  });
  const stores =
    thread === "sqlite" ? sqliteStores({ path: join(place, "rkat.db") }) : ephemeralStores();
  const service = createSessionService({
    model,
    stores,
    sessionFiles: join(place, "sessions"),
    compaction: {},
    approvals: { policies: { datetime: "ask" }, approve: () => "later" },
  });
  onTestFinished(async () => {
    await service.close();
    await stores.close();
  });
  return { service, model };
}

/** Says a secret in every way that there is. Returns what another user may come to know. */
async function confide(ada: SessionService, secret: string): Promise<Known> {
  const labels = { about: secret };
  const { sessionId } = await ada.createSession({ labels, systemPrompt: `The ${secret} session.` });
  const deleted = await ada.createSession({ labels });
  await ada.delete(deleted);
  const said = `Always open the ${WORDS} with ${secret}.`;
  await ada.startTurn({ sessionId, prompt: said });
  await ada.startTurn({ sessionId, prompt: `call memory_search with ${secret} ${WORDS}` });
  await ada.updateTask({ sessionId, goal: secret, notes: { [secret]: secret }, add: [secret] });
  const { history } = await ada.read({ sessionId });
  const message = history.find((each) => each.message.role === "user")?.id ?? 0;
  await ada.pin({ sessionId, message });
  await ada.addKnowledge({ content: `Never tell the ${WORDS} ${secret}.`, kind: "rule" });
  await ada.startTurn({ sessionId, prompt: `call datetime with ${secret}` });
  const [waiting] = await ada.listApprovals({ sessionId });
  const [knowledge] = await ada.listKnowledge({ kind: "preference" });
  return {
    sessionId,
    message,
    approvalId: waiting?.approvalId ?? "",
    knowledgeId: knowledge?.id ?? "",
    memoryId: `${sessionId}:${message}`,
    words: WORDS,
  };
}

describe.each(["sqlite", "ephemeral"] as const)("in one service with %s stores", (kind) => {
  test.each([
    ["another user", (service: SessionService) => service.forUser("bob")],
    ["a caller without a user", (service: SessionService) => service],
  ])("%s asks everything about Ada's session, and is told nothing", async (_, actAs) => {
    const { service, model } = await openService(kind);
    const ada = service.forUser("ada");
    const known = await confide(ada, "heron5128");
    for (const id of Object.values(known)) expect(id).toBeTruthy();
    const before = await everythingOf(ada);
    expect(before).toContain("heron5128");

    const bob = actAs(service);
    const sent = model.requests.length;
    const answers = await askEverything(bob, known);
    const { sessionId } = await bob.createSession({});
    for (const tool of ["memory_search", "search_project_history"]) {
      await bob.startTurn({ sessionId, prompt: `call ${tool} with ${WORDS}` });
    }
    for (const { operation, text } of answers)
      expect(`${operation} ${text}`).not.toContain("heron");
    expect(JSON.stringify(model.requests.slice(sent))).not.toContain("heron");
    expect(await everythingOf(bob)).not.toContain("heron");
    expect((await everythingOf(ada)) === before).toBe(true);
  });

  test("Ada's session is no more there for another user than one that was never created", async () => {
    const { service } = await openService(kind);
    const known = await confide(service.forUser("ada"), "heron5128");
    const never = "019467d9-7e3a-7000-8000-000000000000";
    const invented = {
      ...known,
      sessionId: never,
      approvalId: "a-never",
      memoryId: `${never}:${known.message}`,
      knowledgeId: `preference:${never}:1:0`,
    };
    const shown = (text: string, { sessionId, knowledgeId }: Known) =>
      text.replaceAll(knowledgeId, "K").replaceAll(sessionId, "S");
    // Each in a service of its own: asking adds sessions and knowledge.
    const [one, other] = await Promise.all(
      [known, invented].map(async (ids) => {
        const answers = await askEverything(service.forUser(`bob ${ids.sessionId}`), ids);
        return answers
          .filter(({ code }) => code !== undefined)
          .map(({ operation, text }) => `${operation} ${shown(text, ids)}`);
      }),
    );
    expect(one).toEqual(other);
    expect(one?.length).toBeGreaterThan(15);
  });
});

test("one user's PIN is found by no log search of another, and one user's wish is in no prompt of another", async () => {
  const { service, model } = await openService();
  const [ada, bob] = [service.forUser("ada"), service.forUser("bob")];
  const { sessionId } = await ada.createSession({});
  await ada.startTurn({ sessionId, prompt: "My PIN is 5128. Always answer in French." });
  const [learned] = await ada.listKnowledge({ kind: "preference" });
  expect(learned?.content).toBe("Always answer in French.");
  const next = await bob.createSession({});
  await bob.startTurn({ ...next, prompt: "call search_project_history with PIN" });
  const sent = JSON.stringify(model.requests.slice(-2));
  expect(sent).not.toContain("5128");
  expect(sent).not.toContain("French");
  expect(JSON.stringify(await ada.searchHistory({ query: "PIN" }))).toContain("5128");
  expect(JSON.stringify(await ada.read(await ada.createSession({})))).toContain("French");
});

const USERS = ["ada", "bob", undefined] as const;

/** What somebody does, with a word that nobody else uses. */
const ACTS: Readonly<
  Record<string, (service: SessionService, word: string, at: { sessionId: string }) => unknown>
> = {
  says: (service, word, at) => service.startTurn({ ...at, prompt: `The key is ${word}.` }),
  wishes: (service, word, at) => service.startTurn({ ...at, prompt: `Always use ${word}.` }),
  searches: (service, word, at) =>
    service.startTurn({ ...at, prompt: `call memory_search with key ${word}` }),
  "searches logs": (service, word, at) =>
    service.startTurn({ ...at, prompt: `call search_project_history with key ${word}` }),
  asks: (service, word, at) => service.startTurn({ ...at, prompt: `call datetime with ${word}` }),
  async denies(service, word) {
    const [call] = await service.listApprovals({});
    if (call) await service.answerApproval({ ...idsOf(call), decision: "deny", reason: word });
  },
  notes: (service, word, at) => service.updateTask({ ...at, notes: { key: word } }),
  fails: (service, word) => service.read({ sessionId: word }),
  async forgets(service) {
    const [entry] = await service.listMemory({ limit: 1 });
    if (entry) await service.forgetMemory({ ids: [entry.id] });
  },
  records: (service, word, at) =>
    service.appendMessages({ ...at, messages: [{ role: "user", content: word }] }),
  async deletes(service) {
    const [session] = await service.list({ limit: 1 });
    if (session) await service.delete({ sessionId: session.sessionId });
  },
  restores: (service) => service.list({ deleted: true }),
  compacts: (service, _, at) => service.compact(at),
  distils: (service) => service.distillKnowledge({}),
};

test("whatever users do in one service, none is told a word of another", async () => {
  const act = fc.record({
    by: fc.constantFrom(...USERS),
    does: fc.constantFrom(...Object.keys(ACTS)),
    inNewSession: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 4, maxLength: 20 }), async (acts) => {
      const { service, model } = await openService("ephemeral");
      const actingAs = (user: string | undefined) => (user ? service.forUser(user) : service);
      const at = new Map<string | undefined, { sessionId: string }>();
      const toldTo = new Map<string | undefined, string>();
      const tell = (user: string | undefined, what: unknown) =>
        toldTo.set(user, (toldTo.get(user) ?? "") + JSON.stringify(what ?? null));
      for (const [index, { by, does, inNewSession }] of acts.entries()) {
        const acting = actingAs(by);
        const known = inNewSession ? undefined : at.get(by);
        const session = known ?? (await acting.createSession({}));
        at.set(by, session);
        const sent = model.requests.length;
        // A failure is told too, such as that of a turn in a session that was deleted.
        tell(by, await settled(() => ACTS[does]?.(acting, wordOf(by, index), session)));
        tell(by, model.requests.slice(sent));
      }
      for (const user of USERS) {
        const acting = actingAs(user);
        tell(user, await acting.read(await acting.createSession({})));
        tell(user, await everythingOf(acting));
        tell(user, await acting.searchMemory({ query: "key use", minScore: 0, limit: 1000 }));
        tell(user, await acting.searchHistory({ query: "key", limit: 200 }));
        const words = toldTo.get(user)?.match(/word[a-z]+\d+/g) ?? [];
        expect(words.filter((word) => !word.startsWith(wordOf(user)))).toEqual([]);
      }
    }),
    { numRuns: LONG ? 200 : 15 },
  );
});

async function settled(work: () => unknown): Promise<unknown> {
  try {
    return await work();
  } catch (error) {
    return String(error);
  }
}

function wordOf(user: string | undefined, number: number | "" = ""): string {
  return `word${user ?? "nobody"}${number}`;
}

function idsOf({ sessionId, approvalId }: { sessionId: string; approvalId: string }) {
  return { sessionId, approvalId };
}
