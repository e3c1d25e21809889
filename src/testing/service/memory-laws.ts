import assert from "node:assert/strict";
import { setImmediate as nextTick } from "node:timers/promises";
import type { SearchMemory } from "../../core/operations/memory.ts";
import type { SessionService } from "../../core/session-service.ts";
import { expects, type Law, lawsOf } from "../law.ts";
import {
  assertCode,
  assertCompacts,
  EVERYTHING,
  LONG,
  type OpenService,
  systemPrompt,
} from "./service-scenes.ts";

/** Memory: adding, searching, listing, forgetting. */
export const memoryLaws: readonly Law<OpenService>[] = lawsOf({
  "memory is searched and listed by where sessions came from, and results say it": async (open) => {
    const service = await open({ capabilities: EVERYTHING });
    const sources = [
      { agent: "codex", nativeId: "c 1", project: "/a", branch: "main", title: "Foxes" },
      { agent: "claude-code", nativeId: "c2", project: "/a" },
      { agent: "claude-code", nativeId: "c3", project: "/b" },
    ];
    const said = ["den", "burrow", "earth"];
    for (const [index, source] of sources.entries()) {
      const { sessionId } = await service.createSession({ source });
      const content = `The vixen sleeps in the ${said[index]}.`;
      await service.appendMessages({ sessionId, messages: [{ role: "user", content }] });
    }
    const own = await service.createSession({});
    const content = "The vixen sleeps in the sun.";
    await service.appendMessages({ ...own, messages: [{ role: "user", content }] });
    await service.addMemory({ content: "The vixen sleeps in the note." });

    const last = (text: string) => text.split(/\W+/).at(-2) ?? text;
    const found = async (filter: Omit<Parameters<SessionService["searchMemory"]>[0], "query">) => {
      const hits = await service.searchMemory({ query: "vixen sleeps", minScore: 0, ...filter });
      const listed = await service.listMemory(filter);
      const texts = hits.map((hit) => last(hit.content)).sort();
      assert.deepEqual(listed.map((entry) => last(entry.content)).sort(), texts);
      return texts;
    };
    assert.deepEqual(await found({}), ["burrow", "den", "earth", "note", "sun"]);
    assert.deepEqual(await found({ agent: "claude-code" }), ["burrow", "earth"]);
    assert.deepEqual(await found({ project: "/a" }), ["burrow", "den"]);
    assert.deepEqual(await found({ agent: "codex", project: "/a", branch: "main" }), ["den"]);
    assert.deepEqual(await found({ agent: "codex", project: "/b" }), []);
    // Messages of rkat's own sessions, and entries that were added by hand.
    assert.deepEqual(await found({ agent: "rkat" }), ["note", "sun"]);
    const [den] = await service.searchMemory({ query: "vixen den", limit: 1 });
    assert.deepEqual(den?.from, { ...sources[0], open: "codex resume 'c 1'" });
    const [sun] = await service.searchMemory({ query: "vixen sun", limit: 1 });
    assert.equal(sun?.from, undefined);
  },
  "memory is searched by several questions, within its filters and within so many tokens": async (
    subject,
  ) => {
    const { service, sessionId } = await remembering(subject);
    const ports = { query: REMEMBERED[0] };
    const both = { query: [REMEMBERED[0], REMEMBERED[2]] };
    const found = async (request: SearchMemory) =>
      (await service.searchMemory({ minScore: 0.2, ...request })).map(({ content }) => content);
    const one = await found(ports);
    expects(one.includes(REMEMBERED[1]), `"${REMEMBERED[1]}" among the results`, one);
    const texts = await found(both);
    for (const text of [REMEMBERED[1], REMEMBERED[3]]) {
      expects(texts.includes(text), `"${text}" among the results`, texts);
    }
    assert.equal(new Set(texts).size, texts.length);
    assert.equal((await found({ ...both, limit: 1 })).length, 1);
    const answers = await found({ ...both, role: "assistant" });
    expects(
      answers.every((text) => !text.includes("?")),
      "only what the assistant said",
      answers,
    );
    assert.deepEqual(await found({ ...both, kind: "rule" }), []);
    assert.deepEqual(await found({ ...both, sessionId: UNKNOWN_ID }), []);
    assert.deepEqual(await found({ ...both, until: "2001-01-01" }), []);
    assert.deepEqual(await found({ ...both, since: "2001-01-01", sessionId }), texts);
    assert.deepEqual(new Set(await found({ ...both, minScore: 1 })), new Set(both.query));
    const [best = ""] = texts;
    const maxTokens = Math.ceil(best.length / 4);
    assert.deepEqual(await found({ ...both, maxTokens }), [best]);
  },
  "a text that is added is found once, and makes no rule": async (open) => {
    const service = await open({ capabilities: EVERYTHING });
    const content = "Always deploy the barge from the release branch.";
    const first = await service.addMemory({ content });
    assert.equal(first.added, true);
    assert.deepEqual(await service.addMemory({ content }), { id: first.id, added: false });
    const found = await service.searchMemory({ query: "deploy the barge" });
    assert.deepEqual(
      found.map((hit) => [hit.id, hit.content]),
      [[first.id, content]],
    );
    assert.deepEqual(await service.listKnowledge({}), []);
    const { sessionId } = await service.createSession({});
    assert.doesNotMatch(await systemPrompt(service, sessionId), /barge/);
    assert.equal((await service.forgetMemory({ ids: [first.id] })).forgotten, 1);
    assert.deepEqual(await service.searchMemory({ query: "deploy the barge" }), []);
  },
  "a text that was added is corrected and pinned, says what it said before, and is forgotten with that":
    async (open) => {
      const service = await open({ capabilities: EVERYTHING });
      const { id } = await service.addMemory({ content: "The barge is called Otter." });
      const { sessionId } = await service.createSession({});
      const content = "The barge is called Otter.";
      await service.appendMessages({ sessionId, messages: [{ role: "user", content }] });
      const pinned = await service.editMemory({ id, pinned: true });
      assert.deepEqual([pinned.id, pinned.pinned, pinned.earlier], [id, true, undefined]);
      const edited = await service.editMemory({ id, content: "The barge is called Heron." });
      assert.deepEqual(
        edited.earlier?.map((text) => [text.id, text.content]),
        [[id, "The barge is called Otter."]],
      );
      assert.equal(edited.pinned, true);
      assert.deepEqual(await service.listMemory({ id }), []);
      assert.deepEqual(await service.listMemory({ marked: true }), [edited]);
      const found = await service.searchMemory({ query: "barge called Heron", limit: 1 });
      assert.deepEqual(
        found.map((hit) => [hit.id, hit.pinned]),
        [[edited.id, true]],
      );
      assert.doesNotMatch(JSON.stringify(found), /Otter/);
      await assertCode(service.editMemory({ id, pinned: true }), "KNOWLEDGE_NOT_FOUND");
      // A message stays as it was said.
      const [said] = await service.listMemory({ sessionId });
      assert.ok(said);
      await assertCode(service.editMemory({ id: said.id, content: "No." }), "NOT_POSSIBLE");
      // Forgetting what says the same takes an earlier text too, and forgetting the entry all of it.
      await service.forgetMemory({ ids: [said.id] });
      const [left] = await service.listMemory({ marked: true });
      assert.deepEqual([left?.content, left?.earlier], ["The barge is called Heron.", undefined]);
      assert.equal((await service.forgetMemory({ ids: [edited.id] })).forgotten, 1);
      assert.deepEqual(await service.listMemory({}), []);
    },
  "memory returns the messages around a result, and the parts of its score": async (subject) => {
    const { service } = await remembering(subject);
    const query = REMEMBERED[1];
    const [hit] = await service.searchMemory({ query, neighbours: 1, explain: true });
    assert.equal(hit?.content, query);
    assert.deepEqual(
      [hit.neighbours?.before, hit.neighbours?.after].map((entries) =>
        entries?.map(({ content }) => content),
      ),
      [[REMEMBERED[0]], [REMEMBERED[2]]],
    );
    expects((hit.explanation?.parts.length ?? 0) > 0, "an explanation with parts", hit);
    const [bare] = await service.searchMemory({ query });
    assert.equal(bare?.neighbours, undefined);
    assert.equal(bare?.explanation, undefined);
  },
  "a misspelled word finds what it means, and the result says what that is": async (subject) => {
    const { service } = await remembering(subject);
    const [hit] = await service.searchMemory({ query: "keeps the lighthuose" });
    expects(hit?.content.includes("lighthouse") ?? false, "the lighthouse", hit);
    assert.equal(hit?.didYouMean, "keeps the lighthouse");
    const [right] = await service.searchMemory({ query: "keeps the lighthouse" });
    assert.equal(right?.didYouMean, undefined);
  },
  "a search puts what holds now before what it replaced, and each says the other": async (open) => {
    const service = await open({ capabilities: EVERYTHING });
    const older = "The request limit of the harbour is 100 a minute.";
    const newer = "The request limit of the harbour is 250 a minute.";
    const { id: first } = await service.addMemory({ content: older });
    // Two texts of the same millisecond have no order.
    for (const at = Date.now(); Date.now() === at; ) await nextTick();
    const { id: second } = await service.addMemory({ content: newer });
    for (const query of ["request limit of the harbour", "harbour limit of 100 a minute"]) {
      const hits = await service.searchMemory({ query });
      assert.deepEqual(
        hits.map(({ content, replaces, replacedBy }) => [
          content,
          replaces?.id ?? replacedBy?.id,
          replaces?.said ?? replacedBy?.said,
        ]),
        [
          [newer, first, "100"],
          [older, second, "250"],
        ],
      );
      const [now] = await service.searchMemory({ query, limit: 1 });
      assert.equal(now?.content, newer);
    }
  },
  "a question that has only a time lists what was said then, as of when it is asked": async (
    subject,
  ) => {
    const { service } = await remembering(subject);
    const query = "what did we say in the last two days";
    const said = async (at?: string) => {
      const hits = await service.searchMemory({ query, ...(at === undefined ? {} : { at }) });
      return hits.some(({ content }) => content === REMEMBERED[1]);
    };
    assert.equal(await said(), true);
    assert.equal(await said(`${new Date().toISOString()}[Asia/Tokyo]`), true);
    assert.equal(await said("2020-01-01T00:00:00+01:00[Europe/Berlin]"), false);
    await assert.rejects(said("2020-01-01T00:00:00Z[Nowhere/Land]"), { code: "INVALID_PARAMS" });
  },
  "memory is listed page by page and counted, of the project or of one session": async (
    subject,
  ) => {
    const { service, sessionId } = await remembering(subject);
    const [first, ...rest] = await service.listMemory({});
    expects(first, "an entry", first);
    assert.deepEqual(
      [first, ...rest].map(({ content }) => content),
      [...REMEMBERED, ...SHOWN],
    );
    const page = await service.listMemory({ limit: 2, after: first.id });
    assert.deepEqual(page, rest.slice(0, 2));
    assert.equal((await service.listMemory({ role: "user", sessionId })).length, 4);
    const { entries, sessions, textBytes } = await service.memoryStats({});
    const bytes = [...REMEMBERED, ...SHOWN].join("").length;
    assert.deepEqual(
      { entries, sessions, textBytes },
      { entries: 8, sessions: 1, textBytes: bytes },
    );
    assert.equal((await service.memoryStats({ sessionId: UNKNOWN_ID })).entries, 0);
  },
  "a forgotten text is found no more, by any search, and nothing else is gone": async (subject) => {
    const { service, sessionId } = await remembering(subject);
    const [, port] = await service.listMemory({});
    expects(port, "an entry with the port", port);
    const log = `${sessionId}:1`;
    const receipt = await service.forgetMemory({ ids: [port.id, "no such id", log] });
    assert.equal(receipt.forgotten, 1);
    assert.deepEqual(receipt.remaining, []);
    assert.deepEqual(receipt.notFound, ["no such id", log]);
    const query = "staging port 7443";
    const { history } = await service.read({ sessionId });
    for (const left of [
      await service.searchMemory({ query }),
      await service.searchHistory({ query }),
      history,
    ]) {
      expects(!JSON.stringify(left).includes("7443"), "nothing that has the forgotten 7443", left);
    }
    assert.equal((await service.memoryStats({})).entries, 7);
    assert.equal((await service.searchHistory({ query: "lighthouse" })).length, 2);
    assert.equal((await service.startTurn({ sessionId, prompt: "go on" })).text, "ok");

    assert.equal((await service.forgetMemory({ sessionId })).forgotten, 9);
    assert.deepEqual(await service.listMemory({}), []);
    assert.deepEqual(await service.searchHistory({ query: "lighthouse" }), []);
  },
  "a summary that told of a forgotten text is written again, and the receipt names every place":
    async (open) => {
      const replies = [
        "Noted.",
        "It is lit.",
        "ok",
        "So Vanderhoof takes 732158846, landlord that he is.",
      ];
      const compaction = { recentTurnBudget: 1 };
      const service = await open({ capabilities: EVERYTHING, compaction, replies });
      const { sessionId } = await service.createSession({});
      const said = "My landlord Quillonbrax Vanderhoof charges 732158846 zorkmids.";
      for (const prompt of [said, `Light the lamp. ${LONG}`, "the last one"]) {
        await service.startTurn({ sessionId, prompt });
      }
      await assertCompacts(service, sessionId);
      const [landlord] = await service.listMemory({});
      const { forgotten, remaining, cleaned, notCleaned } = await service.forgetMemory({
        ids: [landlord?.id ?? ""],
      });
      assert.deepEqual({ forgotten, remaining }, { forgotten: 1, remaining: [] });
      const places = cleaned.map(({ place }) => place);
      for (const place of ["log", "message", "summary", "window", "memory", "index"] as const) {
        expects(places.includes(place), `${place} among the cleaned places`, places);
      }
      // A server keeps the rows that it deletes for a while.
      const left = notCleaned.map(({ place }) => place).filter((place) => place !== "dead_rows");
      assert.deepEqual(left.sort(), ["backups", "open_requests", "write_ahead_log"]);
      const { history } = await service.read({ sessionId });
      assert.doesNotMatch(JSON.stringify(history), /landlord|Vanderhoof|732158846/);
      assert.match(JSON.stringify(history), /Light the lamp/);
      assert.deepEqual(await service.searchHistory({ query: "Vanderhoof 732158846" }), []);
    },
  "a session that was never compacted is forgotten as a whole": async (open) => {
    const replies = ["The staging port is 7443."];
    const service = await open({ capabilities: EVERYTHING, replies });
    const { sessionId } = await service.createSession({});
    await service.startTurn({ sessionId, prompt: "which port does staging use?" });
    assert.equal((await service.forgetMemory({ sessionId })).forgotten, 2);
    assert.deepEqual(await service.searchHistory({ query: "staging port 7443" }), []);
    const { history } = await service.read({ sessionId });
    assert.doesNotMatch(JSON.stringify(history), /staging|7443/);
  },
});

/** The id of no session. */
const UNKNOWN_ID = "00000000-0000-7000-8000-000000000000";

/** The messages that `remembering` compacts away, in order: long enough that a summary is shorter. */
const REMEMBERED = [
  "which port does staging use?",
  "The staging port is 7443.",
  "who keeps the lighthouse?",
  "Ottilie keeps the lighthouse.",
  "a fable, please",
  LONG,
] as const;

/** The last turn of `remembering`, which the window still shows. */
const SHOWN = ["more", "ok"] as const;

/** A service that has compacted three turns away. */
async function remembering(
  open: OpenService,
): Promise<{ readonly service: SessionService; readonly sessionId: string }> {
  const service = await open({
    capabilities: EVERYTHING,
    compaction: { recentTurnBudget: 1 },
    replies: [REMEMBERED[1], REMEMBERED[3], LONG, SHOWN[1], "The summary."],
  });
  const { sessionId } = await service.createSession({});
  for (const prompt of [REMEMBERED[0], REMEMBERED[2], REMEMBERED[4], SHOWN[0]]) {
    await service.startTurn({ sessionId, prompt });
  }
  await service.compact({ sessionId });
  return { service, sessionId };
}
