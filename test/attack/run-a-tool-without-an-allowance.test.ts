import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import {
  type ApprovalOptions,
  type Approve,
  createSessionService,
  defineTool,
  EphemeralApprovalStore,
  type EventEnvelope,
  ephemeralStores,
  type Tool,
} from "../../src/index.ts";
import { scriptedModel } from "../../src/testing.ts";
import { trials } from "../support/trials.ts";

const CALL = { toolCalls: [{ id: "a", name: "refund", args: { cents: 5 } }] };

/** Runs a turn in which the model wants a refund. Returns the refunds, and what the log says of the approval. */
async function refundsWith(options: {
  readonly approvals?: ApprovalOptions;
  readonly policy?: unknown;
  readonly always?: unknown;
  readonly answers?: EphemeralApprovalStore;
}) {
  const refunds: unknown[] = [];
  const { policy, always, approvals } = options;
  const refund = {
    ...defineTool({
      name: "refund",
      description: "Pays money back.",
      input: z.object({ cents: z.number() }),
      execute: ({ cents }) => void refunds.push(cents),
    }),
    ...(policy === undefined ? {} : { policy }),
    ...(always === undefined ? {} : { always }),
  } as Tool;
  const stores = {
    ...ephemeralStores(),
    ...(options.answers ? { approvals: options.answers } : {}),
  };
  const service = createSessionService({
    model: scriptedModel([CALL, "done"]),
    stores,
    tools: [refund],
    ...(approvals ? { approvals: { timeoutMs: 1, ...approvals } } : {}),
  });
  const { sessionId } = await service.createSession({});
  const events: EventEnvelope["payload"][] = [];
  const turn = service.startTurn(
    { sessionId, prompt: "go" },
    { onEvent: ({ payload }) => events.push(payload) },
  );
  await turn;
  const resolved = events.find(({ type }) => type === "tool_approval_resolved");
  // Everything in the log can be read back, and what another session says is found.
  const other = await service.createSession({});
  await service.startTurn({
    sessionId: other.sessionId,
    prompt: "The otter sleeps in the harbour.",
  });
  const found = await service.searchMemory({ query: "Where does the otter sleep?" });
  expect(found.map(({ content }) => content)).toContain("The otter sleeps in the harbour.");
  await service.close();
  return { refunds, resolved };
}

const asks = (approve: unknown): ApprovalOptions => ({
  policies: { refund: "ask" },
  approve: approve as Approve,
});

const ALMOST = [
  { approved: true },
  { allow: true },
  { decision: "denied" },
  { decision: "Allow" },
  { decision: ["allow"] },
  { decision: "allow", reason: 5 },
  { decision: "allow", always: "forever" },
  { decision: "allow", by: "nobody" },
  { decision: "allow", approved: false },
  "allow",
  "yes",
  true,
  false,
  null,
  1,
  [],
  () => ({ decision: "allow" }),
  Object.create({ decision: "allow" }),
  {
    get decision() {
      throw new Error("no");
    },
  },
];

test.each(ALMOST.map((answer, at) => [at, answer] as const))(
  "the almost right answer %i denies, and the log says why",
  async (_, answer) => {
    const { refunds, resolved } = await refundsWith({ approvals: asks(() => answer) });
    expect(refunds).toEqual([]);
    expect(resolved).toMatchObject({ decision: "deny", by: "settings" });
    expect(resolved).toHaveProperty("reason", expect.stringContaining('{ decision: "allow" }'));
  },
);

test("whatever a callback answers, only exactly an allowance runs the tool", async () => {
  const decision = fc.oneof(fc.constantFrom("allow", "deny", "ALLOW", "allowed"), fc.anything());
  const answer = fc.oneof(
    fc.anything(),
    fc.record({ decision, reason: fc.anything(), by: fc.anything() }, { requiredKeys: [] }),
  );
  await fc.assert(
    fc.asyncProperty(answer, async (given) => {
      const { refunds } = await refundsWith({ approvals: asks(() => given) });
      const { decision, reason, by, ...others } = Object(given ?? {});
      const isExact =
        typeof given === "object" &&
        decision === "allow" &&
        ["string", "undefined"].includes(typeof reason) &&
        [undefined, "user", "model", "settings"].includes(by) &&
        Object.keys(others).length === 0;
      expect(refunds).toEqual(isExact ? [5] : []);
    }),
    { numRuns: trials(20, 60) },
  );
});

test("an answer in the store that is not exactly an allowance denies", async () => {
  for (const answer of [{ decision: "yes" }, { approved: true }, "allow", true]) {
    const answers = new EphemeralApprovalStore();
    answers.answers = async (ids) => new Map(ids.map((id) => [id, answer as never]));
    const { refunds, resolved } = await refundsWith({
      approvals: { policies: { refund: "ask" }, timeoutMs: 5_000 },
      answers,
    });
    expect(refunds).toEqual([]);
    expect(resolved).toMatchObject({ decision: "deny", by: "settings" });
  }
});

test("a tool whose own policy is none at run time does not run", async () => {
  const wrong = [
    () => "aks",
    () => "Allow",
    () => true,
    () => null,
    async () => "allow",
    () => {
      throw new Error("The rules are gone.");
    },
  ];
  for (const policy of wrong) {
    const { refunds, resolved } = await refundsWith({ policy });
    expect(refunds).toEqual([]);
    expect(resolved).toMatchObject({ decision: "deny", by: "settings" });
    expect(resolved).toHaveProperty("reason", expect.stringMatching(/^Its policy /));
  }
});

test("a policy that changes its mind cannot run what the log says was denied", async () => {
  const said = ["deny", "allow", "allow"];
  const { refunds, resolved } = await refundsWith({ policy: () => said.shift() });
  expect(refunds).toEqual([]);
  expect(resolved).toMatchObject({ decision: "deny" });
});

test("what is allowed for good has to be exactly said, too", async () => {
  const allowed = (entry: unknown) => ({ list: () => [entry] as never, add: () => {} });
  for (const entry of [{ tool: "refund", comand: "ls" }, { tol: "refund" }, "refund", null]) {
    const { refunds } = await refundsWith({
      approvals: { policies: { refund: "ask" }, allowed: allowed(entry) },
    });
    expect(refunds).toEqual([]);
  }
  const { refunds } = await refundsWith({
    approvals: { policies: { refund: "ask" }, allowed: allowed({ tool: "refund" }) },
    always: async () => ({ tool: "refund" }),
  });
  expect(refunds).toEqual([]);
});
