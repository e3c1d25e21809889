import assert from "node:assert/strict";
import type { PendingApproval } from "../../core/approval.ts";
import type { KnowledgeEntry } from "../../core/knowledge.ts";
import { toolResults } from "../../core/message.ts";
import type { SessionService } from "../../core/session-service.ts";
import { durable, expects, type Law, lawsOf } from "../law.ts";
import type { ScriptedReply } from "../scripted-model.ts";
import {
  assertCode,
  assertWholeCalls,
  EVERYTHING,
  type OpenService,
  systemPrompt,
} from "./service-scenes.ts";

/** Approvals, and the knowledge that a project gains. */
export const learningLaws: readonly Law<OpenService>[] = lawsOf({
  "a call that needs approval waits, is answered after everything was closed, and its turn goes on":
    durable(async (open) => {
      const setup = { capabilities: EVERYTHING, approvals: ASKS_AT_ONCE };
      const first = await (await open())({ ...setup, replies: [asksForTime("a")] });
      const { sessionId } = await first.createSession({});
      const turn = await first.startTurn({ sessionId, prompt: "what time is it?" });
      assert.equal(turn.stopReason, "approval_required");
      await first.close();

      const second = await (await open())({ ...setup, replies: ["it is late"] });
      const [approval, ...others] = await second.listApprovals({});
      assert.deepEqual(others, []);
      expects(approval, "a call that waits for approval", approval);
      const { approvalId, requestedAt, mayAnswer, ...rest } = approval;
      expects(mayAnswer?.includes("user"), "a user who may answer", mayAnswer);
      expects(Date.parse(requestedAt) > 0, "a date and time", requestedAt);
      assert.deepEqual(rest, {
        sessionId,
        toolUseId: "a",
        tool: "datetime",
        args: { time_zone: "Europe/Berlin" },
        goal: "what time is it?",
      });
      const answer = { sessionId, approvalId, decision: "allow" } as const;
      const answered = await second.answerApproval(answer);
      assert.deepEqual(answered, { sessionId, continues: false, waiting: 0 });
      await assertCode(second.answerApproval(answer), "APPROVAL_NOT_FOUND");
      const resumed = await second.resume({ sessionId });
      assert.deepEqual([resumed.text, resumed.toolCalls], ["it is late", 1]);
      await assertWholeCalls(second, sessionId);
      await assertCode(second.resume({ sessionId }), "NOT_POSSIBLE");
    }),
  "a turn that waits for approval goes on as soon as it is answered": async (open) => {
    const setup = { capabilities: EVERYTHING, approvals: { ...ASKS_AT_ONCE, timeoutMs: 60_000 } };
    const service = await open({ ...setup, replies: [asksForTime("a"), "it is late"] });
    const { sessionId } = await service.createSession({});
    const seen: string[] = [];
    const turn = service.startTurn(
      { sessionId, prompt: "what time is it?" },
      { onEvent: ({ payload }) => seen.push(payload.type) },
    );
    const { approvalId } = await waitingCall(service);
    const answered = await service.answerApproval({ sessionId, approvalId, decision: "allow" });
    assert.deepEqual(answered, { sessionId, continues: true, waiting: 0 });
    assert.equal((await turn).text, "it is late");
    assert.deepEqual(
      seen.filter((type) => type.startsWith("tool_")),
      [
        "tool_call_requested",
        "tool_approval_requested",
        "tool_approval_resolved",
        "tool_execution_started",
        "tool_execution_completed",
        "tool_result_received",
      ],
    );
  },
  "a denial tells the model why, and changes the system prompt of the next session": async (
    open,
  ) => {
    const setup = { capabilities: EVERYTHING, approvals: ASKS_AT_ONCE };
    const service = await open({ ...setup, replies: [asksForTime("a"), "I see"] });
    const { sessionId } = await service.createSession({});
    await service.startTurn({ sessionId, prompt: "plan the day" });
    const { approvalId } = await waitingCall(service);
    const reason = "Look at the calendar instead.";
    await service.answerApproval({ sessionId, approvalId, decision: "deny", reason });
    assert.equal((await service.resume({ sessionId })).text, "I see");
    const { history } = await service.read({ sessionId });
    const results = history.flatMap(({ message }) => toolResults(message));
    assert.match(results[0]?.content ?? "", /denied.*Look at the calendar instead\./);

    const [correction] = await service.listKnowledge({ kind: "correction" });
    assert.deepEqual(
      [correction?.tool, correction?.reason, correction?.goal],
      ["datetime", reason, "plan the day"],
    );
    const [rule] = await service.listKnowledge({ kind: "rule" });
    const { id, lastTime: time, source: { to: seq } = { to: 0 } } = correction ?? { id: "" };
    assert.deepEqual(rule?.restsOn, [{ id, origin: "user", sessionId, seq, time, said: reason }]);
    assert.deepEqual(await service.readKnowledge({ knowledgeId: rule?.id ?? "" }), rule);
    const next = await service.createSession({});
    assert.match(
      await systemPrompt(service, next.sessionId),
      /## Learned Behavioral Rules[\s\S]*1\. [\s\S]*datetime[\s\S]*Look at the calendar instead\./,
    );
    assert.doesNotMatch(await systemPrompt(service, sessionId), /Learned/);
  },
  "a statement that a newer one contradicts names that one, until it is forgotten": async (
    open,
  ) => {
    const service = await open({ capabilities: EVERYTHING });
    const older = await service.addKnowledge({ content: "Always use npm for installs." });
    const newer = await service.addKnowledge({ content: "Never use npm for installs." });
    const other = await service.addKnowledge({ content: "Write short commits." });
    const replacedBy = async ({ id }: KnowledgeEntry) =>
      (await service.readKnowledge({ knowledgeId: id })).replacedBy;
    assert.equal(await replacedBy(older), newer.id);
    assert.equal(await replacedBy(newer), undefined);
    assert.equal(await replacedBy(other), undefined);
    const listed = await service.listKnowledge({ kind: "preference" });
    assert.deepEqual(
      listed.map(({ id, replacedBy }) => [id, replacedBy]),
      [
        [other.id, undefined],
        [newer.id, undefined],
        [older.id, newer.id],
      ],
    );
    await service.forgetKnowledge({ knowledgeId: newer.id });
    assert.equal(await replacedBy(older), undefined);
  },
  "another prompt denies a call that waits, and nothing is learned from it": async (open) => {
    const setup = { capabilities: EVERYTHING, approvals: ASKS_AT_ONCE };
    const service = await open({ ...setup, replies: [asksForTime("a"), "on we go"] });
    const { sessionId } = await service.createSession({});
    await service.startTurn({ sessionId, prompt: "one" });
    assert.equal((await service.startTurn({ sessionId, prompt: "two" })).text, "on we go");
    await assertWholeCalls(service, sessionId);
    assert.deepEqual(await service.listApprovals({ sessionId }), []);
    assert.deepEqual(await service.listKnowledge({ kind: "correction" }), []);
  },
  "an answer to one call allows no other call, so there is nothing to take back": async (open) => {
    const setup = { capabilities: EVERYTHING, approvals: ASKS_AT_ONCE };
    const service = await open({ ...setup, replies: [asksForTime("a"), "it is late"] });
    const { sessionId } = await service.createSession({});
    await service.startTurn({ sessionId, prompt: "what time is it?" });
    const [approval] = await service.listApprovals({ sessionId });
    expects(approval, "a call that waits for approval", approval);
    const { approvalId } = approval;
    await service.answerApproval({ sessionId, approvalId, decision: "allow" });
    assert.deepEqual(await service.allowedCalls({ sessionId }), { allowed: [] });
    const revoked = await service.revokeAllowed({ sessionId, tool: "datetime" });
    assert.deepEqual(revoked, { allowed: [] });
  },
  "the knowledge of a project is taught, listed, read, edited, pinned, made rules of, and forgotten":
    async (open) => {
      const service = await open({ capabilities: EVERYTHING });
      const content = "Always use pnpm.";
      const added = await service.addKnowledge({ content, tags: ["tools"] });
      assert.deepEqual(
        [added.kind, added.content, added.tags, added.origin, added.count],
        ["preference", content, ["tools"], "added", 1],
      );
      const knowledgeId = added.id;
      assert.deepEqual(await service.readKnowledge({ knowledgeId }), added);
      assert.deepEqual(await service.listKnowledge({ kind: "preference", tag: "tools" }), [added]);
      const edited = await service.editKnowledge({
        knowledgeId,
        content: "Always use yarn.",
        pinned: true,
      });
      assert.deepEqual(
        [edited.content, edited.pinned, edited.edited],
        ["Always use yarn.", true, true],
      );
      const rule = await service.addKnowledge({ content: "Be brief.", kind: "rule" });
      const made = await service.distillKnowledge({});
      assert.equal(made.madeBy, "grouping");
      assert.deepEqual(
        made.rules.map(({ content, pinned }) => [content, pinned]),
        [
          ["Always use yarn.", true],
          ["Be brief.", false],
        ],
      );
      assert.equal((await service.readKnowledge({ knowledgeId })).usedAt, undefined);
      const hits = await service.searchMemory({ query: "yarn" });
      const used = await service.readKnowledge({ knowledgeId });
      expects(used.usedAt, "the time when it was last used", used);
      const isFound = hits.some(({ content }) => content === "Always use yarn.");
      expects(isFound, 'a result "Always use yarn."', hits);
      const { sessionId } = await service.createSession({});
      const prompt = await systemPrompt(service, sessionId);
      expects(prompt.includes(made.addendum), `a system prompt with "${made.addendum}"`, prompt);
      await service.forgetKnowledge({ knowledgeId });
      await assertCode(service.readKnowledge({ knowledgeId }), "KNOWLEDGE_NOT_FOUND");
      const left = await service.listKnowledge({});
      assert.deepEqual(
        left.map(({ id }) => id),
        [rule.id],
      );
      assert.deepEqual(await service.searchMemory({ query: "yarn" }), []);
    },
});

/** Asks before the one built-in tool that every build has, and does not wait. */
const ASKS_AT_ONCE = { policies: { datetime: "ask" }, timeoutMs: 1 } as const;

function asksForTime(id: string): ScriptedReply {
  return { toolCalls: [{ id, name: "datetime", args: { time_zone: "Europe/Berlin" } }] };
}

/** The one call that waits, once it does. */
async function waitingCall(service: SessionService): Promise<PendingApproval> {
  for (let tries = 0; tries < 200; tries += 1) {
    const [approval] = await service.listApprovals({});
    if (approval) return approval;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  return assert.fail("no call waits for approval");
}
