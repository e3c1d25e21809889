import fc from "fast-check";
import { expect, test } from "vitest";
import { ANY_CHARACTER } from "../../../test/support/any-character.ts";
import { ClaudeLines } from "../../../test/support/claude-lines.ts";
import { claudeTalks } from "../../../test/support/claude-talks.ts";
import { fuzz } from "../../../test/support/fuzz.ts";
import {
  brief,
  linesFile,
  piecesOf,
  readGrowing,
  readImport,
} from "../../../test/support/read-import.ts";
import { trials } from "../../../test/support/trials.ts";
import { contentText, type Message } from "../../core/message.ts";
import { refusalsIn } from "../../core/refusal.ts";
import { groupParts, joinParts } from "../../import/read-message.ts";
import { fileOfBytes } from "../found-file.ts";
import type { ImportedMessage, ImportNotes } from "../imported.ts";
import { claudeCodeFormat } from "./claude-code-format.ts";

const ID = "0f3c2b1a-1111-4222-8333-444455556666";

async function read(text: string | Uint8Array, name = `${ID}.jsonl`) {
  const told: string[] = [];
  const notes: ImportNotes = {
    skip: (_, line, reason) => told.push(`line ${line}: ${reason}`),
    unknown: (type) => told.push(`unknown ${type}`),
    otherBranch: (messages) => told.push(`${messages} on other branches`),
    unfinished: () => told.push("unfinished"),
    readOn() {},
  };
  const file = fileOfBytes(`/projects/app/${name}`, Buffer.from(text));
  const sessions = [];
  const messages: ImportedMessage[] = [];
  for await (const { messages: parts, ...session } of claudeCodeFormat.read(file, notes)) {
    sessions.push(session);
    for await (const part of parts) messages.push(part);
  }
  return { session: sessions[0], messages, told };
}

/** A message in a few words. */
function shown({ message, memory, origin }: ImportedMessage): string {
  const note = memory === false ? " (not for memory)" : "";
  if (message.role === "user") return `${origin.author}: ${contentText(message.content)}${note}`;
  if (message.role === "tool_results") {
    return message.results
      .map((result) => `result ${result.tool_use_id}: ${result.content}`)
      .join();
  }
  return `${answerText(message)}${note}`;
}

function answerText(message: Message): string {
  if (message.role !== "block_assistant") return message.role;
  return message.blocks
    .map(({ block_type, data }) =>
      block_type === "tool_use" ? `call ${data.id}` : `${block_type} ${data.text}`,
    )
    .join();
}

const conversation = async (lines: ClaudeLines) => (await read(String(lines))).messages.map(shown);

const talk = () =>
  new ClaudeLines(ID)
    .user("Fix the parser.")
    .answer("msg_1", { type: "thinking", thinking: "Hmm.", signature: "x" })
    .text("msg_1", "I look at it.")
    .call("msg_1", "toolu_1")
    .result("toolu_1", "parser.ts")
    .text("msg_2", "Done.");

test("a session has its folder, branch, model, title and times", async () => {
  const { session, told } = await read(String(talk()));
  expect(told).toEqual([]);
  expect(session).toEqual({
    id: `claude-code:${ID}`,
    agent: "claude-code",
    nativeId: ID,
    title: "Fix the parser.",
    project: "/home/ada/app",
    branch: "main",
    model: "claude-opus-4",
    startedAt: "2026-01-02T03:00:01.000Z",
    updatedAt: "2026-01-02T03:00:06.000Z",
  });
});

test("the lines of an answer are one group, and thinking is not for memory", async () => {
  const { messages } = await read(String(talk()));
  expect(messages.map(shown)).toEqual([
    "user: Fix the parser.",
    "reasoning Hmm. (not for memory)",
    "text I look at it.",
    "call toolu_1",
    "result toolu_1: parser.ts",
    "text Done.",
  ]);
  const groups = messages.map(({ group }) => group);
  const one = "answer msg_1";
  expect(groups).toEqual([undefined, one, one, one, "results msg_1", "answer msg_2"]);
});

test("lines that repeat an answer add only their new blocks", async () => {
  const answer = (lines: ClaudeLines, ...content: readonly object[]) =>
    lines.add("assistant", {
      message: { id: "msg_1", role: "assistant", model: "claude-opus-4", content },
    });
  const text = (said: string) => ({ type: "text", text: said });
  const call = { type: "tool_use", id: "toolu_1", name: "Bash", input: {} };
  const lines = new ClaudeLines(ID).user("Fix the parser.");
  answer(lines, text("I lo"));
  answer(lines, text("I look at it."));
  answer(lines, text("I look at it."), call);
  answer(lines, text("I look at it."), call, text("And wait"));
  answer(lines, text("And wait."));
  const { messages } = await read(String(lines));
  const [, ...parts] = messages;
  expect(parts.map(shown)).toEqual([
    "text I lo",
    "text ok at it.",
    "call toolu_1",
    "text And wait",
    "text .",
  ]);
  const groups = groupParts(parts);
  expect(groups.map((group) => answerText(joinParts(group)))).toEqual([
    "text I look at it.,call toolu_1,text And wait.",
  ]);
});

test("results of parallel calls come after the answer, however their lines hang together", async () => {
  const lines = new ClaudeLines(ID).user("Look at both.").call("msg_1", "toolu_a");
  const first = lines.last;
  // The first result is there before the second call is.
  lines.result("toolu_a", "a", { sourceToolAssistantUUID: first });
  lines.goTo(first).call("msg_1", "toolu_b").result("toolu_b", "b").text("msg_2", "Both are fine.");
  expect(await conversation(lines)).toEqual([
    "user: Look at both.",
    "call toolu_a",
    "call toolu_b",
    "result toolu_a: a",
    "result toolu_b: b",
    "text Both are fine.",
  ]);
});

test("when a prompt was edited, only the last branch is the conversation", async () => {
  const lines = new ClaudeLines(ID).user("Hello.").text("msg_1", "Hi.");
  const answer = lines.last;
  lines.user("Use tabs.").text("msg_2", "Tabs it is.");
  lines.goTo(answer).user("Use spaces.").text("msg_3", "Spaces it is.");
  const { messages, told } = await read(String(lines));
  expect(messages.map(shown)).toEqual([
    "user: Hello.",
    "text Hi.",
    "user: Use spaces.",
    "text Spaces it is.",
  ]);
  expect(told).toEqual(["2 on other branches"]);
});

test("a session that was cleared goes on in its file, and what was said before is there", async () => {
  const hook = { hookEvent: "SessionStart", hookName: "SessionStart:clear" };
  const clear = (lines: ClaudeLines) => lines.add("progress", { data: hook, parentUuid: null });
  const lines = clear(new ClaudeLines(ID)).user("Plan the cart").text("m1", "Done.");
  clear(lines).user("Do the plan").text("m2", "Built.");
  const { messages, told } = await read(String(lines));
  expect(messages.map(shown)).toEqual([
    "user: Plan the cart",
    "text Done.",
    "user: Do the plan",
    "text Built.",
  ]);
  expect(told).toEqual([]);
});

test("messages before a boundary are read, even if the boundary names no parent", async () => {
  for (const field of [{}, { logicalParentUuid: null }, { logicalParentUuid: "" }]) {
    const lines = new ClaudeLines(ID).user("One.").text("msg_1", "Two.").goTo(null);
    lines.add("system", { subtype: "compact_boundary", ...field });
    lines.user("Summary.", { isCompactSummary: true }).user("Three.").text("msg_2", "Four.");
    const { messages, told } = await read(String(lines));
    expect(told).toEqual([]);
    expect(messages.filter(({ memory }) => memory !== false).map(shown)).toEqual([
      "user: One.",
      "text Two.",
      "user: Three.",
      "text Four.",
    ]);
  }
});

test("a compaction is a boundary, and everything before it is there", async () => {
  const lines = new ClaudeLines(ID).user("Begin.").text("msg_1", "Begun.");
  const before = lines.last;
  lines
    .goTo(null)
    .add("system", {
      subtype: "compact_boundary",
      logicalParentUuid: before,
      compactMetadata: { trigger: "auto", preTokens: 1000 },
    })
    .user("This session is being continued …", { isCompactSummary: true })
    .user("Go on.")
    .text("msg_2", "Going on.");
  const { messages } = await read(String(lines));
  expect(messages.map(({ boundary }) => boundary)).toEqual([
    undefined,
    undefined,
    "compaction",
    undefined,
    undefined,
  ]);
  expect(messages[2]).toMatchObject({ message: { kind: "compaction_summary" }, memory: false });
  expect(messages.map(shown).slice(3)).toEqual(["user: Go on.", "text Going on."]);
});

test("preserved messages do not make the walk circular, and none is lost", async () => {
  const lines = new ClaudeLines(ID).user("One.").text("msg_1", "Two.");
  const kept = lines.last;
  lines.goTo(null).add("system", {
    subtype: "compact_boundary",
    logicalParentUuid: kept,
    compactMetadata: { preservedMessages: { anchorUuid: kept, uuids: [kept] } },
  });
  lines.user("Summary.", { isCompactSummary: true });
  // Its parent is the message that was kept, from before the boundary.
  lines.goTo(kept).user("Three.").text("msg_2", "Four.");
  const { messages } = await read(String(lines));
  expect(messages.filter(({ memory }) => memory !== false).map(shown)).toEqual([
    "user: One.",
    "text Two.",
    "user: Three.",
    "text Four.",
  ]);
  expect(messages.some(({ boundary }) => boundary === "compaction")).toBe(true);
});

test("injected text is separated from typed text", async () => {
  const lines = new ClaudeLines(ID)
    .user("<local-command-caveat>Caveat: …</local-command-caveat>", { isMeta: true })
    .user("<command-name>/review</command-name>\n<command-args>the diff</command-args>")
    .user("<local-command-stdout>ok</local-command-stdout>")
    .user("<system-reminder>Only this.</system-reminder>")
    .user(
      "<ide_opened_file>a.ts</ide_opened_file>Why does it fail?<system-reminder>x</system-reminder>",
    )
    .user([{ type: "text", text: "[Request interrupted by user]" }])
    .user("Background task ended.", { promptSource: "system" })
    .user("What is a <system-reminder> tag?")
    .add("attachment", { attachment: { type: "queued_command", prompt: "And run the tests." } })
    .text("msg_1", "Yes.");
  expect(await conversation(lines)).toEqual([
    "user: /review the diff",
    "user: Why does it fail?",
    "user: What is a <system-reminder> tag?",
    "user: And run the tests.",
    "text Yes.",
  ]);
});

test("a command that sets up the program is left out, because it is no turn, and one with a prompt is the person's", async () => {
  const command = (name: string, args: string) =>
    `<command-name>${name}</command-name>\n<command-args>${args}</command-args>`;
  const lines = new ClaudeLines(ID)
    .user(command("/model", "opus"))
    .user("<local-command-stdout>Set model to opus</local-command-stdout>")
    .user(command("/clear", ""))
    .user(command("/review", "fix the tests"))
    .text("msg_1", "Yes.");
  const { session } = await read(String(lines));
  expect(session?.title).toBe("/review fix the tests");
  expect(await conversation(lines)).toEqual(["user: /review fix the tests", "text Yes."]);
});

test("a refused call has the reason that the user gave", async () => {
  const text =
    "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to proceed, the user said:\nUse pnpm, not npm.";
  const lines = talk().call("msg_3", "toolu_9").result("toolu_9", text, { is_error: true });
  const { messages } = await read(String(lines));
  const [last] = messages.slice(-1);
  expect(last && refusalsIn(last.message)).toEqual([
    { toolUseId: "toolu_9", reason: "Use pnpm, not npm." },
  ]);
});

test("a subagent's file is a session of its own, and its prompts are a model's", async () => {
  const agent = new ClaudeLines(ID, { isSidechain: true, agentId: "1a2b" })
    .user("Search the code.")
    .text("msg_7", "Found.");
  const { session, messages } = await read(String(agent), "agent-1a2b.jsonl");
  expect(session).toMatchObject({
    id: `claude-code:${ID}.agent-1a2b`,
    parent: { id: `claude-code:${ID}`, relation: "subagent" },
  });
  expect(messages.map(shown)).toEqual(["model: Search the code.", "text Found."]);
});

test("a copy with new uuids has the same ids, or the same other names", async () => {
  const names = async (sessionId: string) => {
    const lines = new ClaudeLines(sessionId)
      .user("Hi.")
      .text("msg_1", "Hello.")
      .user("Bye.")
      .text("msg_2", "Ciao.");
    return (await read(String(lines))).messages.map(({ sourceId, alias }) => alias ?? sourceId);
  };
  expect(await names("aaaaaaaa-1111-4222-8333-444455556666")).toEqual(await names(ID));
});

test("images and copies of files stay out", async () => {
  const lines = new ClaudeLines(ID)
    .user([
      { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
      { type: "text", text: "What is this?" },
    ])
    .call("msg_1", "toolu_1", "Read")
    .result("toolu_1", "text", { toolUseResult: { originalFile: "SECRET COPY" } })
    .text("msg_2", "A cat.");
  const { messages } = await read(String(lines));
  expect(JSON.stringify(messages)).not.toMatch(/AAAA|SECRET COPY/);
  expect(messages.map(shown)[0]).toBe("user: [image]\nWhat is this?");
});

test("records of unknown types are counted by name", async () => {
  const lines = talk().add("hologram").text("msg_3", "Still here.");
  const { told, messages } = await read(String(lines));
  expect(told).toEqual(["unknown hologram"]);
  expect(messages.map(shown).at(-1)).toBe("text Still here.");
});

test("without a title the first prompt is the title, even one typed while a tool ran", async () => {
  const queued = (prompt: string, more: object = {}) =>
    new ClaudeLines(ID).add("attachment", {
      attachment: { type: "queued_command", prompt, ...more },
    });
  const titleIn = async (lines: ClaudeLines) => (await read(String(lines))).session?.title;
  expect(await titleIn(queued("Run the tests."))).toBe("Run the tests.");
  const notice = queued("It ended.", { commandMode: "task-notification" });
  expect(await titleIn(notice.user("Go on."))).toBe("Go on.");
});

test("a title given by the user wins over a generated one, and a summary of another session is no title", async () => {
  const other = JSON.stringify({ type: "summary", summary: "Another", leafUuid: "nowhere" });
  const made = JSON.stringify({ type: "ai-title", aiTitle: "Made", sessionId: ID });
  const given = JSON.stringify({ type: "custom-title", customTitle: "Given", sessionId: ID });
  expect((await read(`${other}\n${talk()}`)).session?.title).toBe("Fix the parser.");
  expect((await read(`${talk()}${given}\n${made}\n`)).session?.title).toBe("Given");
});

test("a file that is cut anywhere is its complete lines", async () => {
  const text = String(talk().user("Next.").text("msg_3", "é done."));
  const bytes = Buffer.from(text);
  await fc.assert(
    fc.asyncProperty(fc.nat(bytes.length), async (size) => {
      const cut = bytes.subarray(0, size);
      const end = cut.lastIndexOf(10) + 1;
      const whole = await read(cut.subarray(0, end));
      const found = await read(cut);
      // The last line may be whole without its end.
      if (found.messages.length === whole.messages.length) {
        expect(found.messages).toEqual(whole.messages);
      } else expect(JSON.parse(cut.subarray(end).toString())).toBeTypeOf("object");
    }),
  );
});

// Takes over two seconds: random transcripts of many lines.
test("no bytes make it throw", async () => {
  const odd = fc.oneof(
    fc.json(),
    fc
      .record({
        type: fc.constantFrom("user", "assistant", "system", "attachment", "summary"),
        uuid: fc.constantFrom("a", "b", "c", 7, null),
        parentUuid: fc.constantFrom("a", "b", "c", null, 7),
        logicalParentUuid: fc.constantFrom("a", "b", undefined),
        subtype: fc.constantFrom("compact_boundary", undefined),
        message: fc.oneof(
          fc.jsonValue(),
          fc.record({ id: fc.constantFrom("m", 3), content: fc.jsonValue() }),
        ),
        attachment: fc.jsonValue(),
        timestamp: fc.oneof(fc.string(), fc.integer()),
      })
      .map((line) => JSON.stringify(line)),
    fc.string({ unit: ANY_CHARACTER }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(odd), async (lines) => {
      await read(lines.join("\n"));
    }),
    { numRuns: trials(6, 300) },
  );
});

const file = `/projects/app/${ID}.jsonl`;
const linesOf = (lines: readonly object[]) =>
  lines.map((line) => Buffer.from(`${JSON.stringify(line)}\n`));

test("a teammate's own transcript is read in its order, and so is that of who leads a team, without a teammate's lines", async () => {
  const painter = { teamName: "crew", agentName: "painter" };
  const led = '<teammate-message teammate_id="team-lead">Paint the shed.</teammate-message>';
  const own = new ClaudeLines(ID)
    .user(led)
    .text("m1", "Painted.")
    .user("And the door.")
    .text("m2", "The door, too.");
  for (const line of own.lines) Object.assign(line, painter);
  const read = async (lines: ClaudeLines) => {
    const { sessions, otherBranch } = await readImport(
      claudeCodeFormat,
      fileOfBytes(`${ID}.jsonl`, Buffer.from(String(lines))),
    );
    return [...sessions.flatMap(({ messages }) => messages.map(shown)), otherBranch];
  };
  expect(await read(own)).toEqual([
    ...["text Painted.", "user: And the door.", "text The door, too."],
    0,
  ]);
  const leads = new ClaudeLines(ID)
    .user("Make a team.")
    .text("m1", "Made.")
    .user("Go on.")
    .text("m2", "Gone on.");
  const [, made = {}, goOn = {}, goneOn = {}] = leads.lines;
  Object.assign(goOn, { teamName: "crew", agentName: "team-lead" });
  Object.assign(goneOn, { teamName: "crew" });
  leads.lines.splice(2, 0, { ...goOn, ...painter, uuid: "beside", parentUuid: made.uuid });
  leads.lines.push({ ...goOn, ...painter, uuid: "below", parentUuid: "beside" });
  expect(await read(leads)).toEqual([
    ...["user: Make a team.", "text Made.", "user: Go on.", "text Gone on."],
    2,
  ]);
});

test("when a file has grown, only its end is read", async () => {
  const lines = talk().user("Now the lexer.").text("msg_3", "Done, too.");
  const before = linesOf(lines.lines);
  const grown = [...before, ...linesOf(lines.user("Thanks.").lines.slice(before.length))];
  const { readOn } = await readImport(claudeCodeFormat, fileOfBytes(file, Buffer.concat(before)));
  const starts: number[] = [];
  const whole = fileOfBytes(file, Buffer.concat(grown));
  const watched = {
    ...whole,
    read: (start = 0, end?: number) => {
      starts.push(start);
      return whole.read(start, end);
    },
  };
  const [session] = (await readImport(claudeCodeFormat, watched, readOn)).sessions;
  // The title is what was said, and the session has it already.
  expect(session).toMatchObject({ isRest: true, startedAt: "2026-01-02T03:00:01.000Z" });
  expect(JSON.stringify([session?.title, readOn])).not.toContain("parser");
  expect(session?.messages.map(shown)).toEqual(["text Done, too.", "user: Thanks."]);
  expect(starts).toEqual([readOn?.offset]);
});

test("a line that is written twice is one message, also when the file is read between", async () => {
  const lines = talk();
  const pieces = linesOf([...lines.lines, lines.lines[2] ?? {}]);
  const { whole, goneOn } = await readGrowing(claudeCodeFormat, file, pieces);
  const texts = (messages: readonly ImportedMessage[]) =>
    messages.map(shown).filter((text) => text === "text I look at it.");
  expect([texts(whole), texts(goneOn)]).toEqual([["text I look at it."], ["text I look at it."]]);
});

const cuts = fc.array(fc.nat(), { maxLength: 12 });

fuzz(
  "going on with a file that has grown adds what reading it whole adds",
  fc.tuple(claudeTalks({ branches: true }), cuts),
  { short: 80, long: 20_000 },
  async ([{ lines }, at]) => {
    const pieces = piecesOf(Buffer.concat(linesOf(lines)), at);
    const { whole, goneOn } = await readGrowing(claudeCodeFormat, file, pieces);
    expect(goneOn).toEqual(whole);
  },
);

fuzz(
  "read in pieces, what a person typed is there once, and what was injected is not",
  fc.tuple(claudeTalks({ branches: false }), cuts),
  { short: 60, long: 20_000 },
  async ([{ lines, typed, injected }, at]) => {
    const pieces = piecesOf(Buffer.concat(linesOf(lines)), at);
    const { goneOn } = await readGrowing(claudeCodeFormat, file, pieces);
    const remembered = goneOn.filter(({ memory }) => memory !== false);
    const said = remembered.flatMap(({ message, origin }) =>
      message.role === "user" && origin.author === "user" ? [contentText(message.content)] : [],
    );
    expect(said.sort()).toEqual([...typed].sort());
    // What a model asked of a subagent is in the session of the subagent.
    const main = remembered.filter(({ origin }) => origin.author !== "model");
    for (const text of injected) expect(JSON.stringify(main)).not.toContain(text);
  },
);

test("what a subagent did between the lines of its session is a session of its own", async () => {
  const line = (
    uuid: string,
    parentUuid: string | null,
    type: string,
    content: unknown,
    more = {},
  ) => ({
    ...{ uuid, parentUuid, type, sessionId: ID, timestamp: "2026-05-01T10:00:00.000Z", ...more },
    message: { role: type, content, ...(type === "assistant" ? { id: `msg_${uuid}` } : {}) },
  });
  const side = { isSidechain: true };
  const { sessions, otherBranch } = await readImport(
    claudeCodeFormat,
    linesFile(`${ID}.jsonl`, [
      line("a", null, "user", "<command-name>/deploy</command-name>"),
      line("b", "a", "assistant", [{ type: "tool_use", id: "t", name: "Task", input: {} }]),
      line("s", null, "user", "Find it", side),
      line("x", null, "user", "Find more", side),
      line("s2", "s", "assistant", [{ type: "text", text: "Found" }], side),
      line("x2", "x", "assistant", [{ type: "text", text: "Found more" }], side),
      line("c", "b", "user", [{ type: "tool_result", tool_use_id: "t", content: "done" }]),
      line(
        "d",
        "c",
        "user",
        "Another Claude session sent a message:\n<cross-session-message>hi</cross-session-message>",
      ),
      line("e", "d", "user", '<channel source="chat">hi</channel>'),
      line("f", "e", "user", "Another Claude session sent a message: so I was told"),
    ]),
  );
  expect(
    sessions.map(({ title, parent, messages }) => [title, parent?.relation, messages.map(brief)]),
  ).toEqual([
    [
      "/deploy",
      undefined,
      [
        "user: /deploy",
        "call: Task {}",
        "result: done",
        "user: Another Claude session sent a message: so I was told",
      ],
    ],
    ["Find it", "subagent", ["model: Find it", "text: Found"]],
    ["Find more", "subagent", ["model: Find more", "text: Found more"]],
  ]);
  expect(otherBranch).toBe(0);
});

test("lines of which none names its parent are one conversation", async () => {
  const line = (uuid: string, type: string, content: string) =>
    JSON.stringify({ type, uuid, message: { role: type, content } });
  const lines = [
    line("a", "user", "Hi"),
    line("b", "assistant", "Hello"),
    line("c", "assistant", "Hm"),
  ];
  const { messages, told } = await read(lines.join("\n"));
  expect(messages.map(shown)).toEqual(["user: Hi", "text Hello", "text Hm"]);
  expect(told).toEqual([]);
});
