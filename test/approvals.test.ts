import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { toolResults } from "../src/core/message.ts";
import {
  type AllowedCalls,
  type ApprovalOptions,
  type Approve,
  createSessionService,
  defineTool,
  type EventEnvelope,
  type PendingApproval,
  type ProjectApprovals,
  type SessionService,
  type Tool,
} from "../src/index.ts";
import { type Stores, sqliteStores } from "../src/sqlite.ts";
import { type ScriptedReply, scriptedModel } from "../src/testing.ts";
import { temporaryFolder } from "./support/obey.ts";

/** A tool that leaves a trace of every call. */
function shellTool(ran: string[]): Tool {
  return defineTool({
    name: "shell",
    description: "Runs a command.",
    input: z.object({ command: z.string() }),
    execute({ command }) {
      ran.push(command);
      return `ran ${command} without trouble`;
    },
  });
}

const push = (id: string, command = "git push"): ScriptedReply => ({
  toolCalls: [{ id, name: "shell", args: { command } }],
});

async function openService(options: {
  readonly replies: readonly ScriptedReply[];
  readonly ran?: string[];
  readonly approve?: Approve;
  readonly timeoutMs?: number;
  readonly policy?: "allow" | "ask" | "deny";
  readonly place?: string;
}): Promise<{ service: SessionService; stores: Stores; place: string }> {
  const { replies, ran = [], approve, timeoutMs, policy = "ask" } = options;
  const place = options.place ?? (await temporaryFolder());
  const stores = sqliteStores({ path: join(place, "rkat.db") });
  const service = createSessionService({
    model: scriptedModel(replies),
    stores,
    tools: [shellTool(ran)],
    approvals: {
      policies: { shell: policy },
      ...(approve ? { approve } : {}),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    },
  });
  onTestFinished(async () => {
    await service.close();
    await stores.close();
  });
  return { service, stores, place };
}

async function resultsOf(service: SessionService, sessionId: string): Promise<string[]> {
  const { history } = await service.read({ sessionId });
  return history.flatMap(({ message }) => toolResults(message).map(({ content }) => content));
}

test("a call that is allowed runs, and one that is denied tells the model why", async () => {
  const ran: string[] = [];
  const asked: PendingApproval[] = [];
  const { service } = await openService({
    replies: [push("a", "ls"), push("b"), "done"],
    ran,
    approve: (call) => {
      asked.push(call);
      const { command } = call.args as { command: string };
      return command === "ls"
        ? { decision: "allow" }
        : { decision: "deny", reason: "Run the tests first." };
    },
  });
  const { sessionId } = await service.createSession({});
  const seen: EventEnvelope[] = [];
  const turn = await service.startTurn(
    { sessionId, prompt: "publish it" },
    { onEvent: (event) => seen.push(event) },
  );
  expect(turn).toMatchObject({ text: "done", stopReason: "end_turn", toolCalls: 1 });
  expect(ran).toEqual(["ls"]);
  expect(asked.map(({ tool, goal }) => [tool, goal])).toEqual([
    ["shell", "publish it"],
    ["shell", "publish it"],
  ]);
  const [first, second = ""] = await resultsOf(service, sessionId);
  expect(first).toContain("ran ls");
  expect(JSON.parse(second)).toEqual({
    error: "denied",
    message: "The user denied this call: Run the tests first.",
  });
  const types = seen.map(({ payload }) => payload.type).filter((type) => type.startsWith("tool_"));
  expect(types).toEqual([
    "tool_call_requested",
    "tool_approval_requested",
    "tool_approval_resolved",
    "tool_execution_started",
    "tool_execution_completed",
    "tool_result_received",
    "tool_call_requested",
    "tool_approval_requested",
    "tool_approval_resolved",
    "tool_execution_completed",
    "tool_result_received",
  ]);
});

test("a tool that the settings refuse does not run, and nobody is asked", async () => {
  const ran: string[] = [];
  const { service } = await openService({
    replies: [push("a"), "done"],
    ran,
    policy: "deny",
    approve: () => expect.fail("somebody was asked"),
  });
  const { sessionId } = await service.createSession({});
  await service.startTurn({ sessionId, prompt: "go" });
  expect(ran).toEqual([]);
  expect((await resultsOf(service, sessionId))[0]).toContain("The settings do not allow shell.");
  expect(await service.listKnowledge({ kind: "correction" })).toEqual([]);
});

test("a session may be stricter than its service, and never looser", async () => {
  const ran: string[] = [];
  const { service } = await openService({
    replies: [push("a"), "one", push("b"), "two"],
    ran,
    policy: "ask",
    timeoutMs: 1,
  });
  const loose = await service.createSession({ approvals: { shell: "allow" } });
  const turn = await service.startTurn({ ...loose, prompt: "go" });
  expect(turn.stopReason).toBe("approval_required");
  const strict = await service.createSession({ approvals: { "sh*": "deny" } });
  await service.startTurn({ ...strict, prompt: "go" });
  expect(ran).toEqual([]);
});

test("a turn whose call nobody answers in time ends, and goes on where it was once it is answered", async () => {
  const ran: string[] = [];
  const { service } = await openService({ replies: [push("a"), "pushed"], ran, timeoutMs: 1 });
  const { sessionId } = await service.createSession({});
  const turn = await service.startTurn({ sessionId, prompt: "publish it" });
  expect(turn.stopReason).toBe("approval_required");
  const [approval] = await service.listApprovals({});
  expect(approval).toMatchObject({ sessionId, tool: "shell", args: { command: "git push" } });
  const { approvalId = "" } = approval ?? {};
  expect(await service.answerApproval({ sessionId, approvalId, decision: "allow" })).toEqual({
    sessionId,
    continues: false,
    waiting: 0,
  });
  expect(await service.listApprovals({})).toEqual([]);
  await expect(
    service.answerApproval({ sessionId, approvalId, decision: "deny" }),
  ).rejects.toMatchObject({ code: "APPROVAL_NOT_FOUND" });
  expect((await service.resume({ sessionId })).text).toBe("pushed");
  expect(ran).toEqual(["git push"]);
  await expect(service.resume({ sessionId })).rejects.toMatchObject({ code: "NOT_POSSIBLE" });
});

test("an answer from another process reaches the turn that waits", async () => {
  const ran: string[] = [];
  const { service, place } = await openService({ replies: [push("a"), "pushed"], ran });
  const other = await openService({ replies: [], place });
  const { sessionId } = await service.createSession({});
  const turn = service.startTurn({ sessionId, prompt: "publish it" });
  await expect.poll(() => other.service.listApprovals({ sessionId })).toHaveLength(1);
  const [{ approvalId = "" } = {}] = await other.service.listApprovals({});
  const answered = await other.service.answerApproval({ sessionId, approvalId, decision: "allow" });
  expect(answered).toEqual({ sessionId, continues: true, waiting: 0 });
  expect((await turn).text).toBe("pushed");
  expect(ran).toEqual(["git push"]);
});

test("another prompt denies what waits, and carries out what was allowed", async () => {
  const ran: string[] = [];
  const calls = [
    { id: "a", name: "shell", args: { command: "ls" } },
    { id: "b", name: "shell", args: { command: "rm -rf build" } },
  ];
  const { service } = await openService({
    replies: [{ toolCalls: calls }, "on we go"],
    ran,
    timeoutMs: 1,
  });
  const { sessionId } = await service.createSession({});
  await service.startTurn({ sessionId, prompt: "clean up" });
  const [first] = await service.listApprovals({ sessionId });
  const { approvalId = "" } = first ?? {};
  await service.answerApproval({ sessionId, approvalId, decision: "allow" });
  await expect(service.compact({ sessionId })).rejects.toBeDefined();
  const turn = await service.startTurn({ sessionId, prompt: "never mind" });
  expect(turn.text).toBe("on we go");
  expect(ran).toEqual(["ls"]);
  const results = await resultsOf(service, sessionId);
  expect(results[0]).toContain("ran ls");
  expect(results[1]).toContain("superseded");
  expect(await service.listApprovals({})).toEqual([]);
  expect(await service.listKnowledge({ kind: "correction" })).toEqual([]);
});

test("an interrupted turn leaves its call waiting, also for a process that comes later", async () => {
  const ran: string[] = [];
  const before = await openService({ replies: [push("a")], ran });
  const { sessionId } = await before.service.createSession({});
  const turn = before.service.startTurn({ sessionId, prompt: "publish it" });
  const failed = expect(turn).rejects.toMatchObject({ code: "TURN_INTERRUPTED" });
  await expect.poll(() => before.service.listApprovals({})).toHaveLength(1);
  await before.service.close();
  await failed;
  const after = await openService({ replies: ["understood"], ran, place: before.place });
  const [{ approvalId = "" } = {}] = await after.service.listApprovals({});
  const reason = "Not on a Friday.";
  await after.service.answerApproval({ sessionId, approvalId, decision: "deny", reason });
  expect(await after.service.listKnowledge({ kind: "correction" })).toMatchObject([
    { tool: "shell", reason, goal: "publish it", count: 1 },
  ]);
  expect((await after.service.resume({ sessionId })).text).toBe("understood");
  expect(ran).toEqual([]);
  expect(await resultsOf(after.service, sessionId)).toEqual([
    expect.stringContaining("Not on a Friday."),
  ]);
});

test("what needs an answer is asked one after the other, and not once it is answered elsewhere", async () => {
  const calls = ["one", "two", "three"].map((command, index) => ({
    id: `c${index}`,
    name: "shell",
    args: { command },
  }));
  let open = 0;
  const asked: string[] = [];
  const { service } = await openService({
    replies: [{ toolCalls: calls }, "done"],
    approve: async ({ args, approvalId, sessionId }, { signal }) => {
      open += 1;
      expect(open).toBe(1);
      const { command } = args as { command: string };
      asked.push(command);
      if (command === "two") {
        const gone = new Promise((resolve) => signal.addEventListener("abort", resolve));
        await service.answerApproval({ sessionId, approvalId, decision: "deny" });
        await gone;
        open -= 1;
        return undefined;
      }
      open -= 1;
      return { decision: "allow" };
    },
  });
  const { sessionId } = await service.createSession({});
  await service.startTurn({ sessionId, prompt: "go" });
  expect(asked).toEqual(["one", "two", "three"]);
  const results = await resultsOf(service, sessionId);
  expect(results.map((text) => text.includes("ran"))).toEqual([true, false, true]);
});

test("a callback that never answers, whatever its signal says, keeps no later call from being asked about", async () => {
  const asked: unknown[] = [];
  const stop = new AbortController();
  const { service } = await openService({
    replies: [push("c1", "git push"), push("c2", "git pull"), "done"],
    approve: ({ args }) => {
      asked.push(args);
      if (asked.length > 1) return { decision: "allow" };
      stop.abort();
      return new Promise(() => {});
    },
  });
  const first = await service.createSession({});
  const turn = service.startTurn({ ...first, prompt: "Push." }, { signal: stop.signal });
  await expect(turn).rejects.toMatchObject({ code: "TURN_INTERRUPTED" });
  const second = await service.createSession({});
  expect(await service.startTurn({ ...second, prompt: "Pull." })).toMatchObject({ text: "done" });
  expect(asked).toEqual([{ command: "git push" }, { command: "git pull" }]);
});

test("a callback that fails answers nothing", async () => {
  const errors: unknown[] = [];
  const place = await temporaryFolder();
  const stores = sqliteStores({ path: join(place, "rkat.db") });
  const ran: string[] = [];
  const service = createSessionService({
    model: scriptedModel([push("a"), "done"]),
    stores,
    tools: [shellTool(ran)],
    approvals: {
      policies: { "*": "ask" },
      timeoutMs: 20,
      approve: () => {
        throw new Error("no terminal");
      },
    },
    onBackgroundError: (error) => errors.push(error),
  });
  const { sessionId } = await service.createSession({});
  const turn = await service.startTurn({ sessionId, prompt: "go" });
  expect(turn.stopReason).toBe("approval_required");
  expect(String(errors[0])).toContain("no terminal");
  expect(ran).toEqual([]);
  await service.archive({ sessionId });
  expect(await service.listApprovals({})).toEqual([]);
  await service.close();
  await stores.close();
});

/** A project's approvals, in memory. */
function approvalsInMemory(): ProjectApprovals & { readonly calls: AllowedCalls[] } {
  const calls: AllowedCalls[] = [];
  return { calls, list: () => calls, add: (added) => void calls.push(added) };
}

test('"always, in this session" allows the shown calls in this session only, after a restart too', async () => {
  const ran: string[] = [];
  const asked: unknown[] = [];
  const approve: Approve = ({ args }, { always }) => {
    asked.push([args, always]);
    return { decision: "allow", always: "session" };
  };
  const first = await openService({
    replies: [push("a"), "done", push("b"), "done"],
    ran,
    approve,
  });
  const { sessionId } = await first.service.createSession({});
  await first.service.startTurn({ sessionId, prompt: "publish it" });
  await first.service.startTurn({ sessionId, prompt: "again" });
  const again = await openService({
    replies: [push("c"), "done"],
    ran,
    approve,
    place: first.place,
  });
  await again.service.startTurn({ sessionId, prompt: "and again" });
  expect(ran).toHaveLength(3);
  expect(asked).toEqual([[{ command: "git push" }, { tool: "shell" }]]);

  const other = await openService({
    replies: [push("d"), "done"],
    ran,
    approve,
    place: first.place,
  });
  const { sessionId: second } = await other.service.createSession({});
  await other.service.startTurn({ sessionId: second, prompt: "here too" });
  expect(asked).toHaveLength(2);
});

test('"always" for one of several waiting calls answers the others', async () => {
  const ran: string[] = [];
  let asked = 0;
  const calls = ["a", "b", "c"].map((id) => ({ id, name: "shell", args: { command: id } }));
  const { service } = await openService({
    replies: [{ toolCalls: calls }, "done"],
    ran,
    approve: () => {
      asked += 1;
      return { decision: "allow", always: "session" };
    },
  });
  const { sessionId } = await service.createSession({});
  await service.startTurn({ sessionId, prompt: "go" });
  expect([asked, ran]).toEqual([1, ["a", "b", "c"]]);
});

test('"always, in this project" is for every session, and a denial by a policy wins over it', async () => {
  const ran: string[] = [];
  const allowed = approvalsInMemory();
  const approve: Approve = () => ({ decision: "allow", always: "project" });
  const open = (options: ApprovalOptions) =>
    createSessionService({
      model: scriptedModel([push("a"), "done"]),
      tools: [shellTool(ran)],
      approvals: { ...options, allowed },
    });
  const run = async (options: ApprovalOptions) => {
    const service = open(options);
    onTestFinished(() => service.close());
    const { sessionId } = await service.createSession({});
    await service.startTurn({ sessionId, prompt: "go" });
  };
  await run({ policies: { shell: "ask" }, approve });
  expect(allowed.calls).toEqual([{ tool: "shell" }]);
  await run({ policies: { shell: "ask" }, timeoutMs: 0 });
  expect(ran).toHaveLength(2);
  await run({ policies: { shell: "deny" }, approve });
  await run({ policies: { shell: "allow" }, atLeast: { "*": "deny" }, approve });
  expect(ran).toHaveLength(2);
});

test('a tool says what "always" allows, and a call that it says nothing for is asked about each time', async () => {
  const ran: string[] = [];
  const asked: unknown[] = [];
  const tool: Tool = {
    ...shellTool(ran),
    policy: "ask",
    always: (args) => {
      const { command } = args as { command: string };
      return command.includes("rm") ? undefined : { tool: "shell", command };
    },
  };
  const commands = ["npm test", "npm test", "npm test --all", "rm a", "rm a"];
  const service = createSessionService({
    model: scriptedModel([...commands.map((command, id) => push(`${id}`, command)), "done"]),
    tools: [tool],
    approvals: {
      approve: ({ args }, { always }) => {
        asked.push([(args as { command: string }).command, always?.command]);
        return { decision: "allow", always: "session" };
      },
    },
  });
  onTestFinished(() => service.close());
  const { sessionId } = await service.createSession({});
  await service.startTurn({ sessionId, prompt: "go" });
  expect(ran).toEqual(commands);
  expect(asked).toEqual([
    ["npm test", "npm test"],
    ["npm test --all", "npm test --all"],
    ["rm a", undefined],
    ["rm a", undefined],
  ]);
});

test("an answer from another process never allows more than the one call", async () => {
  const { service } = await openService({ replies: [push("a"), "done"], timeoutMs: 0 });
  const { sessionId } = await service.createSession({});
  await service.startTurn({ sessionId, prompt: "go" });
  const [call] = await service.listApprovals({});
  const answer = { sessionId, approvalId: call?.approvalId ?? "", decision: "allow" as const };
  await expect(
    service.answerApproval({ ...answer, always: "session" } as typeof answer),
  ).rejects.toMatchObject({ code: "INVALID_PARAMS" });
});
