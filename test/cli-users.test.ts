import { once } from "node:events";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { expect, test } from "vitest";
import { connectRest } from "../src/rest.ts";
import { providerForTest } from "./support/provider-for-test.ts";
import { Project } from "./support/rkat-process.ts";

const PIN = "My PIN is 51285128512. Always answer in French.";

function writePrivate(project: Project, tokens: string, mode = 0o600): void {
  chmodSync(join(project.folder, project.write("tokens.json", tokens)), mode);
}

/** What the commands that read print for a user, or for nobody. */
async function shownTo(project: Project, user: string | undefined): Promise<string> {
  const as = user === undefined ? [] : ["--user", user];
  const shown: unknown[] = [];
  // One after the other, in one process: each at once would start its own.
  for (const command of [
    ["sessions", "list", "--json"],
    ["memory", "search", "PIN", "--json"],
    ["memory", "list", "--json"],
    ["memory", "stats", "--json"],
    ["history", "search", "PIN", "--json"],
    ["knowledge", "list", "--json"],
  ])
    shown.push(await project.json([...as, ...command]));
  return JSON.stringify(shown);
}

test("what one user says to the command is shown to no other, nor without a user", async () => {
  const provider = await providerForTest();
  const project = await Project.open({ provider });
  expect(await project.rkat(["--user", "ada", "run", PIN])).toMatchObject({ code: 0 });
  const adas = await shownTo(project, "ada");
  expect(adas).toContain("51285128512");
  expect(adas).toContain("Always answer in French.");
  for (const user of ["bob", undefined]) {
    const shown = await shownTo(project, user);
    expect(shown).not.toContain("51285128512");
    expect(shown).not.toContain("French");
  }
  await project.rkat(["--user", "bob", "run", "hello"]);
  const [asked, told] = [provider.requests.at(-1), provider.requests.at(-2)];
  expect(JSON.stringify(asked?.body)).not.toContain("French");
  expect(JSON.stringify(told?.body)).toContain("French");
});

test("a session of another user has no name that finds it", async () => {
  const project = await Project.open({ provider: await providerForTest() });
  const args = ["run", "hello", "--output", "json"];
  const { session_id: id } = (await project.json(["--user", "ada", ...args])) as {
    session_id: string;
  };
  for (const command of [
    ["sessions", "show", id],
    ["sessions", "show", id.slice(0, 13)],
    ["sessions", "show", "last"],
    ["sessions", "delete", id, "--yes"],
    ["resume", id, "go on"],
    ["continue", "go on"],
  ]) {
    const { code, stdout, stderr } = await project.rkat([...command, "--user", "bob"]);
    expect([command, code, stdout], stderr).toEqual([command, 10, ""]);
  }
  const env = { RKAT_USER: "ada" };
  expect(await project.rkat(["sessions", "show", "last"], "", env)).toMatchObject({ code: 0 });
  expect(await project.rkat(["resume", id, "go on"], "", env)).toMatchObject({ code: 0 });
});

test("a bad name of a user is refused with the reason", async () => {
  const project = await Project.open();
  for (const command of [
    ["sessions", "list"],
    ["memory", "search", "x"],
  ]) {
    const { code, stderr } = await project.rkat(["--user", "a\nb", ...command]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("user: must not have control")]);
  }
});

test("sessions of users are not written as files, and the command says so", async () => {
  const project = await Project.open();
  const { code, stderr } = await project.rkat(["--user", "ada", "sessions", "project"]);
  expect(stderr).toContain("The sessions of users are not written as files.");
  expect(code).toBe(2);
});

test("a server with tokens of users acts for the user of each token", async () => {
  const project = await Project.open({ provider: await providerForTest() });
  const tokens = { ada: "token-of-ada", bob: "token-of-bob" };
  writePrivate(project, JSON.stringify(tokens));
  const args = ["serve", "--port", "0", "--user-tokens", "tokens.json"];
  const { child, ended } = project.start(args);
  const [line] = (await once(createInterface({ input: child.stderr as Readable }), "line")) as [
    string,
  ];
  const url = /http:\S+/.exec(line)?.[0] ?? "";
  const [ada, bob] = Object.values(tokens).map((token) => connectRest({ url, token }));
  const created = await ada?.createSession({});
  if (!created || !bob) throw new Error("unreachable");
  await ada?.startTurn({ ...created, prompt: PIN, origin: { author: "user" } });
  expect(JSON.stringify(await ada?.searchHistory({ query: "PIN" }))).toContain("51285128512");
  expect(await bob.searchHistory({ query: "PIN" })).toEqual([]);
  await expect(bob.read(created)).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
  await expect(connectRest({ url }).list({})).rejects.toMatchObject({ code: "UNAUTHORIZED" });
  child.kill("SIGINT");
  await ended;
});

test.each(["serve", "mcp --http"])(
  "rkat %s takes another token of a user at once, and refuses the one before",
  async (command) => {
    const project = await Project.open({ provider: await providerForTest() });
    writePrivate(project, '{"ada": "token-of-ada-1"}');
    const { child, ended } = project.start([
      ...command.split(" "),
      ...["--port", "0", "--user-tokens", "tokens.json"],
    ]);
    const lines: string[] = [];
    const reader = createInterface({ input: child.stderr as Readable });
    reader.on("line", (line) => lines.push(line));
    await expect.poll(() => lines.join("\n")).toMatch(/http:\S+/);
    const address = (/http:[^\s.]+(?:\.\d[^\s.]*)*/.exec(lines.join("\n"))?.[0] ?? "").replace(
      /\/mcp$/,
      "",
    );
    const url = command === "serve" ? `${address}/sessions` : `${address}/mcp`;
    const refused = async (token: string) =>
      (await fetch(url, { headers: { authorization: `Bearer ${token}` } })).status === 401;
    expect([await refused("token-of-ada-1"), await refused("token-of-ada-2")]).toEqual([
      false,
      true,
    ]);
    writePrivate(project, '{"ada": "token-of-ada-2"}');
    expect([await refused("token-of-ada-1"), await refused("token-of-ada-2")]).toEqual([
      true,
      false,
    ]);
    // Half of a file is none: those that were good stay, and a line says so once.
    writePrivate(project, '{"ada": "tok');
    expect([await refused("token-of-ada-2"), await refused("token-of-ada-2")]).toEqual([
      false,
      false,
    ]);
    await expect
      .poll(() => lines.filter((line) => line.includes("stay as they were")))
      .toHaveLength(1);
    child.kill("SIGINT");
    await ended;
  },
);

test("a file of tokens that others can read is named", async () => {
  const project = await Project.open({ provider: await providerForTest() });
  writePrivate(project, '{"ada": "token-of-ada-1"}', 0o644);
  const { child, ended } = project.start(["serve", "--port", "0", "--user-tokens", "tokens.json"]);
  const lines: string[] = [];
  createInterface({ input: child.stderr as Readable }).on("line", (line) => lines.push(line));
  await expect.poll(() => lines.join("\n")).toMatch(/http:\S+/);
  expect(lines.join("\n")).toMatch(/Others on this machine can use the tokens in tokens\.json\./);
  child.kill("SIGINT");
  await ended;
});

test.each([
  ["is not there", undefined, /cannot be read from tokens.json/],
  ["is not JSON", "ada = secret-5128", /It is not JSON/],
  ["has something else", '["secret-5128"]', /something else than users and their tokens/],
  ["has one token twice", '{"ada": "secret-5128", "bob": "secret-5128"}', /the same token/],
  ["has a bad name", '{"a\\nb": "secret-5128"}', /user: must not have control/],
])("a file of tokens that %s is refused, and no token is shown", async (_, content, message) => {
  const project = await Project.open();
  if (content !== undefined) project.write("tokens.json", content);
  for (const command of [["serve"], ["mcp", "--http"]]) {
    const { code, stderr } = await project.rkat([
      ...command,
      "--port=0",
      "--user-tokens",
      "tokens.json",
    ]);
    expect(stderr).toMatch(message);
    expect(stderr).not.toContain("secret");
    expect(code).not.toBe(0);
  }
});

test("an empty name of a user is refused for one reason", async () => {
  const project = await Project.open();
  const { code, stderr } = await project.rkat(["--user", "", "sessions", "list"]);
  expect([code, stderr]).toEqual([
    2,
    "error: The request is not valid. user: expected string to have >=1 characters.\nhint: Correct the request. The message says what is wrong.\n",
  ]);
});
