import { globSync } from "node:fs";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import * as aiSdk from "../../src/ai-sdk.ts";
import * as claude from "../../src/claude.ts";
import { HnswMemoryStore } from "../../src/hnsw.ts";
import type { Message } from "../../src/index.ts";
import * as rkat from "../../src/index.ts";
import * as jsonRpc from "../../src/json-rpc.ts";
import * as langchain from "../../src/langchain.ts";
import * as mastra from "../../src/mastra.ts";
import * as mcp from "../../src/mcp.ts";
import * as openai from "../../src/openai-agents.ts";
import { rkatPlugin } from "../../src/opencode.ts";
import { rkatExtension } from "../../src/pi.ts";
import { postgresStores } from "../../src/postgres.ts";
import * as rest from "../../src/rest.ts";
import * as sqlite from "../../src/sqlite.ts";
import { scriptedModel } from "../../src/testing.ts";
import { changed } from "../support/changed-value.ts";
import { allowWarning } from "../support/expect-warning.ts";
import { trials } from "../support/trials.ts";

const ran: unknown[] = [];
const refund = rkat.defineTool({
  name: "refund",
  description: "Pays money back.",
  input: z.object({}),
  execute: () => void ran.push("refund"),
});
const model = scriptedModel([{ toolCalls: [{ id: "a", name: "refund", args: {} }] }, "done"]);

/** The message of the refusal, which is `INVALID_PARAMS`. */
function refusal(make: () => unknown): string {
  try {
    make();
  } catch (error) {
    expect(error).toMatchObject({ code: "INVALID_PARAMS" });
    return (error as Error).message;
  }
  return expect.fail("it was taken");
}

const ofService = (options: object) => refusal(() => rkat.createSessionService(options as never));

test.each([
  [
    { policies: { refund: "aks" } },
    'approvals.policies.refund: it has to be one of "allow", "ask", "deny", and is "aks"',
  ],
  [{ policies: { refund: "Ask" } }, "approvals.policies.refund"],
  [{ policies: { refund: ["deny"] } }, "approvals.policies.refund"],
  [{ policies: "ask" }, "approvals.policies: it has to be an object"],
  [{ default: "aks" }, "approvals.default: this option does not exist"],
  [{ policy: { refund: "ask" } }, "The options are policies, atLeast"],
  [{ atLeast: { "*": "Deny" } }, "approvals.atLeast"],
  [{ approve: "yes" }, "approvals.approve: it has to be a function"],
  [{ policies: new Map([["refund", "deny"]]) }, "it has to be an object, and is a Map"],
  [
    { policies: Object.create({ refund: "deny" }) },
    "approvals.policies: it has to be an object, and is one of a class",
  ],
  [new Map([["policies", { refund: "deny" }]]), "approvals: it has to be an object, and is a Map"],
  [{ allowed: [] }, "approvals.allowed"],
  [{ timeoutMs: "5" }, "approvals.timeoutMs"],
])("the approvals %j are refused by name", (approvals, message) => {
  expect(ofService({ model, tools: [refund], approvals })).toContain(message);
});

test.each<[object, string]>([
  [{}, "model: it is missing"],
  [{ model, compactoin: {} }, "compactoin: this option does not exist. Did you mean compaction?"],
  [{ model, approval: {} }, "Did you mean approvals?"],
  [{ model, polices: {} }, "polices: this option does not exist"],
  [{ model: "" }, "model: it has to be a text that is not empty"],
  [{ model: { modelId: "gpt", doStream() {} } }, "fromAiSdk(model)"],
  [{ model: () => {} }, "model: it has to be an object"],
  [{ model, tools: { refund } }, "aiSdkTools({ name: tool })"],
  [{ model, tools: [{ description: "", inputSchema: z.object({}), execute() {} }] }, "aiSdkTools"],
  [{ model, tools: [{ ...refund, policy: "aks" }] }, "tools[0].policy: it has to be one of"],
  [{ model, tools: [{ ...refund, polcy: "ask" }] }, "Did you mean policy?"],
  [{ model, tools: [{ ...refund, needsApproval: true }] }, "tools[0].needsApproval"],
  [{ model, tools: [null] }, "tools[0]: it has to be an object, and is null"],
  [{ model, stores: {} }, "stores.events: it is missing"],
  [{ model, stores: sqlite.sqliteStores }, "stores"],
  [{ model, memory: true }, "memory"],
  [{ model, redact: "logs" }, 'redact: it has to be one of "memory", "log"'],
  [{ model, memoryScope: "everything" }, "memoryScope"],
  [{ model, retry: { retries: 5 } }, "retry.retries: this option does not exist"],
  [{ model, keepDays: { archived: -1 } }, "keepDays.archived"],
  [{ model, keepDeletedDays: "7" }, "keepDeletedDays"],
  [{ model, knowledge: { maxRule: 5 } }, "Did you mean maxRules?"],
  [{ model, compaction: { keepAnchor: false } }, "Did you mean keepAnchors?"],
  [
    { model, compaction: { summarizer: "falback" } },
    'compaction.summarizer: it has to be one of "fallback"',
  ],
  [{ model, toolTimeoutMs: Number.NaN }, "toolTimeoutMs"],
  [{ model, maxTokens: 0 }, "maxTokens: it has to be a whole number from 1, and is 0"],
])("the options of a service %# are refused by name", (options, message) => {
  expect(ofService(options)).toContain(message);
});

class Denying {
  model = model;
  tools = [refund];
  get approvals() {
    return { policies: { refund: "deny" } };
  }
}

test("options that a copy would not have are refused, so that no policy is lost", () => {
  const message = "approvals: it has to be a field of the object, and is one of its class";
  expect(ofService(new Denying())).toContain(message);
  expect(ofService(Object.create({ model, tools: [refund], approvals: {} }))).toContain(message);
});

test("a tool is checked when it is defined, and one of the AI SDK becomes a tool with its approval", async () => {
  const of = { name: "refund", description: "", input: z.object({}), execute() {} };
  const define = (more: object) => refusal(() => rkat.defineTool({ ...of, ...more } as never));
  expect(define({ policy: "aks" })).toContain("policy: it has to be one of");
  expect(define({ polcy: "ask" })).toContain("Did you mean policy?");
  expect(define({ input: { type: "object" } })).toContain("a schema of zod");
  expect(refusal(() => aiSdk.aiSdkTools({ refund: {} }))).toContain(
    "refund.execute: it is missing",
  );
  const limit = (options: unknown) => refusal(() => aiSdk.aiSdkTools({}, options as never));
  expect(limit(null)).toContain("it has to be an object");
  expect(limit({ timeoutms: 5 })).toContain("Did you mean timeoutMs?");
  expect(limit({ timeoutMs: -1 })).toContain("timeoutMs: it has to be a number above 0");
  const [tool] = aiSdk.aiSdkTools({
    refund: {
      description: "Pays money back.",
      inputSchema: z.object({ cents: z.number() }),
      needsApproval: true,
      execute: async ({ cents }: { cents: number }) => ({ paid: cents }),
    },
  });
  expect(tool?.policy).toBe("ask");
  const context = { sessionId: "s", toolUseId: "a", signal: new AbortController().signal };
  expect(await tool?.execute({ cents: 5 }, context)).toBe('{"paid":5}');
  await expect(tool?.execute({ cents: "5" }, context)).rejects.toThrow(/cents|number/);
});

const ASKED: Message = { role: "user", content: "Where is the otter?" };
const CALLED: Message = {
  role: "block_assistant",
  blocks: [{ block_type: "tool_use", data: { id: "a", name: "find", args: { what: "otter" } } }],
  stop_reason: "tool_use",
};
const FOUND: Message = {
  role: "tool_results",
  results: [{ tool_use_id: "a", content: "In the river.", is_error: false }],
};
const HISTORY = [ASKED, CALLED, FOUND, { role: "assistant", content: "In the river." }];
const AI_HISTORY = [
  { role: "user", content: [{ type: "text", text: "Where?" }] },
  {
    role: "assistant",
    content: [{ type: "tool-call", toolCallId: "a", toolName: "t", input: {} }],
  },
  {
    role: "tool",
    content: [
      { type: "tool-result", toolCallId: "a", toolName: "t", output: { type: "text", value: "x" } },
    ],
  },
];
const SUMMARIZE = {
  messages: HISTORY,
  summarize: async () => "They look for an otter.",
  recentTurnBudget: 1,
};

/** Public functions and classes that take values, with arguments that they take. */
const OF_VALUES: Readonly<Record<string, readonly [of: unknown, taken: readonly unknown[]]>> = {
  SessionError: [rkat.SessionError, ["INVALID_PARAMS", { message: "No." }]],
  ToolError: [rkat.ToolError, ["denied", "No."]],
  SimpleMemoryStore: [rkat.SimpleMemoryStore, []],
  ephemeralStores: [rkat.ephemeralStores, []],
  EphemeralApprovalStore: [rkat.EphemeralApprovalStore, []],
  EphemeralEventStore: [rkat.EphemeralEventStore, []],
  Meters: [rkat.Meters, []],
  EphemeralKnowledgeStore: [rkat.EphemeralKnowledgeStore, []],
  EphemeralSessionStore: [rkat.EphemeralSessionStore, [{ now: () => 0 }]],
  estimateTokens: [rkat.estimateTokens, [HISTORY, "openai/gpt"]],
  indexableText: [rkat.indexableText, [ASKED]],
  passesSource: [rkat.passesSource, [{ agent: "codex", native_id: "1" }, { own: true }]],
  splitTurns: [rkat.splitTurns, [HISTORY]],
  summaryMessage: [rkat.summaryMessage, ["They look for an otter."]],
  fromModelMessages: [aiSdk.fromModelMessages, [AI_HISTORY]],
  toModelMessages: [aiSdk.toModelMessages, [HISTORY]],
  requireSqlite: [sqlite.requireSqlite, ["99.1.0"]],
  userStoreFile: [sqlite.userStoreFile, [{ HOME: "/home/ada" }]],
  scriptedModel: [scriptedModel, [["Hello."], { id: "a/b", contextWindow: 5 }]],
  smartFallbackSummary: [rkat.smartFallbackSummary, [HISTORY, 500]],
  "compactHistory of messages": [rkat.compactHistory, [SUMMARIZE]],
  "pruneToolOutput of a history": [rkat.pruneToolOutput, [HISTORY, { targetTokens: 1 }]],
};
const WITHOUT_OPTIONS = Object.keys(OF_VALUES);

/** Calls a function, or makes an object of a class. */
function called(of: unknown, args: readonly unknown[]): unknown {
  const isClass = /^class\b/.test(Function.prototype.toString.call(of));
  return isClass
    ? Reflect.construct(of as never, args)
    : Reflect.apply(of as never, undefined, args);
}

test.each(Object.entries(OF_VALUES))(
  "%s takes its arguments, and refuses what is not right in them with INVALID_PARAMS only",
  async (_, [of, taken]) => {
    await called(of, taken);
    const path = fc.array(fc.nat(6), { maxLength: 6 });
    const change = fc.oneof(shape, fc.constantFrom(undefined, null, [null], -1, "", Number.NaN));
    await fc.assert(
      fc.asyncProperty(path, change, async (path, other) => {
        const args = changed(taken, path, other);
        try {
          await called(of, Array.isArray(args) ? args : [args]);
        } catch (error) {
          expect(error).toMatchObject({ code: expect.stringMatching(REFUSED) });
        }
        expect(ran).toEqual([]);
      }),
      { numRuns: trials(40, 5_000) },
    );
  },
);

/** A version that is too old, a home that is none: answers to arguments of the right shape. */
const REFUSED = /^(?:INVALID_PARAMS|SESSION_STORE_ERROR|NOT_POSSIBLE)$/;

test("every public function takes options that are refused by name, or takes none", async () => {
  const files = globSync("src/*.ts").filter((file) => !/cli\.ts$|\.test\.ts$/.test(file));
  const doors = await Promise.all(
    files.map((file) => import(/* @vite-ignore */ pathToFileURL(file).href)),
  );
  const names = doors.flatMap((door: object) =>
    Object.entries(door).flatMap(([name, value]) => (typeof value === "function" ? [name] : [])),
  );
  const checked = Object.keys(DOORS).map((name) => name.split(" ").at(-1));
  expect(names.length).toBeGreaterThan(50);
  expect(
    names
      .filter((name) => !checked.includes(name))
      .filter((name) => !WITHOUT_OPTIONS.includes(name)),
  ).toEqual([]);
});

type Door = (value: never) => unknown;

/** Every public function that takes options. */
const DOORS: Readonly<Record<string, Door>> = {
  createSessionService: rkat.createSessionService,
  EphemeralSessionService: (value) => new rkat.EphemeralSessionService(value),
  PersistentSessionService: (value) => new rkat.PersistentSessionService(value),
  AgentFactory: (value) => new rkat.AgentFactory(value),
  defineTool: rkat.defineTool,
  compactHistory: rkat.compactHistory,
  createHistoryWindow: rkat.createHistoryWindow,
  DefaultCompactor: (value) => new rkat.DefaultCompactor(value),
  KnowledgeDistiller: (value) => new rkat.KnowledgeDistiller(value),
  LocalEmbedder: (value) => new rkat.LocalEmbedder(value),
  BagOfWordsEmbedder: (value) => new rkat.BagOfWordsEmbedder(value),
  openEmbedder: rkat.openEmbedder,
  importTranscripts: rkat.importTranscripts,
  withLibrary: (value) => rkat.withLibrary(value, value, value),
  sqliteStores: sqlite.sqliteStores,
  postgresStores,
  HnswMemoryStore: (value) => new HnswMemoryStore(value),
  fromAiSdk: aiSdk.fromAiSdk,
  aiSdkModels: aiSdk.aiSdkModels,
  aiSdkTools: aiSdk.aiSdkTools,
  embedderFromAiSdk: aiSdk.embedderFromAiSdk,
  rkatPrepareStep: aiSdk.rkatPrepareStep,
  "ai-sdk rkatMiddleware": aiSdk.rkatMiddleware,
  memoryTools: aiSdk.memoryTools,
  "langchain rkatMiddleware": langchain.rkatMiddleware,
  rkatStore: langchain.rkatStore,
  rkatProcessor: mastra.rkatProcessor,
  rkatFilter: openai.rkatFilter,
  rkatModel: openai.rkatModel,
  rkatSession: openai.rkatSession,
  rkatSessionStore: claude.rkatSessionStore,
  rkatMcp: claude.rkatMcp,
  rkatExtension,
  rkatPlugin,
  redactPayments: rkat.redactPayments,
  redactSecrets: rkat.redactSecrets,
  pruneToolOutput: (value) => rkat.pruneToolOutput([], value),
  "pruneToolOutput of messages": (value) => rkat.pruneToolOutput(value, { targetTokens: 1 }),
  checkRebuild: (value) => rkat.checkRebuild(value, value, value),
  serveRest: rest.serveRest,
  createRestApp: rest.createRestApp,
  connectRest: rest.connectRest,
  serveMcpHttp: mcp.serveMcpHttp,
  serveMcpStdio: mcp.serveMcpStdio,
  createMcpServer: mcp.createMcpServer,
  // Right options would start a program.
  connectMcp: (value) => mcp.connectMcp(withWrongArgs(value)),
  serveJsonRpc: jsonRpc.serveJsonRpc,
  connectJsonRpc: (value) => jsonRpc.connectJsonRpc(withWrongArgs(value)),
};

/** The same options, with arguments of a program that are none. */
function withWrongArgs(value: unknown): never {
  if (value === undefined) return null as never;
  const isOptions = typeof value === "object" && value !== null && !Array.isArray(value);
  const options = isOptions
    ? Object.defineProperties({}, Object.getOwnPropertyDescriptors(value))
    : value;
  return (
    isOptions ? Object.defineProperty(options, "args", { value: 5, enumerable: true }) : options
  ) as never;
}

const service = rkat.createSessionService({ model, stores: rkat.ephemeralStores() });
const { stdin, stdout } = process;

test.each<[string, Door, object, string]>([
  ["serveRest", rest.serveRest, {}, "service: it is missing"],
  ["serveRest", rest.serveRest, { service: {} }, "service: it lacks createSession()"],
  [
    "serveRest",
    rest.serveRest,
    { service, prot: 0 },
    "prot: this option does not exist. Did you mean port?",
  ],
  ["serveRest", rest.serveRest, { service, port: "0" }, "port: it has to be a port"],
  ["serveRest", rest.serveRest, { service, port: 65_536 }, "port: it has to be a port"],
  ["serveRest", rest.serveRest, { service, tokn: "x" }, "Did you mean token?"],
  [
    "serveRest",
    rest.serveRest,
    { service, userTokens: { ada: 5 } },
    "userTokens.ada: it has to be a text",
  ],
  ["serveRest", rest.serveRest, { service, limits: { turnMax: 1 } }, "Did you mean turnsMax?"],
  [
    "serveRest",
    rest.serveRest,
    { service, cors: "https://app.example" },
    "cors: it has to be a list",
  ],
  ["createRestApp", rest.createRestApp, { service, port: 1 }, "port: this option does not exist"],
  ["connectRest", rest.connectRest, {}, "url: it is missing"],
  ["connectRest", rest.connectRest, { url: "localhost:8080" }, "begins with http:// or https://"],
  [
    "connectRest",
    rest.connectRest,
    { url: "http://127.0.0.1:1", tokn: "x" },
    "Did you mean token?",
  ],
  ["serveMcpHttp", mcp.serveMcpHttp, { service, cors: [] }, "cors: this option does not exist"],
  ["serveMcpHttp", mcp.serveMcpHttp, { service, tools: "all" }, "tools: it has to be a list"],
  ["serveMcpStdio", mcp.serveMcpStdio, { service, input: 5 }, "input: it has to be an object"],
  ["createMcpServer", mcp.createMcpServer, { service, tool: ["all"] }, "Did you mean tools?"],
  [
    "connectMcp",
    mcp.connectMcp,
    { url: "http://127.0.0.1:1", era: "old" },
    "era: it has to be one of",
  ],
  ["connectMcp", mcp.connectMcp, { comand: "rkat" }, "Did you mean command?"],
  ["connectMcp", mcp.connectMcp, { env: { KEY: 5 } }, "env.KEY: it has to be a text"],
  ["serveJsonRpc", jsonRpc.serveJsonRpc, { service, input: stdin }, "output: it is missing"],
  [
    "serveJsonRpc",
    jsonRpc.serveJsonRpc,
    { service, input: stdin, output: stdout, drainMS: 5 },
    "Did you mean drainMs?",
  ],
  ["connectJsonRpc", jsonRpc.connectJsonRpc, { input: stdin }, "output: it is missing"],
  ["connectJsonRpc", jsonRpc.connectJsonRpc, { args: "rpc" }, "args: it has to be a list"],
])("%s refuses an option by name: %#", async (of, door, options, message) => {
  const refused = expect(async () => door(options as never)).rejects;
  await refused.toMatchObject({
    code: "INVALID_PARAMS",
    message: expect.stringContaining(message),
  });
  await expect(async () => door(options as never)).rejects.toThrow(
    `The options of ${of} are not valid.`,
  );
});

test("no refusal shows an address, a token or a variable", async () => {
  for (const make of [
    () => rest.connectRest({ url: "hunter2@example" }),
    () => mcp.connectMcp({ url: "ftp://ada:hunter2@example" }),
    () => rest.serveRest({ service, token: { hunter2: 1 } as never }),
    () => jsonRpc.connectJsonRpc({ env: { KEY: ["hunter2"] as never } }),
  ]) {
    await expect(async () => make()).rejects.toThrow(/^(?!.*hunter2).*it has to be/);
  }
});

/** The names that the doors know, and some that they do not. */
const NAMES = ["model", "stores", "tools", "approvals", "memory", "knowledge", "compaction", "path"]
  .concat(["command", "chatId", "summarize", "view", "contextWindow", "messages", "retry", "name"])
  .concat(["embedder", "entries", "author", "redact", "policies", "compactoin", "__proto__"]);

const shape = fc.oneof(
  fc.anything({ withBigInt: true, withNullPrototype: true, withSparseArray: true }),
  fc.dictionary(fc.constantFrom(...NAMES), fc.oneof(fc.anything(), fc.constant([refund]))),
  fc.func(fc.anything()),
  fc.constant({
    get model() {
      throw new Error("no");
    },
  }),
);

test.each(Object.entries(DOORS))(
  "%s refuses wrong shapes with INVALID_PARAMS only",
  async (_, door) => {
    allowWarning(/has no effect/);
    await fc.assert(
      fc.asyncProperty(shape, async (value) => {
        try {
          const made = await door(value as never);
          await (made as { close?: () => unknown } | undefined)?.close?.();
        } catch (error) {
          if (isNameless(error)) return;
          expect(error).toMatchObject({ code: "INVALID_PARAMS" });
        }
        expect(ran).toEqual([]);
      }),
      { numRuns: trials(8, 60) },
    );
  },
);

/** A right request for a model or an embedder that is not there. */
function isNameless(error: unknown): boolean {
  return rkat.SessionError.is(error) && error.code === "MODEL_UNAVAILABLE";
}
