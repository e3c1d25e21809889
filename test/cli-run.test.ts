import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { shellWord } from "../src/text/quoting.ts";
import { providerForTest } from "./support/provider-for-test.ts";
import type { ProviderServer } from "./support/provider-server/provider-server.ts";
import { Project } from "./support/rkat-process.ts";
import { scriptedProvider } from "./support/scripted-provider.ts";
import { spawnSync } from "./support/start-process.ts";

const USAGE = { input: 120, output: 7 };

/** What the model was asked last, as text. */
const lastRequest = ({ requests }: ProviderServer) => JSON.stringify(requests.at(-1)?.body);

interface Line {
  readonly type?: string;
  readonly event_id?: string;
  readonly seq?: number;
  readonly payload?: { readonly type: string };
}

/** Whole lines of JSON. */
function linesOf(text: string): readonly Line[] {
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 20));
}

test("the answer goes to stdout, the footer to stderr", async () => {
  const provider = await providerForTest([{ text: "Hello, Ada.", usage: USAGE }]);
  const project = await Project.open({ provider });
  const { code, stdout, stderr } = await project.rkat(["say", "hello"]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: "Hello, Ada.\n" });
  const footer = /^\[Session: [0-9a-f]{8}-[0-9a-f]{4} \| Turns: 1 \| Tokens: 120 in \/ 7 out\]\n$/;
  expect(stderr).toMatch(footer);
});

test("the id in the footer continues its session, also when others began in the same minute", async () => {
  const provider = await providerForTest();
  const project = await Project.open({ provider });
  const { stderr } = await project.rkat(["the first"]);
  await project.rkat(["the second"]);
  const [, id = ""] = /Session: (\S+)/.exec(stderr) ?? [];
  expect(await project.rkat(["resume", id, "go on"])).toMatchObject({ code: 0 });
  expect(JSON.stringify(provider.requests.at(-1))).toContain("the first");
});

test("`--output json` prints the result with names in snake_case", async () => {
  const provider = await providerForTest([{ text: "Hello.", usage: USAGE }]);
  const project = await Project.open({ provider });
  const result = await project.json(["run", "hello", "--output", "json"]);
  expect(result).toMatchObject({ session_id: expect.stringMatching(/^[0-9a-f-]{36}$/) });
  expect({ ...(result as object), session_id: "…" }).toMatchInlineSnapshot(`
    {
      "model_calls": 1,
      "session_id": "…",
      "stop_reason": "end_turn",
      "text": "Hello.",
      "tool_calls": 0,
      "turns": 1,
      "usage": {
        "cache_creation_tokens": null,
        "cache_read_tokens": 0,
        "input_tokens": 120,
        "output_tokens": 7,
      },
    }
  `);
});

test("`--output jsonl` prints events as they happen, and the result last", async () => {
  const provider = await providerForTest([{ text: "Hello, Ada.", usage: USAGE }]);
  const project = await Project.open({ provider });
  const { code, stdout } = await project.rkat(["run", "hello", "--output", "jsonl"]);
  const lines = linesOf(stdout);
  expect(code).toBe(0);
  expect(lines.map((line) => line.payload?.type ?? line.type)).toEqual([
    "run_started",
    "turn_started",
    "text_delta",
    "text_delta",
    "text_complete",
    "turn_completed",
    "run_completed",
    "result",
  ]);
  expect(lines[0]).toMatchObject({ event_id: expect.any(String), seq: expect.any(Number) });
  expect(lines.at(-1)).toMatchObject({ text: "Hello, Ada.", stop_reason: "end_turn", turns: 1 });
});

test.skipIf(!existsSync("/dev/full"))("a full disk below stdout is said", async () => {
  const { program, env, folder: cwd } = await Project.open();
  const line = `${program.map(shellWord).join(" ")} config --json >/dev/full`;
  const { status, stderr } = spawnSync("sh", ["-c", line], { env, cwd, encoding: "utf8" });
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: "error: The output cannot be written (ENOSPC).\n",
  });
});

test("with `--output jsonl` a failure is the last line, and on stderr as always", async () => {
  const provider = await providerForTest([{ status: 400, message: "no" }]);
  const project = await Project.open({ provider });
  const { code, stdout, stderr } = await project.rkat(["run", "hello", "--output", "jsonl"]);
  const { type, ...failure } = linesOf(stdout).at(-1) ?? {};
  expect(code).toBe(20);
  expect(type).toBe("error");
  expect(failure).toMatchObject({ code: "PROVIDER_ERROR", hint: expect.any(String) });
  expect(JSON.parse(stderr)).toEqual(failure);
});

test("what `--output jsonl` has printed is in the log, even when the process is killed", async () => {
  const provider = await providerForTest([{ text: "A long story begins", interruption: "hang" }]);
  const project = await Project.open({ provider });
  const { child, ended } = project.start(["run", "tell me a story", "--output", "jsonl"]);
  let told = "";
  child.stdout?.on("data", (chunk) => {
    told += chunk;
    if (told.includes("text_delta")) child.kill("SIGKILL");
  });
  await ended;
  const durable = linesOf(told).filter(({ payload }) => payload?.type !== "text_delta");
  const { stdout: log } = await project.rkat(["sessions", "events", "last"]);
  const logged = linesOf(log).map(({ event_id }) => event_id);
  expect(durable.map(({ payload }) => payload?.type)).toEqual(["run_started", "turn_started"]);
  for (const { event_id } of durable) expect(logged).toContain(event_id);
});

test("piped input comes before the prompt, or is the prompt", async () => {
  const provider = await providerForTest();
  const project = await Project.open({ provider });
  await project.rkat(["review", "this"], "diff --git\n");
  expect(lastRequest(provider)).toContain("<stdin>\\ndiff --git\\n</stdin>\\n\\nreview this");
  await project.rkat([], "what is it?\n");
  expect(lastRequest(provider)).toContain('"what is it?"');
});

test("without a prompt no model is called and nothing is created", async () => {
  const provider = await providerForTest();
  const project = await Project.open({ provider });
  const { code, stderr } = await project.rkat(["run"]);
  expect({ code, stderr }).toMatchInlineSnapshot(`
    {
      "code": 2,
      "stderr": "error: There is no prompt.
    hint: Type one: \`rkat "your prompt"\`. Or pipe one in.
    ",
    }
  `);
  expect(provider.requests).toHaveLength(0);
  expect(existsSync(join(project.folder, ".rkat"))).toBe(false);
});

test("without a model the error says how to name one, and nothing is created", async () => {
  const project = await Project.open();
  const { code, stderr } = await project.rkat(["hello"]);
  expect({
    code,
    stderr: stderr.replaceAll(project.env.HOME ?? "", "~"),
  }).toMatchInlineSnapshot(`
    {
      "code": 22,
      "stderr": "error: No model is configured.
    hint: Name one: -m anthropic/claude-sonnet-4-5 (needs ANTHROPIC_API_KEY), or -m ollama/llama3.2 (needs no key). To keep it, set RKAT_MODEL, or model = "…" in ~/.config/rkat/config.toml. \`rkat config\` shows what is set.
    ",
    }
  `);
  expect(existsSync(join(project.folder, ".rkat"))).toBe(false);
});

test("a model that cannot be made leaves no session", async () => {
  const project = await Project.open();
  for (const model of ["nosuch/model", "openai-compatible/model"]) {
    const failed = await project.rkat(["hello"], "", { RKAT_MODEL: model });
    expect(failed.code).not.toBe(0);
    const chat = await project.rkat(["chat"], "hello\n", { RKAT_MODEL: model });
    expect(chat.code).not.toBe(0);
  }
  expect(await project.json(["sessions", "list", "--json"])).toEqual([]);
});

test("flags, settings and variables reach the model", async () => {
  const provider = await providerForTest();
  const project = await Project.open({
    provider,
    config: 'system_prompt = "Be brief."\nmax_tokens = 300',
  });
  await project.rkat(["run", "hi"]);
  expect(lastRequest(provider)).toContain("Be brief.");
  expect(provider.requests.at(-1)?.body).toMatchObject({
    max_output_tokens: 300,
    model: "gpt-test",
  });
  await project.rkat([
    "run",
    "hi",
    "-m",
    "openai/other",
    "--max-tokens",
    "99",
    "--system-prompt",
    "Sing.",
  ]);
  expect(lastRequest(provider)).toContain("Sing.");
  expect(lastRequest(provider)).not.toContain("Be brief.");
  expect(provider.requests.at(-1)?.body).toMatchObject({ max_output_tokens: 99, model: "other" });
});

test("a provider's settings are used, and its key is the one they name", async () => {
  const provider = await providerForTest();
  const config = `[providers.mine]\nbase_url = "${provider.urls["openai-compatible"]}"\napi_key_env = "MY_KEY"\n`;
  const project = await Project.open();
  project.writeOwnConfig(config);
  const args = ["run", "-m", "mine/small", "hi"];
  const refused = await project.rkat(args, "", { MINE_API_KEY: "another" });
  expect(refused.code).toBe(22);
  expect(refused.stderr).toContain("hint: Set MY_KEY in the environment");
  const answered = await project.rkat(args, "", { MY_KEY: "secret" });
  expect(answered).toMatchObject({ code: 0, stdout: "ok\n" });
  expect(provider.requests.at(-1)?.headers.authorization).toBe("Bearer secret");
});

test("a session can search memory, unless --no-memory", async () => {
  const provider = await providerForTest();
  const project = await Project.open({ provider });
  await project.rkat(["hi"]);
  expect(lastRequest(provider)).toContain("memory_search");
  await project.rkat(["run", "--no-memory", "hi"]);
  expect(lastRequest(provider)).not.toContain("memory_search");
  await project.rkat(["run", "hi"], "", { RKAT_MEMORY__ENABLED: "false" });
  expect(lastRequest(provider)).not.toContain("memory_search");
  await project.rkat(["run", "--enable-memory", "hi"], "", { RKAT_MEMORY__ENABLED: "false" });
  expect(lastRequest(provider)).toContain("memory_search");
});

test("`--stream` prints the answer as it arrives, each answer on its own lines", async () => {
  const provider = await providerForTest([
    { text: "Let me look.", toolCalls: [{ name: "datetime", args: {} }] },
    { text: "It is late." },
  ]);
  const project = await Project.open({ provider });
  const { stdout } = await project.rkat(["run", "--stream", "what time is it?"]);
  expect(stdout).toBe("Let me look.\nIt is late.\n");
});

test("`--verbose` prints events to stderr, compactions in the specification's words", async () => {
  const provider = await providerForTest([
    { text: "Let me look.", toolCalls: [{ name: "datetime", args: {} }] },
    ...Array.from({ length: 4 }, (_, index) => ({
      text: `Answer ${index}: ${"word ".repeat(900)}`,
      usage: { input: 5000, output: 9 },
    })),
    { text: "They talked.", usage: { input: 5000, output: 33 } },
    { text: "Done." },
  ]);
  const project = await Project.open({ provider });
  const flags = ["--verbose", "--compact-threshold", "4000", "--recent-turn-budget", "1"];
  const first = await project.rkat(["run", ...flags, "what time is it?"]);
  expect(first.stderr).toContain("── Turn 1 ──\n");
  expect(first.stderr).toContain("  → datetime {}\n");
  expect(first.stderr).toMatch(/ {2}✓ datetime \(\d+ ms\): /);
  const later = [];
  for (const word of ["a", "b", "c", "d"])
    later.push((await project.rkat(["continue", ...flags, word])).stderr);
  const said = later.join("");
  expect(said).toMatch(
    /^ {2}⟳ Compaction started: \d+ input tokens, ~\d+ history tokens, \d+ messages$/m,
  );
  expect(said).toMatch(/^ {2}✓ Compaction complete: \d+ → \d+ messages, \d+ summary tokens$/m);
});

test("a used-up budget ends the run with the answer so far, and its own exit code", async () => {
  const provider = await providerForTest([
    { text: "First.", toolCalls: [{ name: "datetime", args: {} }], usage: USAGE },
  ]);
  const project = await Project.open({ provider });
  const { code, stdout, stderr } = await project.rkat(["run", "--max-total-tokens", "100", "go"]);
  expect({ code, stdout }).toEqual({ code: 21, stdout: "First.\n" });
  expect(stderr).toContain(
    "note: the budget of the run is used up. To continue: `rkat continue`.\n",
  );
});

test("Ctrl-C interrupts the turn, keeps the session and says how to continue", async () => {
  const provider = await providerForTest([
    { text: "A long story begins", interruption: "hang" },
    "Here I am again.",
  ]);
  const project = await Project.open({ provider });
  const { child, ended } = project.start(["run", "--stream", "tell me a story"]);
  await once(child.stdout as NodeJS.ReadableStream, "readable");
  child.kill("SIGINT");
  const { code, stderr } = await ended;
  expect(code).toBe(130);
  expect(stderr).toMatch(
    /^error: The turn was interrupted\.\nhint: The session is kept\. Continue with `rkat continue` or `rkat resume [0-9a-f-]{36} "…"`\.\n$/,
  );
  const next = await project.rkat(["continue", "go on"]);
  expect(next).toMatchObject({ code: 0, stdout: "Here I am again.\n" });
  expect(lastRequest(provider)).toContain("tell me a story");
  expect(provider.problems).toEqual([]);
});

test("a pipe that closes during an answer interrupts the turn, and what was said is kept", async () => {
  const provider = await providerForTest([
    { text: "A long story begins", interruption: "hang" },
    "Here I am again.",
  ]);
  const project = await Project.open({ provider });
  const { child, ended } = project.start(["run", "--stream", "tell me a story"]);
  child.stdout?.destroy();
  const { code, stderr } = await ended;
  expect({ code, stderr }).toEqual({
    code: 130,
    stderr: expect.stringContaining("hint: The session is kept. Continue with `rkat continue`"),
  });
  expect(await project.rkat(["continue", "go on"])).toMatchObject({ code: 0 });
  expect(lastRequest(provider)).toContain('"role":"assistant","content":"A long');
});

test("a session outlives a killed process", async () => {
  const provider = await providerForTest([{ text: "A long", interruption: "hang" }, "Back."]);
  const project = await Project.open({ provider });
  const { child, ended } = project.start(["run", "tell me a story"]);
  await until(() => provider.requests.length > 0);
  child.kill("SIGKILL");
  await ended;
  const next = await project.rkat(["resume", "last", "again"]);
  expect(next).toMatchObject({ code: 0, stdout: "Back.\n" });
  expect(lastRequest(provider)).toContain("tell me a story");
  expect(provider.problems).toEqual([]);
});

test("`continue` alone says Continue.", async () => {
  const provider = await providerForTest();
  const project = await Project.open({ provider });
  await project.rkat(["hi"]);
  expect(await project.rkat(["c"])).toMatchObject({ code: 0, stdout: "ok\n" });
  expect(lastRequest(provider)).toContain("Continue.");
});

test("a session is named by its id, the beginning of it, `last` or ~N", async () => {
  const provider = await providerForTest();
  const project = await Project.open({ provider });
  const ids: string[] = [];
  for (const prompt of ["one", "two"]) {
    const { session_id } = (await project.json(["run", prompt, "--output", "json"])) as {
      session_id: string;
    };
    ids.push(session_id);
  }
  const [first = "", second = ""] = ids;
  const resumed = async (name: string) =>
    ((await project.json(["resume", name, "more", "--output", "json"])) as { session_id: string })
      .session_id;
  expect(await resumed("last")).toBe(second);
  expect(await resumed("~1")).toBe(first);
  expect(await resumed(second)).toBe(second);
  expect(await resumed(first.slice(0, -2))).toBe(first);

  const several = await project.rkat(["resume", first.slice(0, 4), "more"]);
  expect(several.code).toBe(2);
  expect(several.stderr).toContain(`Several sessions begin with "${first.slice(0, 4)}":\n  `);
  for (const name of ["0000", "~7"]) {
    expect((await project.rkat(["resume", name, "more"])).code).toBe(10);
  }
});

test("failures of a provider have a sentence and a code", async () => {
  const provider = await providerForTest([{ status: 401, message: "Incorrect API key provided" }]);
  const project = await Project.open({ provider });
  const refused = await project.rkat(["hi"]);
  expect(refused.code).toBeGreaterThanOrEqual(20);
  expect(refused.stderr).toMatch(/^error: .*\nhint: .*\n$/);
  const unknown = await project.rkat(["run", "-m", "nobody/model", "hi", "--output", "json"]);
  expect({ code: unknown.code, stdout: unknown.stdout }).toEqual({ code: 22, stdout: "" });
  expect(JSON.parse(unknown.stderr)).toMatchObject({
    code: "MODEL_UNAVAILABLE",
    message: expect.stringContaining("nobody"),
    hint: expect.any(String),
  });
});

test("a typo of a command is not sent to a model", async () => {
  const provider = await providerForTest();
  const project = await Project.open({ provider });
  const { code, stderr } = await project.rkat(["sesions", "list"]);
  expect({ code, stderr }).toMatchInlineSnapshot(`
    {
      "code": 2,
      "stderr": "error: "sesions" is not a command.
    hint: Did you mean \`rkat sessions\`? To send it as a prompt: \`rkat run "sesions list"\`.
    ",
    }
  `);
  expect(provider.requests).toHaveLength(0);
});

test("a prompt that is no command is shown as a shell takes it, and the script of a shell is none", async () => {
  const provider = await providerForTest();
  const project = await Project.open({ provider });
  const { stderr } = await project.rkat(["contniue", `say "hi" for $5, it's`]);
  expect(stderr).toContain(`\`rkat run 'contniue say "hi" for $5, it'\\''s'\``);
  const typo = await project.rkat(["completions", "bash"]);
  expect([typo.code, typo.stderr]).toEqual([2, expect.stringContaining("`rkat completion`")]);
  const script = await project.rkat(["--no-color", "completion", "bash"]);
  expect(script).toMatchObject({ code: 0, stdout: expect.stringContaining("bash completion") });
  expect(provider.requests).toHaveLength(0);
});

test.each([
  [["search", "port"], "`rkat history search` or `rkat memory search`"],
  [["forget", "port"], "`rkat memory forget` or `rkat knowledge forget`"],
  [["version"], "`rkat --version`"],
])("the command %j without its group is not sent to a model", async (args, meant) => {
  const provider = await providerForTest();
  const project = await Project.open({ provider });
  const { code, stderr } = await project.rkat(args);
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringContaining(
      `hint: Did you mean ${meant}? To send it as a prompt: \`rkat run "${args.join(" ")}"\`.`,
    ),
  });
  expect(provider.requests).toHaveLength(0);
  expect(await project.rkat(["search", "the", "files"])).toMatchObject({ code: 0 });
});

test("the name of a session behind `continue` is not sent to a model", async () => {
  const provider = await providerForTest();
  const project = await Project.open({ provider });
  await project.rkat(["run", "hi"]);
  const listed = await project.json(["sessions", "list", "--json"]);
  const [{ session_id }] = listed as [{ readonly session_id: string }];
  for (const name of [session_id, "~1"]) {
    const { code, stderr } = await project.rkat(["continue", name, "go on"]);
    expect(code).toBe(2);
    expect(stderr).toContain(`hint: To go on in that session: \`rkat resume ${name} "…"\`.`);
  }
  expect(provider.requests).toHaveLength(1);
  expect(await project.rkat(["continue", "last", "words"])).toMatchObject({ code: 0 });
});

test("a prompt that looks a bit like a command is a prompt", async () => {
  const provider = await providerForTest();
  const project = await Project.open({ provider });
  for (const prompt of ["Fix the bug in app.py", "explain main.c", "Always use pnpm.", "init.d?"]) {
    expect(await project.rkat([prompt])).toMatchObject({ code: 0 });
  }
  expect(provider.requests).toHaveLength(4);
});

test("labels are kept, and a malformed label is refused", async () => {
  const provider = await providerForTest();
  const project = await Project.open({ provider });
  await project.rkat(["run", "hi", "--label", "team=core", "--label", "a=b=c"]);
  expect(await project.json(["sessions", "list", "--json"])).toMatchObject([
    { labels: { team: "core", a: "b=c" } },
  ]);
  expect((await project.rkat(["run", "hi", "--label", "team"])).code).toBe(2);
});

test("the store is made private, and kept out of git", async () => {
  const provider = await providerForTest();
  const project = await Project.open({ provider });
  writeFileSync(join(project.folder, "README.md"), "");
  await project.rkat(["hi"]);
  const { stdout } = await project.rkat(["doctor"]);
  expect(stdout).toContain("permissions        private to you");
  expect(existsSync(join(project.folder, ".rkat/.gitignore"))).toBe(true);
});

test("`--quiet` prints the answer, and on stderr only what went wrong", async () => {
  const provider = await providerForTest();
  const project = await Project.open({ provider });
  const spoken = await project.rkat(["run", "Always use pnpm."]);
  expect(spoken.stderr).toContain("[Session: ");
  const { code, stdout, stderr } = await project.rkat(["continue", "--quiet", "Never use yarn."]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).not.toBe("");
  const failed = await project.rkat(["run", "--quiet"]);
  expect(failed).toMatchObject({ code: 2, stderr: expect.stringContaining("error: ") });
  expect((await project.rkat(["run", "--quiet", "-v", "hi"])).code).toBe(2);
});

test("`-` alone stands for standard input, as for other programs", async () => {
  const provider = await providerForTest();
  const project = await Project.open({ provider });
  await project.rkat(["run", "-"], "what is it?\n");
  expect(lastRequest(provider)).toContain('"what is it?"');
  expect((await project.rkat(["run", "-"])).stderr).toContain("There is no prompt.");
});

test("a pipe gets an answer byte for byte", async () => {
  const answer = "a\fb\u001b[1mc\u009bd\be";
  const provider = await scriptedProvider([answer, answer], async () => {});
  const project = await Project.open({ provider });
  expect((await project.rkat(["run", "hello"])).stdout).toBe(`${answer}\n`);
  expect((await project.rkat(["run", "--stream", "hello"])).stdout).toBe(`${answer}\n`);
});
