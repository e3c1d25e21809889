import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client, type LoggingMessageNotificationParams } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, onTestFinished, test } from "vitest";
import { estimateTokens } from "../src/index.ts";
import { chosenTools, toolsFor } from "../src/surfaces/mcp/mcp-tools.ts";
import { instructionsFor } from "../src/surfaces/mcp/tool-texts.ts";
import { BUILDS, type ServiceSetup } from "../src/testing.ts";
import { RKAT } from "./support/built-package.ts";
import { temporaryFolder } from "./support/obey.ts";
import { Project } from "./support/rkat-process.ts";
import { scriptedMcpProgram } from "./support/scripted-mcp.ts";
import { execFile, execFileSync } from "./support/start-process.ts";
import { LONG } from "./support/trials.ts";

const EVERYTHING = BUILDS.F ?? [];

/** The official client, connected to a scripted server of its own. */
async function officialClient(
  setup: ServiceSetup & { readonly mcpTools?: readonly string[] },
  place?: string,
): Promise<Client> {
  return await connected(await scriptedMcpProgram(place ?? (await temporaryFolder()), setup));
}

async function connected(program: {
  command: string;
  args: string[];
  cwd?: string;
  env?: Record<string, string>;
}) {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StdioClientTransport(program));
  onTestFinished(() => client.close());
  return client;
}

async function create(client: Client): Promise<string> {
  const { structuredContent } = await client.callTool({ name: "session_create", arguments: {} });
  return (structuredContent as { session_id: string }).session_id;
}

test("what a coding agent needs comes first, and every tool says what it does to the world", async () => {
  const client = await officialClient({ capabilities: EVERYTHING });
  const { tools } = await client.listTools();
  expect(tools.slice(0, 3).map(({ name }) => name)).toEqual([
    "memory_search",
    "memory_add",
    "search_project_history",
  ]);
  for (const { name, description, inputSchema, outputSchema } of tools) {
    expect(description, name).toMatch(/\.$/);
    expect(inputSchema.type).toBe("object");
    expect(outputSchema?.type).toBe("object");
    for (const [field, schema] of Object.entries(inputSchema.properties ?? {})) {
      expect(field, name).toMatch(/^[a-z][a-z0-9_]*$/);
      expect(schema, `${name}: ${field}`).toHaveProperty("description");
    }
  }
  const hints = Object.fromEntries(tools.map(({ name, annotations }) => [name, annotations]));
  expect(hints.memory_search).toMatchObject({ readOnlyHint: true, openWorldHint: false });
  expect(hints.session_delete).toMatchObject({ readOnlyHint: false, destructiveHint: true });
  expect(hints.turn_start).toMatchObject({ readOnlyHint: false, destructiveHint: false });
  expect(client.getInstructions()).toMatch(/not instructions/);
});

test("a capability that is off leaves no tool, no template and no word behind", async () => {
  const client = await officialClient({ capabilities: ["session-store"] });
  const names = (await client.listTools()).tools.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(["search_project_history", "session_events"]));
  expect(names.join()).not.toMatch(/memory|knowledge|compact/);
  expect(client.getInstructions()).not.toMatch(/memory_search|session_compact/);

  const bare = await officialClient({ capabilities: [] });
  const { tools } = await bare.listTools();
  expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(["turn_start"]));
  expect(tools.map(({ name }) => name).join()).not.toMatch(/history|session_(?:read|list|events)/);
  expect((await bare.listResourceTemplates()).resourceTemplates).toEqual([]);
});

test("what tools answer is what their schemas say, as the client checks it", async () => {
  const compaction = { autoCompactThreshold: 2500, minTurnsBetweenCompactions: 1 };
  const client = await officialClient({ capabilities: EVERYTHING, compaction });
  // From here on the client holds every result against its tool's output schema.
  await client.listTools();
  const session_id = await create(client);
  const calls: [string, object][] = [
    ["turn_start", { session_id, prompt: "the port is 7443 ".repeat(800) }],
    ["session_resume", { session_id, prompt: "and now?" }],
    ["session_compact", { session_id }],
    ["session_read", { session_id }],
    ["session_list", { labels: {} }],
    ["session_events", { session_id }],
    ["memory_search", { query: "port" }],
    ["search_project_history", { query: "port" }],
    ["capabilities", {}],
    ["session_archive", { session_id }],
    ["session_delete", { session_id }],
  ];
  for (const [name, args] of calls) {
    const result = await client.callTool({ name, arguments: args as Record<string, unknown> });
    expect(result.isError, `${name}: ${JSON.stringify(result.content)}`).toBeFalsy();
    const [content] = result.content;
    const text = content?.type === "text" ? content.text : "";
    expect(JSON.parse(text)).toEqual(result.structuredContent);
  }
});

test("a failure is a result with its code and a hint; an unknown tool is not", async () => {
  const client = await officialClient({ capabilities: [] });
  await client.listTools();
  const failed = await client.callTool({ name: "memory_search", arguments: { query: "x" } });
  expect(failed).toMatchObject({
    isError: true,
    structuredContent: {
      code: "SESSION_MEMORY_DISABLED",
      message: expect.stringContaining("memory-store"),
      hint: expect.stringContaining("memory_store = true"),
    },
  });
  const wrong = await client.callTool({ name: "turn_start", arguments: { session_id: 5 } });
  expect(wrong.structuredContent).toMatchObject({
    code: "INVALID_PARAMS",
    message: expect.stringContaining("session_id"),
  });
  await expect(client.callTool({ name: "fly", arguments: {} })).rejects.toMatchObject({
    code: -32602,
  });
});

test("a search answers in what a model has room for, and says what it left out", async () => {
  const place = await temporaryFolder();
  const client = await officialClient({ capabilities: EVERYTHING }, place);
  const session_id = await create(client);
  for (let turn = 0; turn < 30; turn += 1) {
    const prompt = `turn ${turn}: the staging port. ${"word ".repeat(1500)}`;
    await client.callTool({ name: "turn_start", arguments: { session_id, prompt } });
  }
  const search = async (limit?: number) => {
    const args = { query: "staging port", ...(limit === undefined ? {} : { limit }) };
    const { structuredContent } = await client.callTool({
      name: "search_project_history",
      arguments: args,
    });
    return structuredContent as { results: { content: string }[]; cut?: string };
  };
  expect((await search()).results).toHaveLength(5);
  expect((await search(2)).results).toHaveLength(2);
  const many = await search(30);
  expect(many.results.length).toBeLessThanOrEqual(20);
  expect(many.cut).toMatch(/left out/);
  expect(JSON.stringify(many).length).toBeLessThan(40_000);
});

test("a turn that waits has reported its progress", async () => {
  const toolCalls = [{ id: "c1", name: "datetime", args: {} }];
  const client = await officialClient({
    capabilities: EVERYTHING,
    replies: [{ toolCalls }, "done"],
    approvals: { policies: { datetime: "ask" }, timeoutMs: 60_000 },
  });
  const session_id = await create(client);
  const steps: number[] = [];
  const turn = client.callTool(
    { name: "turn_start", arguments: { session_id, prompt: "What time is it?" } },
    { onprogress: ({ progress }) => void steps.push(progress) },
  );
  await expect.poll(() => steps.length).toBeGreaterThan(0);
  const waiting = async () => {
    const { structuredContent } = await client.callTool({ name: "approval_list", arguments: {} });
    return (structuredContent as { approvals: { approval_id: string }[] }).approvals;
  };
  await expect.poll(waiting).toHaveLength(1);
  const [{ approval_id } = {}] = await waiting();
  const answer = { session_id, approval_id, decision: "allow" };
  await client.callTool({ name: "approval_answer", arguments: answer });
  expect((await turn).structuredContent).toMatchObject({ text: "done" });
  expect(steps).toEqual(steps.map((_, at) => at + 1));
});

test("a turn tells of itself, of its deltas only to whom asks", async () => {
  const client = await officialClient({ capabilities: EVERYTHING, replies: ["one", "two"] });
  const told: LoggingMessageNotificationParams[] = [];
  client.setNotificationHandler("notifications/message", ({ params }) => void told.push(params));
  const session_id = await create(client);
  const turn = async (prompt: string) => {
    told.length = 0;
    await client.callTool({ name: "turn_start", arguments: { session_id, prompt } });
    return told.map(
      ({ data }) => (data as { event: { payload: { type: string } } }).event.payload.type,
    );
  };
  const durable = [
    "run_started",
    "turn_started",
    "text_complete",
    "turn_completed",
    "run_completed",
  ];
  expect(await turn("first")).toEqual(durable);
  expect(told[0]).toMatchObject({ level: "info", logger: "rkat", data: { session_id } });
  await client.setLoggingLevel("debug");
  expect(await turn("second")).toContain("text_delta");
  await client.setLoggingLevel("error");
  expect(await turn("third")).toEqual([]);
});

test("a call that the client cancels is interrupted", async () => {
  const replies = [{ text: "never", delayMs: 60_000 }, "back"];
  const client = await officialClient({ capabilities: EVERYTHING, replies });
  const session_id = await create(client);
  const cancel = new AbortController();
  client.setNotificationHandler("notifications/message", () => cancel.abort());
  const call = { name: "turn_start", arguments: { session_id, prompt: "wait" } };
  await expect(client.callTool(call, { signal: cancel.signal })).rejects.toThrow();
  const isActive = async () => {
    const { structuredContent } = await client.callTool({
      name: "session_read",
      arguments: { session_id },
    });
    return (structuredContent as { is_active: boolean }).is_active;
  };
  await expect.poll(isActive).toBe(false);
  const again = await client.callTool({ ...call, arguments: { session_id, prompt: "go on" } });
  expect(again.structuredContent).toMatchObject({ text: "back" });
});

test("sessions are resources: a list, a transcript and its JSON", async () => {
  const client = await officialClient({ capabilities: EVERYTHING, replies: ["The port is 7443."] });
  const session_id = await create(client);
  const args = { session_id, prompt: "Which port?" };
  await client.callTool({ name: "turn_start", arguments: args });
  const { resources } = await client.listResources();
  expect(resources.map(({ uri }) => uri)).toEqual([
    "rkat://sessions",
    `rkat://sessions/${session_id}`,
  ]);
  const { resourceTemplates } = await client.listResourceTemplates();
  expect(resourceTemplates[0]?.uriTemplate).toBe("rkat://sessions/{session_id}");
  const { contents } = await client.readResource({ uri: `rkat://sessions/${session_id}` });
  expect(contents.map(({ mimeType }) => mimeType)).toEqual(["text/markdown", "application/json"]);
  const [markdown, json] = contents.map((content) => ("text" in content ? content.text : ""));
  expect(markdown).toMatch(/^# Session .*\n\nTurns: 1\. Compactions: 0\. Model: /);
  expect(resources[1]?.description).toMatch(/^Turns: 1\. Model: /);
  expect(markdown).toMatch(/## User, turn 0\n\nWhich port\?/);
  expect(markdown).toMatch(/## Assistant, turn 0\n\nThe port is 7443\./);
  expect(JSON.parse(json ?? "")).toMatchObject({ session_id, turns: 1 });
  const { contents: list } = await client.readResource({ uri: "rkat://sessions" });
  expect(JSON.stringify(list)).toContain(session_id);
  await expect(client.readResource({ uri: "rkat://sessions/nobody" })).rejects.toThrow(
    /not found/i,
  );
  await expect(client.readResource({ uri: "file:///etc/passwd" })).rejects.toThrow(/not found/i);
});

test("the log is read in pages, without a gap or a repeat, and new events are waited for", async () => {
  const client = await officialClient({
    capabilities: ["session-store", "memory-store"],
    replies: ["one", "two"],
  });
  const session_id = await create(client);
  const turn = (prompt: string) =>
    client.callTool({ name: "turn_start", arguments: { session_id, prompt } });
  await turn("first");
  const page = async (args: object) => {
    const result = await client.callTool({
      name: "session_events",
      arguments: { session_id, ...args },
    });
    return result.structuredContent as { events: { seq: number }[]; seq: number; more: boolean };
  };
  const seqs: number[] = [];
  for (let after_seq = 0, more = true; more; ) {
    const answer = await page({ after_seq, limit: 3 });
    seqs.push(...answer.events.map(({ seq }) => seq));
    ({ seq: after_seq, more } = answer);
  }
  const last = seqs.at(-1) ?? 0;
  expect(last).toBeGreaterThan(6);
  expect(seqs).toEqual(Array.from({ length: last }, (_, at) => at + 1));
  expect(await page({ after_seq: last })).toEqual({ events: [], seq: last, more: false });
  const waiting = page({ after_seq: last, wait_ms: 30_000 });
  await turn("second");
  expect((await waiting).events[0]?.seq).toBe(last + 1);
});

test("without session-store the log cannot be read", async () => {
  const client = await officialClient({ capabilities: [] });
  const session_id = await create(client);
  const call = { name: "session_events", arguments: { session_id } };
  expect(await client.callTool(call)).toMatchObject({
    isError: true,
    structuredContent: { code: "SESSION_PERSISTENCE_DISABLED" },
  });
});

test.each([
  ["memory_forget", {}, ["ids", "session_id"]],
  ["memory_forget", { ids: ["a:1"], session_id: "a" }, ["ids", "session_id"]],
  ["session_pin", { session_id: "a" }, ["message", "position"]],
  ["transcripts_import", {}, ["text", "base64"]],
])(
  "%s %j is told the names of the two fields of which it takes one",
  async (name, args, fields) => {
    const client = await officialClient({ capabilities: EVERYTHING, mcpTools: ["all"] });
    const { isError, structuredContent } = await client.callTool({ name, arguments: args });
    expect(isError).toBe(true);
    expect(structuredContent).toMatchObject({
      code: "INVALID_PARAMS",
      issues: fields.map((field) => ({
        path: [field],
        message: expect.stringContaining("of the two"),
      })),
    });
  },
);

test("where a tool shows one of two fields, a call without it is told that one alone", async () => {
  const client = await officialClient({ capabilities: EVERYTHING, mcpTools: ["default"] });
  const { structuredContent } = await client.callTool({ name: "memory_forget", arguments: {} });
  expect(structuredContent).toMatchObject({
    code: "INVALID_PARAMS",
    message: "The request is not valid. ids: is missing.",
  });
});

test("by default six tools are offered, in at most 2 000 tokens with the instructions", async () => {
  const client = await officialClient({ capabilities: EVERYTHING, mcpTools: ["default"] });
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual([
    "memory_search",
    "memory_add",
    "search_project_history",
    "knowledge_list",
    "session_read",
    "memory_forget",
  ]);
  const text = `${JSON.stringify(tools)}${client.getInstructions()}`;
  expect(Buffer.byteLength(text) / 4).toBeLessThan(2000);
  expect(estimateTokens([{ role: "system", content: text }])).toBeLessThan(2000);
  for (const { name, inputSchema } of tools) {
    for (const [field, schema] of Object.entries(inputSchema.properties ?? {})) {
      expect(schema, `${name}: ${field}`).toHaveProperty("description");
    }
  }
});

test("the instructions say when to search and when to add, and name only offered tools", async () => {
  const named = Object.entries(BUILDS).flatMap(([build, capabilities]) =>
    [["default"], ["all"], ["default", "turn_start"]].map((names) => {
      const offered = toolsFor(capabilities, chosenTools(names)).map(({ name }) => name);
      const text = instructionsFor(new Set(offered));
      const told = text.match(/[a-z]+_[a-z_]+/g) ?? [];
      expect(told.filter((name) => !offered.includes(name))).toEqual([]);
      return [`${build} ${names.join()}`, new Set(told).size];
    }),
  );
  expect(Object.fromEntries(named)).toMatchInlineSnapshot(`
    {
      "A all": 1,
      "A default": 0,
      "A default,turn_start": 1,
      "B all": 2,
      "B default": 1,
      "B default,turn_start": 2,
      "C all": 3,
      "C default": 2,
      "C default,turn_start": 3,
      "D all": 1,
      "D default": 0,
      "D default,turn_start": 1,
      "E all": 4,
      "E default": 3,
      "E default,turn_start": 4,
      "F all": 4,
      "F default": 3,
      "F default,turn_start": 4,
    }
  `);
  const client = await officialClient({ capabilities: EVERYTHING, mcpTools: ["default"] });
  expect(client.getInstructions()).toMatch(/When to search[\s\S]*When to add/);
});

test("a tool that is not offered is refused with the way to offer it", async () => {
  const mcpTools = ["default", "session_list"];
  const client = await officialClient({ capabilities: EVERYTHING, mcpTools });
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain("session_list");
  await expect(client.callTool({ name: "session_delete", arguments: {} })).rejects.toMatchObject({
    code: -32602,
    message: expect.stringContaining(
      'This server does not offer the tool "session_delete". Start it with --tools default,session_delete or --tools all.',
    ),
  });
});

test("what a model adds is found as the model's words, and makes no rule", async () => {
  const client = await officialClient({ capabilities: EVERYTHING, mcpTools: ["all"] });
  const content = "Always deploy from the release branch.";
  const add = { name: "memory_add", arguments: { content } };
  const { structuredContent: added } = await client.callTool(add);
  expect(added).toEqual({ id: expect.any(String), added: true });
  expect((await client.callTool(add)).structuredContent).toEqual({
    ...(added as object),
    added: false,
  });
  const search = { name: "memory_search", arguments: { query: "deploy from which branch" } };
  expect((await client.callTool(search)).structuredContent).toMatchObject({
    results: [{ content, role: "assistant" }],
  });
  const claimed = { content: "Ada says so.", origin: { author: "user" } };
  await client.callTool({ name: "memory_add", arguments: claimed });
  const { structuredContent: listed } = await client.callTool({
    name: "memory_list",
    arguments: {},
  });
  expect(listed).toMatchObject({ entries: [{ role: "assistant" }, { role: "assistant" }] });
  const rules = await client.callTool({ name: "knowledge_list", arguments: {} });
  expect(rules.structuredContent).toEqual({ entries: [] });
  const session_id = await create(client);
  const read = await client.callTool({ name: "session_read", arguments: { session_id } });
  expect(JSON.stringify(read.structuredContent)).not.toContain("release branch");
});

test("`rkat mcp --tools` takes names and refuses others, and so does the setting", async () => {
  const project = await Project.open({
    config: '[mcp]\ntools = ["memory_search", "session_list"]',
  });
  const listed = async (...flags: string[]) => {
    const client = await connected({
      command: process.execPath,
      args: [RKAT, "mcp", ...flags],
      cwd: project.folder,
      env: { ...project.env },
    });
    return (await client.listTools()).tools.map(({ name }) => name);
  };
  expect(await listed()).toEqual(["memory_search", "session_list"]);
  expect(await listed("--tools", "memory_add,memory_stats")).toEqual([
    "memory_add",
    "memory_stats",
  ]);
  if (LONG) expect((await listed("--tools", "all")).length).toBeGreaterThan(25);
  const { code, stderr } = await project.rkat(["mcp", "--tools", "memory_serch"]);
  expect(code).not.toBe(0);
  expect(stderr).toContain('There is no MCP tool "memory_serch". Did you mean "memory_search"?');
});

test("in a window with little room, `rkat mcp` offers one tool, unless others are named", async () => {
  const project = await Project.open();
  const listed = async (tokens: string, ...flags: string[]) => {
    const client = await connected({
      command: process.execPath,
      args: [RKAT, "mcp", ...flags],
      cwd: project.folder,
      env: { ...project.env, CLAUDE_CODE_MAX_CONTEXT_TOKENS: tokens },
    });
    return (await client.listTools()).tools.map(({ name }) => name);
  };
  expect(await listed("19400")).toEqual(["memory_search"]);
  expect(await listed("19400", "--tools", "memory_add")).toEqual(["memory_add"]);
  // What it offers otherwise is above.
  if (LONG) expect(await listed("200000")).toHaveLength(6);
});

test("`rkat mcp` makes a store when something is first remembered, and git shows nothing of it", async () => {
  const project = await Project.open();
  const client = await connected({
    command: process.execPath,
    args: [RKAT, "mcp"],
    cwd: project.folder,
    env: { ...project.env },
  });
  const call = (name: string, args: Record<string, unknown>) =>
    client.callTool({ name, arguments: args });
  const search = () => call("memory_search", { query: "staging port" });
  expect((await search()).structuredContent).toEqual({ results: [] });
  expect(existsSync(join(project.folder, ".rkat"))).toBe(false);
  await call("memory_add", { content: "The staging port is 8022." });
  expect(existsSync(join(project.folder, ".rkat", "rkat.db"))).toBe(true);
  expect((await search()).structuredContent).toMatchObject({
    results: [{ content: "The staging port is 8022." }],
  });
  await client.close();
  const git = (...args: string[]) => execFileSync("git", args, { cwd: project.folder }).toString();
  git("init", "-q");
  expect(git("status", "--porcelain")).toBe("");
  await project.rkat(["init"]);
  expect(git("status", "--porcelain", "-uall")).toBe("?? .rkat/.gitignore\n?? .rkat/config.toml\n");
});

test("`rkat mcp` searches a project in which no model is configured", async () => {
  const project = await Project.open();
  const line = { content: "The staging port is 7443.", session_id: "notes", turn: 0 };
  await project.rkat(["memory", "add", "--jsonl", "-"], JSON.stringify(line));
  const client = await connected({
    command: process.execPath,
    args: [RKAT, "mcp", "--tools", "default,session_create,turn_start"],
    cwd: project.folder,
    env: { ...project.env },
  });
  const found = await client.callTool({
    name: "memory_search",
    arguments: { query: "staging port" },
  });
  expect(JSON.stringify(found.structuredContent)).toContain("7443");
  const { structuredContent } = await client.callTool({ name: "session_create", arguments: {} });
  const turn = await client.callTool({
    name: "turn_start",
    arguments: { ...(structuredContent as object), prompt: "hi" },
  });
  expect(turn.structuredContent).toMatchObject({ code: "MODEL_UNAVAILABLE" });
});

const inspector = process.env.RKAT_TEST_INSPECTOR;
const skipReason = "RKAT_TEST_INSPECTOR=1 lets npx fetch the MCP inspector (126 MB)";

test.skipIf(!inspector)(
  "the MCP inspector's command line works with it",
  { timeout: 300_000, meta: { skipReason } },
  async () => {
    const project = await Project.open();
    const inspect = async (...args: string[]) => {
      const command = [
        "-y",
        "-p",
        "@modelcontextprotocol/inspector@2.12.0",
        "mcp-inspector",
        "--cli",
      ];
      const server = [process.execPath, RKAT, "mcp"];
      const { stdout } = await promisify(execFile)("npx", [...command, ...server, ...args], {
        cwd: project.folder,
      });
      return JSON.parse(stdout);
    };
    const { tools } = await inspect("--method", "tools/list");
    expect(tools[0].name).toBe("memory_search");
    const search = ["--method", "tools/call", "--tool-name", "memory_search"];
    const found = await inspect(...search, "--tool-arg", "query=port", "limit=3");
    expect(found.structuredContent).toEqual({ results: [] });
    const { resources } = await inspect("--method", "resources/list");
    expect(resources[0].uri).toBe("rkat://sessions");
  },
);
