import { once } from "node:events";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { RKAT } from "./support/built-package.ts";
import { chatOnTerminal, hasScript, ON_TERMINAL } from "./support/on-terminal.ts";
import { Project } from "./support/rkat-process.ts";
import { scriptedProvider } from "./support/scripted-provider.ts";
import { spawn } from "./support/start-process.ts";
import { sampled } from "./support/trials.ts";

const asksForTime = { toolCalls: [{ id: "a", name: "datetime", args: {} }] };

/** What a chat says when these lines are typed into it through a pipe. */
async function chatWith(
  lines: readonly string[],
  replies: Parameters<typeof scriptedProvider>[0] = [],
  { config = "", args = [] as readonly string[] } = {},
) {
  const provider = await scriptedProvider(replies, async () => {});
  const project = await Project.open({ provider, config });
  const ended = await project.rkat(["chat", ...args], lines.map((line) => `${line}\n`).join(""));
  return { ...ended, project, provider };
}

test("each line is a prompt of one session, and a line that ends with a backslash continues", async () => {
  const { code, stdout, provider, project } = await chatWith(
    ["hello", "one\\", "two"],
    ["Hello, Ada.", "Both lines."],
  );
  expect({ code, stdout }).toEqual({ code: 0, stdout: "Hello, Ada.\nBoth lines.\n" });
  expect(JSON.stringify(provider.requests.at(-1)?.body)).toContain("one\\ntwo");
  expect(await project.json(["sessions", "list", "--json"])).toMatchObject([{ turns: 2 }]);
});

test("a chat goes on when its session was deleted elsewhere", async () => {
  const provider = await scriptedProvider(["Hello, Ada.", "Again."], async () => {});
  const project = await Project.open({ provider });
  const child = spawn(process.execPath, [RKAT, "chat"], { cwd: project.folder, env: project.env });
  const [stdout, stderr, closed] = [text(child.stdout), text(child.stderr), once(child, "close")];
  child.stdin.write("hello\n");
  await once(child.stdout, "readable");
  await project.json(["sessions", "delete", "last", "--now", "--json"]);
  child.stdin.end("/help new\n/new\nhello\n");
  await closed;
  expect(await stderr).toBe("The next prompt starts a new session.\n");
  expect(await stdout).toMatch(/^Hello, Ada\.\n.*start a new session.*\nAgain\.\n$/s);
});

test("a file as input is read as a pipe is, and /dev/null ends the chat at once", async () => {
  const provider = await scriptedProvider(["Hello, Ada."], async () => {});
  const project = await Project.open({ provider });
  project.write("prompts.txt", "hello\n");
  const files = [
    ["prompts.txt", "Hello, Ada.\n"],
    ["/dev/null", ""],
  ] as const;
  for (const [file, answer] of sampled(files, { of: 2, at: 0 }, "cases")) {
    const child = spawn("sh", ["-c", `exec "$0" "$1" chat < ${file}`, process.execPath, RKAT], {
      cwd: project.folder,
      env: project.env,
    });
    const [stdout, stderr, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, "close"),
    ]);
    expect({ file, stdout, stderr, code }).toEqual({
      file,
      stdout: answer,
      stderr: "",
      code: 0,
    });
  }
});

test("/context and `rkat sessions context` count the same tools", async () => {
  const { stdout, project } = await chatWith(["hello", "/context"], ["Hello."]);
  const tokens = (shown: string) => /tool definitions\s+(\S+)/.exec(shown)?.[1];
  const command = await project.rkat(["sessions", "context", "last"]);
  expect(tokens(stdout)).toMatch(/\d/);
  expect(tokens(command.stdout)).toBe(tokens(stdout));
});

test("/cost and `rkat sessions cost` show the tokens of each turn", async () => {
  const { stdout, project } = await chatWith(["hello", "/cost"], ["Hello."]);
  expect(stdout).toMatch(/TURN +CALLS +INPUT[\s\S]*\n +0 +1 +\d+[\s\S]*\n +all +1 +\d+/);
  const command = await project.rkat(["sessions", "cost", "last"]);
  expect(stdout).toContain(command.stdout.split("\n")[1] ?? "-");
});

interface Listed {
  readonly session_id: string;
  readonly source: { readonly parent: { readonly id: string } };
  readonly forks: readonly unknown[];
}

test("a prompt is asked in other words in a fork, and a chat goes on from a message of an earlier session", async () => {
  const lines = ["one", "two", "/edit", "three", "/bring-back @999", "/not-this"];
  const { stdout, stderr, provider, project } = await chatWith(lines, ["A.", "B.", "C.", "D."]);
  expect(stderr).toContain("It was: two");
  expect(stderr).toContain("No message of this session has the id 999.");
  expect(stderr).toContain("Nothing was refused.");
  expect(stdout).toBe("A.\nB.\nC.\n");
  const asked = JSON.stringify(provider.requests.at(-1)?.body);
  expect([asked.includes("one"), asked.includes("two"), asked.includes("three")]).toEqual([
    true,
    false,
    true,
  ]);
  const [fork, parent] = (await project.json(["sessions", "list", "--json"])) as Listed[];
  if (!fork || !parent) throw new Error("There are not two sessions.");
  expect(fork.source.parent.id).toBe(parent.session_id);
  expect(parent.forks).toMatchObject([{ session_id: fork.session_id }]);
  const shown = await project.json(["sessions", "show", parent.session_id, "--json"]);
  const { history } = shown as { history: { id: number; message: { role: string } }[] };
  const first = history.find(({ message }) => message.role === "user")?.id;
  const from = `${parent.session_id}@${first}`;
  expect((await project.rkat(["chat", "--fork", from], "four\n")).stdout).toBe("D.\n");
  expect(await project.json(["sessions", "list", "--json"])).toMatchObject([
    { source: { parent: { id: parent.session_id, event: first } } },
    {},
    {},
  ]);
});

test("commands alone create no session", async () => {
  const { code, stdout, stderr, project } = await chatWith(["/help", "/sessions", "/pin"]);
  expect(stdout).toContain("/context");
  expect(stderr).toContain("There are no sessions yet.");
  expect(stderr).toContain("There is no session yet.");
  expect(code).toBe(2);
  expect(await project.json(["sessions", "list", "--json"])).toEqual([]);
});

test("a command that takes nothing refuses what it is given, instead of doing something else", async () => {
  const { code, stderr, stdout } = await chatWith(["/undo --redo", "/help /redo"]);
  expect(stderr).toContain('/undo takes nothing, and was given "--redo".');
  expect(stdout).toContain("/redo   undo the last undo");
  expect(stdout).not.toContain("/context");
  expect(code).toBe(2);
});

test("messages are pinned and unpinned by their numbers", async () => {
  const { stdout } = await chatWith(["keep this", "/pin", "/pin 1", "/unpin 1"], ["Kept."]);
  expect(stdout).toMatch(/1\s+user\s+keep this/);
  expect(stdout).toMatch(/POSITION[\s\S]*1\s+@\d+\s+user\s+keep this/);
  expect(stdout).toContain("Nothing is pinned");
});

test("/context shows what takes the window, and /compact what it did", async () => {
  const long = "The fox runs. ".repeat(200);
  const { stdout, stderr } = await chatWith(
    [...Array(6).fill("more"), "/compact keep the fox", "/context"],
    [...Array(6).fill(long), "A summary of foxes."],
  );
  expect(stderr).toMatch(/Compacted: \d+ → \d+ messages/);
  expect(stdout).toMatch(/summary\s+\d+\s+1/);
});

test("a call is asked about, and the reason of a denial becomes a rule", async () => {
  const { stdout, stderr, provider } = await chatWith(
    ["what time is it?", "no, ask the calendar instead", "/rules", "/new", "hello"],
    [asksForTime, "I see.", "Hello."],
    { config: '[tools.datetime]\npolicy = "ask"' },
  );
  expect(stdout).toContain("→ datetime {}");
  expect(stderr).toContain("ask the calendar instead");
  expect(stdout).toMatch(/^- {2}When .*saying "ask the calendar instead"\.$/m);
  expect(JSON.stringify(provider.requests.at(-1)?.body)).toContain("ask the calendar instead");
});

test("/quit leaves at a question, and the call waits; /help there says what to type", async () => {
  const { stdout, stderr, code, project } = await chatWith(
    ["what time is it?", "/help", "/quit", "never sent"],
    [asksForTime, "It is late."],
    { config: '[tools.datetime]\npolicy = "ask"' },
  );
  expect(code).toBe(0);
  expect(stdout).toContain("Type y, n, s (always in this session), p (always in this project).");
  expect(stdout).toContain("Ctrl-C stops the turn, and the call waits.");
  expect(stderr).toContain("The call still waits. /resume asks again");
  expect(await project.json(["approvals", "list", "--json"])).toHaveLength(1);
});

test("/resume asks again about a call that was not answered", async () => {
  const provider = await scriptedProvider([asksForTime, "It is late."], async () => {});
  const project = await Project.open({ provider, config: '[tools.datetime]\npolicy = "ask"' });
  const first = await project.rkat(["chat"], "what time is it?\n");
  expect(first.stderr).toContain("The call still waits.");
  const second = await project.rkat(["chat"], "/resume\ny\n");
  expect(second.stdout).toContain("It is late.");
});

test("a model of an unknown provider is refused before the first prompt", async () => {
  const config = '[providers.fake]\nbase_url = "http://127.0.0.1:9/v1"';
  const started = await chatWith(["hello"], ["Hello."], { config, args: ["-m", "fke/x"] });
  expect(started).toMatchObject({ code: 22, stdout: "" });
  expect(started.stderr).toContain('"fke" is not a known provider.');
  expect(started.stderr).toContain("Did you mean fake?");
  const { stderr, stdout } = await chatWith(["/model fke/x", "hello"], ["Hello."], { config });
  expect(stderr).toContain("Did you mean fake?");
  expect(stdout).toBe("Hello.\n");
});

test("resuming a session continues its waiting call", async () => {
  const { project, code } = await chatWith(["what time is it?"], [asksForTime, "It is late."], {
    config: '[tools.datetime]\npolicy = "ask"',
  });
  // Nobody answered before the end: the turn stops and its call waits.
  expect(code).toBe(0);
  const resumed = await project.rkat(["chat", "--resume", "last"], "yes\n");
  expect(resumed.stdout).toContain("It is late.");
});

test("`--resume` of an unknown session ends with an error and opens no chat", async () => {
  const { code, stdout, stderr, provider } = await chatWith(["hello"], ["Hello."], {
    args: ["--resume", "nosuch"],
  });
  expect({ code, stdout, requests: provider.requests }).toEqual({
    code: 10,
    stdout: "",
    requests: [],
  });
  expect(stderr).toContain('No session has the id "nosuch".');
});

test("/memory finds and /forget deletes", async () => {
  const { stdout, stderr, project } = await chatWith(
    ["what time is it?", "no, zebra seventeen", "/memory zebra", "/forget zebra", "all"],
    [asksForTime, "I see."],
    { config: '[tools.datetime]\npolicy = "ask"' },
  );
  expect(stdout).toContain("The user denied this: zebra seventeen");
  expect(stderr).toMatch(/Forgot \d/);
  expect(await project.json(["memory", "search", "zebra", "--json"])).toEqual([]);
});

test("a failure is printed, and the conversation goes on", async () => {
  const { code, stdout, stderr } = await chatWith(
    ["first", "second", "/modle x"],
    [new Error("no more"), "Still here."],
  );
  expect(stderr).toContain("error:");
  expect(stderr).toContain("Did you mean /model?");
  expect(stdout).toBe("Still here.\n");
  expect(code).not.toBe(0);
});

test.skipIf(!hasScript)(
  "at a terminal: a first screen, Markdown, an approval, an interruption, and the way back",
  async () => {
    const slow = { text: "late", delayMs: 60_000 };
    const provider = await scriptedProvider([
      "Some **bold** words.",
      asksForTime,
      "It is late.",
      slow,
    ]);
    const project = await Project.open({ provider, config: '[tools.datetime]\npolicy = "ask"' });
    const chat = chatOnTerminal(project);
    await chat.sees("openai/gpt-test");
    await chat.sees("Tools: ");
    await chat.sees("Nothing is remembered yet.");
    await chat.sees("new session");
    chat.type("hello\r");
    await chat.sees("› hello");
    await chat.sees("Some bold words.");
    await chat.sees("% of");
    chat.type("what time is it?\r");
    await chat.sees("→ datetime {}");
    await chat.sees("Run it?");
    // A text that comes sooner counts as typed ahead.
    await new Promise((resolve) => setTimeout(resolve, 300));
    chat.type("y\r");
    await chat.sees("✓ datetime");
    await chat.sees("It is late.");
    // The terminal has no shell here that stops programs. The chat goes on.
    chat.type("\u001a");
    await chat.sees("It is late.");
    chat.type("and now?\r");
    await chat.sees("thinking");
    chat.type("\u0003");
    await chat.sees("Interrupted.");
    chat.type("\u0004");
    const { code, written } = await chat.ends();
    expect(code).toBe(0);
    expect(written).toMatch(/To continue: rkat chat --resume [\da-f-]+/);
    // Bracketed paste is off again, and the cursor is shown.
    expect(written.lastIndexOf("\u001b[?2004l")).toBeGreaterThan(
      written.lastIndexOf("\u001b[?2004h"),
    );
    expect(written.lastIndexOf("\u001b[?25h")).toBeGreaterThan(written.lastIndexOf("\u001b[?25l"));
  },
);

test.skipIf(!hasScript)("`rkat` alone prints the help", async () => {
  const rkat = chatOnTerminal(await Project.open(), {}, ON_TERMINAL);
  await rkat.sees("Usage: rkat");
  expect((await rkat.ends()).code).toBe(0);
});

// Takes over two seconds: an answer comes late enough to show that the chat waits for it.
test.skipIf(!hasScript)(
  "with NO_COLOR there are no colours, and a dumb terminal is sent no control sequences at all",
  async () => {
    const provider = await scriptedProvider([
      "# Some **bold** words",
      { text: "More of *them*.", delayMs: 500 },
    ]);
    const project = await Project.open({ provider });
    const plain = chatOnTerminal(project, { NO_COLOR: "1" });
    await plain.sees("new session");
    plain.type("hello\r");
    await plain.sees("Some bold words");
    await plain.sees("% of");
    plain.type("\u0003");
    await plain.sees("Press Ctrl-C again to leave.");
    plain.type("\u0003");
    expect((await plain.ends()).written).not.toMatch(
      new RegExp(String.raw`${ESC}\[[0-9;]*3\d(;\d+)*m`),
    );
    const dumb = chatOnTerminal(project, { TERM: "dumb" });
    await dumb.sees("›");
    dumb.type("hello\r");
    await dumb.sees("More of *them*.");
    await dumb.sees("›");
    dumb.type("not this\u0003");
    await dumb.sees("Press Ctrl-C again to leave.");
    dumb.type("\u0004");
    const { code, written } = await dumb.ends();
    expect(code).toBe(0);
    expect(written).not.toContain(ESC);
  },
);

const ESC = "\u001b";

test.skipIf(!hasScript)("at a terminal, forgetting a session asks first", async () => {
  const project = await Project.open();
  project.write("talk.jsonl", '{"content":"The port is 7443.","session_id":"notes"}\n');
  await project.rkat(["memory", "add", "--jsonl", "talk.jsonl"]);
  const forget = `${ON_TERMINAL} memory forget --session notes`;
  for (const [answer, left] of [
    ["n", 1],
    ["y", 0],
  ] as const) {
    const asked = chatOnTerminal(project, {}, forget);
    await asked.sees("session notes (1 entry)? [y/N]");
    asked.type(`${answer}\r`);
    await asked.ends();
    expect(await project.json(["memory", "stats", "--json"])).toMatchObject({ entries: left });
  }
});

test.skipIf(!hasScript)("the way back into a chat carries the user", async () => {
  const provider = await scriptedProvider(["Hello."], async () => {});
  const project = await Project.open({ provider });
  const chat = chatOnTerminal(project, { TERM: "dumb" }, `${ON_TERMINAL} chat --user ada`);
  await chat.sees("›");
  chat.type("hi\r");
  await chat.sees("Hello.");
  await chat.sees("›");
  chat.type("\u0004");
  expect((await chat.ends()).written).toContain("To continue: rkat --user ada chat --resume ");
});

test("a command is one in capitals too, and is not sent to a model", async () => {
  const { code, stdout, provider } = await chatWith(["/HELP", "/Quit", "hello"]);
  expect(code).toBe(0);
  expect(stdout).toContain("/compact");
  expect(provider.requests).toHaveLength(0);
});

test("hints in a chat have the flags of its command line", async () => {
  const project = await Project.open();
  const { stderr } = await project.rkat(["--user", "ada", "chat"], "/resume nosuch\n");
  expect(stderr).toContain("`rkat --user ada sessions list`");
});
