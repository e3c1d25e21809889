import { expect, test } from "vitest";
import { Project } from "./support/rkat-process.ts";
import { scriptedProvider } from "./support/scripted-provider.ts";

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

test("commands alone create no session", async () => {
  const { code, stdout, stderr, project } = await chatWith(["/help", "/sessions", "/pin"]);
  expect(stdout).toContain("/context");
  expect(stderr).toContain("There are no sessions yet.");
  expect(stderr).toContain("There is no session yet.");
  expect(code).toBe(2);
  expect(await project.json(["sessions", "list", "--json"])).toEqual([]);
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
  expect(stdout).toMatch(/^- .*ask the calendar instead/m);
  expect(JSON.stringify(provider.requests.at(-1)?.body)).toContain("ask the calendar instead");
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
