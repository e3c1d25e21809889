import { expect, test } from "vitest";
import { brief, readImport } from "../../../test/support/read-import.ts";
import { recogniseFile } from "../../import/find-transcripts.ts";
import { type FoundFile, fileOfBytes } from "../found-file.ts";
import { IMPORT_FORMATS } from "../import-formats.ts";

const fileOf = (path: string, text: string, others: () => Iterable<FoundFile> = () => []) =>
  fileOfBytes(path, Buffer.from(text), others);

/** What a file says, by the format that recognises it. */
async function read(file: FoundFile) {
  const format = await recogniseFile(file, IMPORT_FORMATS);
  if (!format) throw new Error(`${file.path} is not recognised`);
  const found = await readImport(format, file);
  const said = found.sessions.map(({ messages }) => messages.map(brief));
  return {
    agent: format.agent,
    said,
    ids: found.sessions.flatMap(({ messages }) => messages.map(({ sourceId }) => sourceId)),
    ...found,
  };
}

const json = (...values: unknown[]) => values.map((value) => `${JSON.stringify(value)}\n`).join("");

test("Cursor's export: only its own headings count, and a rule in an answer stays", async () => {
  const text = `# Paint

_Exported on 2/3/2026 at 10:00:00 GMT+1 from Cursor (1.7.2)_

---

**User**

Why is it red?

---

**Cursor**

It is paint.

---

**User** is a heading here, and so is

**Cursor**

---

**User**

Make it blue
`;
  expect((await read(fileOf("chat.md", text))).said).toEqual([
    ["user: Why is it red?", expect.stringContaining("It is paint."), "user: Make it blue"],
  ]);
});

const CLINE_API = [
  {
    role: "user",
    content: [
      { type: "text", text: "<task>\nWhy is it red?\n</task>" },
      {
        type: "text",
        text: "<environment_details>\n# VSCode Visible Files\n</environment_details>",
      },
    ],
  },
  {
    role: "assistant",
    content: [{ type: "text", text: "I look.\n\n<read_file>\n<path>a</path>\n</read_file>" }],
  },
  {
    role: "user",
    content: [
      { type: "text", text: "[read_file for 'a'] Result:" },
      { type: "text", text: "red = paint" },
      { type: "text", text: "<environment_details>time</environment_details>" },
    ],
  },
  {
    role: "assistant",
    content: "<attempt_completion>\n<result>\nPaint.\n</result>\n</attempt_completion>",
  },
  {
    role: "user",
    content: [
      { type: "text", text: "[attempt_completion] Result:" },
      {
        type: "text",
        text: "The user has provided feedback on the results.\n<feedback>\nMake it blue\n</feedback>",
      },
    ],
  },
];

test("Cline's history for the model: typed words without the environment, calls of XML, and the ids of the other file", async () => {
  const path = "tasks/1770000000000/api_conversation_history.json";
  const api = await read(fileOf(path, JSON.stringify(CLINE_API)));
  expect(api.agent).toBe("cline");
  expect(api.said).toEqual([
    [
      "user: Why is it red?",
      "text: I look.",
      'call: read_file {"input":"<path>a</path>"}',
      "result: [read_file for 'a'] Result:\nred = paint",
      "text: Paint.",
      expect.stringMatching(/^result: \[attempt_completion\]/),
      "user: Make it blue",
    ],
  ]);
  const ui = fileOf(
    "tasks/1770000000000/ui_messages.json",
    JSON.stringify([
      { ts: 1, type: "say", say: "text", text: "Why is it red?" },
      { ts: 2, type: "say", say: "text", text: "I look." },
      { ts: 3, type: "say", say: "completion_result", text: "Paint." },
      { ts: 4, type: "say", say: "user_feedback", text: "Make it blue" },
    ]),
  );
  const seen = await read(ui);
  expect(seen.sessions[0]?.id).toBe(api.sessions[0]?.id);
  for (const id of seen.ids) expect(api.ids).toContain(id);
  const beside = await read(fileOf(path, JSON.stringify(CLINE_API), () => [ui]));
  expect(beside.sessions).toEqual([]);
});

test("Roo Code: a task that was copied elsewhere is Roo's by what only Roo writes", async () => {
  const asked = (text: string) =>
    JSON.stringify([
      {
        role: "user",
        content: [
          { type: "text", text: "<task>\nWhy?\n</task>" },
          { type: "text", text },
        ],
      },
    ]);
  const mode = (text: string) =>
    asked(`<environment_details>\n# Current Mode\n${text}\n</environment_details>`);
  const path = "copied/1770000000000/api_conversation_history.json";
  const agentOf = async (text: string, at = path) => (await read(fileOf(at, text))).agent;
  expect(await agentOf(mode("<slug>code</slug>\n<name>Code</name>"))).toBe("roo");
  expect(await agentOf(mode("ACT MODE"))).toBe("cline");
  expect(await agentOf(asked("What does <slug>code</slug> mean?"))).toBe("cline");
  const ui = (request: object) =>
    JSON.stringify([
      { ts: 1, type: "say", say: "text", text: "Why?" },
      { ts: 2, type: "say", say: "api_req_started", text: JSON.stringify(request) },
    ]);
  const place = "copied/1770000000000/ui_messages.json";
  expect(await agentOf(ui({ apiProtocol: "anthropic", tokensIn: 1 }), place)).toBe("roo");
  expect(await agentOf(ui({ request: "x", tokensIn: 1 }), place)).toBe("cline");
});

test("Copilot: what was rewound, what skills and sub-agents say, is counted and not the person's", async () => {
  const event = (id: string, type: string, data: object, more: object = {}) => ({
    ...{ id, type, data, timestamp: "2026-05-01T10:00:00.000Z" },
    ...more,
  });
  const { said, otherBranch, skipped } = await read(
    fileOf(
      "session-state/s/events.jsonl",
      json(
        event("1", "session.start", {
          sessionId: "s",
          copilotVersion: "1",
          producer: "copilot-agent",
        }),
        event("2", "user.message", {
          content: "Why is it red?",
          transformedContent: "<now/>Why is it red?",
        }),
        event("3", "user.message", { content: "wrong" }),
        event("4", "assistant.message", { messageId: "x", content: "also wrong" }),
        event("5", "session.snapshot_rewind", { upToEventId: "2" }),
        event("6", "assistant.message", { messageId: "y", content: "inner" }, { agentId: "sub" }),
        event("7", "assistant.message", { messageId: "z", content: "It is paint." }),
      ),
    ),
  );
  expect([said, otherBranch, skipped]).toEqual(
    [["user: Why is it red?", "text: It is paint."], 3, []].map((each, at) =>
      at === 0 ? [each] : each,
    ),
  );
});

test("Copilot: a session whose start names no folder is of the one that a later event names", async () => {
  const event = (type: string, data: object) => ({ id: type, type, data });
  const start = { sessionId: "s", producer: "copilot-agent" };
  const events = (context: object) =>
    json(
      event("session.start", { ...start, ...context }),
      event("session.context_changed", { cwd: "/home/ada/app", branch: "main" }),
      event("session.resume", { context: { cwd: "/home/ada/else" } }),
      event("user.message", { content: "Why is it red?" }),
    );
  for (const [context, project] of [
    [{}, "/home/ada/app"],
    [{ context: { cwd: "/home/ada/first" } }, "/home/ada/first"],
  ] as const) {
    const { sessions } = await read(fileOf("session-state/s/events.jsonl", events(context)));
    expect(sessions[0]).toMatchObject({ project, branch: "main" });
  }
});

test("Copilot Chat's log of changes gives the chat that they end in", async () => {
  const { said, sessions } = await read(
    fileOf(
      "chatSessions/s.jsonl",
      json(
        {
          kind: 0,
          v: { version: 3, sessionId: "s", creationDate: 1_770_000_000_000, requests: [] },
        },
        {
          kind: 2,
          k: ["requests"],
          v: [{ requestId: "r", message: { text: "Why is it red?" }, response: [] }],
        },
        { kind: 2, k: ["requests", 0, "response"], v: [{ value: "It is dye." }] },
        { kind: 2, k: ["requests", 0, "response"], v: [{ value: "It is paint." }], i: 0 },
        { kind: 1, k: ["customTitle"], v: "Paint" },
      ),
    ),
  );
  expect(said).toEqual([["user: Why is it red?", "text: It is paint."]]);
  expect(sessions[0]?.title).toBe("Paint");
});

test("Copilot Chat: the fences around an edit are none of its words", async () => {
  const response = [
    { value: "I change it." },
    { value: "\n```\n" },
    { kind: "codeblockUri", uri: { path: "/a" } },
    { kind: "textEditGroup", edits: [] },
    { value: "\n```\n" },
    { value: "```ts\npaint();\n```" },
  ];
  const chat = {
    responderUsername: "GitHub Copilot",
    requests: [{ message: "Paint it", response }],
  };
  expect((await read(fileOf("chat.json", JSON.stringify(chat)))).said).toEqual([
    ["user: Paint it", "text: I change it.\n\n```ts\npaint();\n```"],
  ]);
});

test("OpenHands: the files of a folder are one conversation in the order of their numbers, read once", async () => {
  const event = (number: number, rest: object) =>
    fileOf(
      `c/events/event-0000${number}-x.json`,
      JSON.stringify({ id: `e${number}`, timestamp: `2026-05-01T10:00:0${number}`, ...rest }),
      () => files,
    );
  const message = (role: string, text: string) => ({
    kind: "MessageEvent",
    source: role === "user" ? "user" : "agent",
    llm_message: { role, content: [{ type: "text", text }] },
  });
  const files: FoundFile[] = [
    event(3, {
      kind: "ObservationEvent",
      source: "environment",
      tool_call_id: "c",
      action_id: "e2",
      observation: { content: [{ type: "text", text: "out" }], is_error: false },
    }),
    event(1, message("user", "Why is it red?")),
    event(2, {
      kind: "ActionEvent",
      source: "agent",
      thought: [{ type: "text", text: "I look." }],
      tool_name: "terminal",
      tool_call_id: "c",
      llm_response_id: "r",
      action: { kind: "TerminalAction", command: "ls" },
    }),
    event(4, {
      kind: "ActionEvent",
      source: "agent",
      tool_name: "finish",
      tool_call_id: "d",
      action: { kind: "FinishAction", message: "Paint." },
    }),
  ];
  const all = [];
  for (const file of files) all.push(...(await read(file)).said);
  expect(all).toEqual([
    [
      "user: Why is it red?",
      "text: I look.",
      'call: terminal {"command":"ls"}',
      "result: out",
      "text: Paint.",
    ],
  ]);
});

test("OpenHands: thoughts that a model writes into its answers are thoughts", async () => {
  const event = (id: number, more: object) => ({
    ...{ id, timestamp: `2026-05-01T10:00:0${id}`, source: "agent" },
    ...more,
  });
  const think = (text: string) => `\n<think>\n${text}\n</think>\n\n`;
  const old = [
    event(1, { source: "user", action: "message", args: { content: "<think>Why?</think>" } }),
    event(2, { action: "run", args: { thought: `${think("A.")}I look.`, command: "ls" } }),
    event(3, { action: "run", args: { thought: "<think>Cut o", command: "ls" } }),
    event(4, { action: "message", args: { content: `${think("B.")}As \`</think>\` says.` } }),
    event(5, { action: "message", args: { content: "A model writes <think>x</think>." } }),
    event(6, { action: "finish", args: { final_thought: `${think("C.")}Paint.` } }),
  ];
  const newer = [
    event(7, {
      kind: "ActionEvent",
      thought: [{ type: "text", text: `${think("D.")}I go.` }],
      tool_name: "finish",
      action: { kind: "FinishAction", message: `${think("E.")}Done.` },
    }),
    event(8, {
      kind: "MessageEvent",
      llm_message: { role: "assistant", content: `${think("F.")}Bye.` },
    }),
  ];
  const { said } = await read(fileOf("trajectory.json", JSON.stringify([...old, ...newer])));
  expect(said.flat().filter((line) => !line.startsWith("call: "))).toEqual([
    "user: <think>Why?</think>",
    "-reasoning: A.",
    "text: I look.",
    "-reasoning: Cut o",
    "-reasoning: B.",
    "text: As `</think>` says.",
    "text: A model writes <think>x</think>.",
    "-reasoning: C.",
    "text: Paint.",
    "-reasoning: D.",
    "text: I go.",
    "-reasoning: E.",
    "text: Done.",
    "-reasoning: F.",
    "text: Bye.",
  ]);
});

test("streams without their prompt give the answers, and say so", async () => {
  const exec = await read(
    fileOf(
      "exec.jsonl",
      json(
        { type: "thread.started", thread_id: "0199-t" },
        {
          type: "item.completed",
          item: {
            id: "item_0",
            type: "command_execution",
            command: "ls",
            aggregated_output: "a",
            exit_code: 1,
            status: "failed",
          },
        },
        {
          type: "item.completed",
          item: { id: "item_1", type: "agent_message", text: "It is paint." },
        },
        { type: "thread.started", thread_id: "0199-t" },
        {
          type: "item.completed",
          item: { id: "item_0", type: "agent_message", text: "It is blue." },
        },
      ),
    ),
  );
  expect(exec.said).toEqual([
    ['call: shell {"command":"ls"}', "failed: a", "text: It is paint.", "text: It is blue."],
  ]);
  expect(new Set(exec.ids).size).toBe(exec.ids.length);
  const run = await read(
    fileOf(
      "run.jsonl",
      json(
        {
          type: "step_start",
          sessionID: "ses_1",
          part: { id: "prt_0", messageID: "msg_1", type: "step-start" },
        },
        {
          type: "text",
          sessionID: "ses_1",
          part: { id: "prt_1", messageID: "msg_1", type: "text", text: "It is" },
        },
        {
          type: "text",
          sessionID: "ses_1",
          part: { id: "prt_1", messageID: "msg_1", type: "text", text: "It is paint." },
        },
      ),
    ),
  );
  expect(run.said).toEqual([["text: It is paint."]]);
  const stream = await read(
    fileOf(
      "stream.jsonl",
      json(
        { type: "system", subtype: "init", session_id: "s", cwd: "/home/ada" },
        {
          type: "assistant",
          session_id: "s",
          message: {
            id: "m",
            role: "assistant",
            content: [{ type: "text", text: "It is paint." }],
          },
          uuid: "u",
        },
        { type: "result", subtype: "success", session_id: "s", result: "It is paint." },
      ),
    ),
  );
  expect(stream.said).toEqual([["text: It is paint."]]);
  const list = [
    { type: "system", subtype: "init", session_id: "s", apiKeySource: "none" },
    ...["It is", "paint."].map((text) => ({
      ...{ type: "assistant", session_id: "s" },
      message: { role: "assistant", content: [{ type: "text", text }] },
    })),
    { type: "result", session_id: "s", result: "paint." },
  ];
  const listed = await read(fileOf("out.json", JSON.stringify(list, null, 2)));
  expect(listed.said).toEqual([["text: It is", "text: paint."]]);
  expect(listed.sessions[0]?.id).toBe("claude-code:s:printed");
  expect(new Set(listed.ids).size).toBe(2);
  const answers = [{ type: "result", session_id: "s", is_error: false, result: "It is paint." }];
  const asked = { type: "user", session_id: "s", message: { role: "user", content: "Why red?" } };
  const cursors = await read(
    fileOf("out.jsonl", json({ ...list[0], apiKeySource: "login" }, asked, ...list.slice(1))),
  );
  expect(cursors.said).toEqual([["user: Why red?", "text: It is", "text: paint."]]);
  expect([cursors.sessions[0]?.agent, new Set(cursors.ids).size]).toEqual(["cursor", 3]);
  const only = await read(fileOf("out.json", json(...answers)));
  expect([only.said, only.sessions[0]?.title]).toEqual([[["text: It is paint."]], "It is paint."]);
  const failed = await read(fileOf("out.json", json({ ...answers[0], is_error: true })));
  expect(failed.said).toEqual([[]]);
  for (const { skipped } of [exec, run, stream])
    expect(skipped.join()).toContain("the prompt is not in this stream");
});

test("Cline: a completion that changed files is the same answer as without that mark", async () => {
  const ui = (second: number, kind: string, said: string, text: string) => ({
    ...{ ts: 1_770_000_000_000 + 1000 * second, type: kind, [kind]: said },
    text,
  });
  const { said, sessions } = await read(
    fileOf(
      "tasks/1770000000000/ui_messages.json",
      JSON.stringify([
        ui(0, "say", "task", "Paint it"),
        ui(1, "say", "text", "I look."),
        ui(1, "say", "completion_result", "Painted.HAS_CHANGES"),
        ui(2, "ask", "completion_result", "Painted."),
      ]),
    ),
  );
  expect(said).toEqual([["user: Paint it", "text: I look.", "text: Painted."]]);
  expect(sessions[0]?.title).toBe("Paint it");
});

test("Cline: a blank text is no prompt, no title and no answer", async () => {
  const ui = (say: string, text: string) => ({ ts: 1_770_000_000_000, type: "say", say, text });
  const { said, sessions } = await read(
    fileOf(
      "tasks/1770000000000/ui_messages.json",
      JSON.stringify([
        ...[ui("text", " \n"), ui("text", "Paint it"), ui("text", " "), ui("user_feedback", "\n")],
        ...[ui("completion_result", " "), ui("reasoning", " ")],
      ]),
    ),
  );
  expect(said).toEqual([["user: Paint it"]]);
  expect(sessions[0]?.title).toBe("Paint it");
});

test("opencode's export: the model of the last answer is the session's, unless the session names its own", async () => {
  const exported = async (about: object) => {
    const messages = ["a", "b"].map((modelID, index) => ({
      info: { id: `msg_${index}`, role: "assistant", modelID, time: { created: 1 } },
      parts: [{ id: `prt_${index}`, type: "text", text: "It is paint." }],
    }));
    const { sessions } = await read(
      fileOf("export.json", JSON.stringify({ info: { id: "ses_1", ...about }, messages })),
    );
    return sessions[0]?.model;
  };
  expect(await exported({})).toBe("b");
  expect(await exported({ model: { id: "c" } })).toBe("c");
});

test("SWE-agent: a demonstration that has only its history is read", async () => {
  const history = [
    { role: "system", content: "You are an agent.", agent: "main" },
    { role: "user", content: "ISSUE: it is red", agent: "main" },
    { role: "assistant", content: "I look.", agent: "main" },
  ];
  const { agent, said } = await read(fileOf("one.traj", JSON.stringify({ history })));
  expect([agent, said[0]?.at(-1)]).toEqual(["swe-agent", "text: I look."]);
});

test("SWE-agent: runs with the same task are sessions of their own, and no text of one is taken for another's", async () => {
  const run = async (first: string, second: string, replay_config = "a") => {
    const history = [
      { role: "user", content: "ISSUE: it is red" },
      { role: "assistant", content: first },
      { role: "assistant", content: second },
    ];
    const all = { trajectory: [], history, info: {}, environment: "swe_main", replay_config };
    return await read(fileOf("one.traj", JSON.stringify(all)));
  };
  const runs = [
    await run("I look.", "It is paint."),
    await run("I see.", "It is paint."),
    await run("I look.", "It is paint.", "b"),
  ];
  expect(new Set(runs.map(({ sessions }) => sessions[0]?.id)).size).toBe(3);
  const other = await run("I look.", "It is dye.");
  expect(runs[0]?.ids).not.toContain(other.ids.at(-1));
});

test("Qwen Code: what hooks add to a prompt is not the person's", async () => {
  const tag = "qwen:user-prompt-submit-context";
  const parts = [{ text: "Why is it red?" }, { text: `\n<${tag}>\nfrom a hook\n</${tag}>` }];
  const { said } = await read(
    fileOf(
      "chats/q.jsonl",
      json(
        ...[{ uuid: "a", parentUuid: null, sessionId: "q", type: "user", cwd: "/home/ada" }].map(
          (line) => ({ ...line, message: { role: "user", parts } }),
        ),
      ),
    ),
  );
  expect(said).toEqual([["user: Why is it red?"]]);
});

test("Qwen Code: a session has the branch that it was last on", async () => {
  const line = (uuid: string, parentUuid: string | null, gitBranch?: string) => ({
    ...{ uuid, parentUuid, sessionId: "q", type: "user", cwd: "/home/ada", gitBranch },
    message: { role: "user", parts: [{ text: "Why is it red?" }] },
  });
  const lines = [line("a", null, "main"), line("b", "a", "paint"), line("c", "b")];
  const { sessions } = await read(fileOf("chats/q.jsonl", json(...lines)));
  expect(sessions[0]).toMatchObject({ branch: "paint", project: "/home/ada" });
});

const said = (role: string, ...texts: string[]) => ({
  role,
  content: texts.map((text) => ({ type: "text", text })),
});

test("Roo Code: results of modes, of subtasks and with lines are a tool's, and so is what a tool quotes of other tasks", async () => {
  const { said: found } = await read(
    fileOf(
      "roo-code/tasks/1770000000000/api_conversation_history.json",
      JSON.stringify([
        said("user", "<task>\nPaint it\n</task>", "<environment_details>x</environment_details>"),
        said("assistant", "<new_task>\n<mode>code</mode>\n</new_task>"),
        said("user", "[new_task completed] Result: \nPainted."),
        said(
          "user",
          "[new_task in Code mode: 'Paint\nall of it'] Result:",
          "Successfully created new task in Code mode with message: Paint all of it",
        ),
        said("assistant", "<use_mcp_tool>\n</use_mcp_tool>"),
        said(
          "user",
          "[use_mcp_tool for 'tasks'] Result:",
          'Tasks:\n<task>\nAn older one\n</task>\n{"first":"<task>\\nAnother</task>"}\n  | Continue:\n  | <user_message>\n  | No\n  | </user_message>\n[end]',
        ),
        said("assistant", "<execute_command>\n<command>ls</command>\n</execute_command>"),
        said(
          "user",
          "[execute_command for 'ls'] Result:",
          "Command is still running in terminal 1.\nHere's the output so far:\n<task>\n</task>\n\n\n<user_message>\nStop it. I meant <task> and </user_message> too\n</user_message>",
        ),
      ]),
    ),
  );
  expect(found.flat().filter((text) => text.startsWith("user:"))).toEqual([
    "user: Paint it",
    "user: Stop it. I meant <task> and </user_message> too",
  ]);
  expect(found.flat().filter((text) => text.startsWith("result:"))).toHaveLength(4);
});

test("Roo Code: what a person says about a call is theirs, also where it stands in JSON", async () => {
  const answered = (id: string, content: string) => ({
    type: "tool_result",
    tool_use_id: id,
    content,
  });
  const { said: found } = await read(
    fileOf(
      "roo-code/tasks/1770000000000/api_conversation_history.json",
      JSON.stringify([
        said("user", "<user_message>\nPaint it\n</user_message>"),
        {
          role: "assistant",
          content: [
            {
              type: "tool_use",
              id: "a",
              name: "ask_followup_question",
              input: { question: "Red?" },
            },
          ],
        },
        { role: "user", content: [answered("a", "<user_message>\nBlue\n</user_message>")] },
        { role: "assistant", content: [{ type: "tool_use", id: "b", name: "edit", input: {} }] },
        {
          role: "user",
          content: [answered("b", '{"status":"denied","feedback":"Not that wall"}')],
        },
        { role: "assistant", content: [{ type: "tool_use", id: "c", name: "edit", input: {} }] },
        {
          role: "user",
          content: [answered("c", '{"status":"approved","feedback":"Go on"}\n\nIt is painted')],
        },
      ]),
    ),
  );
  const spoken = found.flat().filter((text) => /^(?:user|text):/.test(text));
  expect(spoken).toEqual([
    "user: Paint it",
    "text: Red?",
    "user: Blue",
    "user: Not that wall",
    "user: Go on",
  ]);
});

test("Cline: words that are said again behind a call are said again", async () => {
  const say = (kind: string, text: string) => ({
    ts: 1_770_000_000_000,
    type: "say",
    say: kind,
    text,
  });
  const { said: found } = await read(
    fileOf(
      "tasks/1770000000000/ui_messages.json",
      JSON.stringify([
        say("task", "Paint it"),
        say("text", "I go on."),
        say("text", "I go on."),
        say("tool", '{"tool":"readFile","path":"a"}'),
        say("text", "I go on."),
      ]),
    ),
  );
  expect(found).toEqual([
    ["user: Paint it", "text: I go on.", expect.stringMatching(/^call:/), "text: I go on."],
  ]);
});

test("Copilot Chat: what a terminal tells the model is not the person's", async () => {
  const event = (id: string, type: string, data: object) => ({ id, type, data });
  const note = "[Terminal 1104ee1b-0000-4000-8000-a0e2242a2461 notification: command completed]\n$";
  const { said: found, otherBranch } = await read(
    fileOf(
      "GitHub.copilot-chat/transcripts/s.jsonl",
      json(
        event("1", "user.message", { content: note }),
        event("2", "user.message", { content: "Run it" }),
        event("3", "assistant.message", { content: "It runs." }),
      ),
    ),
  );
  expect([found, otherBranch]).toEqual([[["user: Run it", "text: It runs."]], 1]);
});

test("SWE-agent: the last answer is read also where only the steps have it", async () => {
  const history = [
    { role: "user", content: "ISSUE: it is red" },
    { role: "assistant", content: "I look.", action: "ls" },
    { role: "tool", content: "paint.ts" },
  ];
  const steps = [
    { response: "I look.", action: "ls" },
    { response: "It is paint. I submit.", action: "submit" },
  ];
  const file = async (trajectory: object[], some: object[]) =>
    await read(
      fileOf("a.traj", JSON.stringify({ environment: "main", trajectory, history: some })),
    );
  const begun = await file(steps, history);
  expect(begun.said[0]?.at(-2)).toBe("text: It is paint. I submit.");
  const ended = [
    ...history,
    { role: "assistant", content: "It is paint. I submit.", action: "submit" },
  ];
  expect((await file(steps, ended)).ids).toEqual(begun.ids);
  expect((await file([...steps].reverse(), history)).said[0]).toHaveLength(4);
});

test("OpenHands: a folder of events is one session also under another name, and a critic is no person", async () => {
  const message = (id: number, text: string, source = "user") => ({
    ...{ id: `e${id}`, timestamp: `2026-02-18T19:10:0${id}.000000`, source, kind: "MessageEvent" },
    llm_message: { role: source, content: [{ type: "text", text }] },
  });
  const critic =
    "The task appears incomplete (iteration 1/3, predicted success likelihood: 37.8%).";
  const events = [message(1, "Paint it"), message(2, "Done?", "agent"), message(3, critic)];
  const files: FoundFile[] = events.map((event, index) =>
    fileOf(
      `copy/run/event-0000${index + 1}-b19b86a5-1b66-4e08-8f65-10770b4b45cc.json`,
      JSON.stringify(event),
      () => files,
    ),
  );
  const [first] = files;
  if (!first) throw new Error("no file");
  const { said: found, sessions } = await read(first);
  expect(sessions[0]?.id).toMatch(/^openhands:run-/);
  expect(found).toEqual([["user: Paint it", "text: Done?", expect.stringContaining(critic)]]);
  expect(found[0]?.[2]).not.toMatch(/^user/);
});

test("mini-swe-agent: what it tells the model about its answers is not the person's", async () => {
  const call = { id: "c", type: "function", function: { name: "bash", arguments: "{}" } };
  const pr =
    "<pr_description>\nConsider the following PR description:\nIt is red\n</pr_description>";
  const value = {
    info: { exit_status: "Submitted" },
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: pr },
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: "c", content: "<output>paint.ts</output>" },
      { role: "assistant", content: "It is paint." },
      { role: "user", content: "No tool calls found in the response." },
      { role: "exit", content: "diff" },
    ],
    trajectory_format: "mini-swe-agent-1.1",
  };
  const {
    agent,
    said: found,
    sessions,
  } = await read(fileOf("red.traj.json", JSON.stringify(value)));
  expect([agent, sessions[0]?.title]).toEqual(["swe-agent", "It is red"]);
  const spoken = found.flat().filter((text) => /^(?:user|text):/.test(text));
  expect(spoken).toEqual([`user: ${pr}`, "text: It is paint."]);
  const long = { ...value, info: { patch: "x".repeat(70_000) } };
  const whole = await read(fileOf("red.traj.json", JSON.stringify(long)));
  expect(whole.said).toEqual(found);
});
