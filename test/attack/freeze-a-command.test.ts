import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { createInterface } from "node:readline";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TextFinder } from "../../src/text/find-text.ts";
import { globMatcher } from "../../src/tools/project/glob.ts";
import { projectForTools } from "../support/project-for-tools.ts";
import { Project } from "../support/rkat-process.ts";
import { scriptedProvider } from "../support/scripted-provider.ts";

// What another person wrote is compared in linear time, and whatever a command does, a signal ends it.

/** A second is promised. A machine that runs everything at once needs more. */
const SOON_MS = 8_000;

/** The same rules by trying everything. */
function fits(glob: string, path: string): boolean {
  const letters = (pattern: string, name: string): boolean => {
    if (pattern === "") return name === "";
    const rest = pattern.slice(1);
    if (pattern[0] === "*")
      return letters(rest, name) || (name !== "" && letters(pattern, name.slice(1)));
    return (
      name !== "" && (pattern[0] === "?" || pattern[0] === name[0]) && letters(rest, name.slice(1))
    );
  };
  const names = ([first, ...rest]: readonly string[], path: readonly string[]): boolean => {
    const [name, ...below] = path;
    if (first === undefined) return name === undefined;
    if (first !== "**") return name !== undefined && letters(first, name) && names(rest, below);
    if (rest.length === 0) return name !== undefined;
    return names(rest, path) || (name !== undefined && names([first, ...rest], below));
  };
  const anywhere = glob.includes("/") ? glob : `**/${glob}`;
  return names(anywhere.split("/"), path.split("/"));
}

test("globs fit what trying everything finds, whatever they are", () => {
  const name = fc.string({ unit: fc.constantFrom("a", "b"), minLength: 1, maxLength: 5 });
  const part = fc.oneof(
    fc.constant("**"),
    fc.string({ unit: fc.constantFrom("a", "b", "*", "?"), minLength: 1, maxLength: 6 }),
  );
  const pathOf = (of: fc.Arbitrary<string>) =>
    fc.array(of, { minLength: 1, maxLength: 5 }).map((parts) => parts.join("/"));
  fc.assert(
    fc.property(pathOf(part), pathOf(name), (glob, path) => {
      expect(globMatcher(glob)(path), `${glob} ${path}`).toBe(fits(glob, path));
    }),
    { numRuns: 2_000 },
  );
});

test("a glob may be longer than a word of the machine, and its letters may be any", () => {
  const long = "abcdefghijklmnopqrstuvwxyz".repeat(10);
  expect(globMatcher(`*${long}*${long}`)(`x${long}y${long}`)).toBe(true);
  expect(globMatcher(`*${long}*${long}`)(`x${long}y${long}z`)).toBe(false);
  expect(globMatcher("*.{😀,é}")("a/b.😀")).toBe(true);
  expect(globMatcher("?.md")("😀.md")).toBe(true);
});

test("a text is found where the engine finds it", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 200 });
  const wanted = fc.string({ unit: fc.constantFrom("a", "b"), minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(text, wanted, fc.nat(50), (other, needle, from) => {
      const finder = new TextFinder(needle);
      expect(finder.indexIn(other, from)).toBe(other.indexOf(needle, from));
      expect(finder.split(other)).toEqual(other.split(needle));
    }),
  );
});

const name = (count: number) => "a".repeat(180) + count;
const HOSTILE_RULES = Array.from({ length: 1_000 }, (_, at) => `${"*a".repeat(45)}*b${at}`);
const GITIGNORE = HOSTILE_RULES.join("\n");
/** The engine's own search takes minutes for them. */
const TEXT = "a".repeat(4_000_000);
const NEEDLE = `${"a".repeat(249)}b${"a".repeat(250)}`;
const LONG_NEEDLE = `${"a".repeat(20_000)}b${"a".repeat(20_000)}`;

const FREEZING: Readonly<Record<string, readonly [files: Record<string, string>, args: object]>> = {
  list_files: [
    {
      ".gitignore": GITIGNORE,
      ...Object.fromEntries(Array.from({ length: 150 }, (_, at) => [name(at), ""])),
    },
    { glob: `{${Array.from({ length: 100 }, (_, at) => at).join(",")}}${"*a".repeat(90)}` },
  ],
  search_files: [{ "a.txt": TEXT }, { texts: [NEEDLE, `${NEEDLE}a`, `b${NEEDLE}`] }],
  edit_file: [{ "a.txt": TEXT }, { path: "a.txt", old_text: LONG_NEEDLE, new_text: "" }],
  read_file: [{ "a.txt": "\n".repeat(4_000_000) }, { path: "a.txt", from_line: 3_999_999 }],
};

test.each(Object.entries(FREEZING))(
  "%s answers whatever the project's files are, and lets others go on",
  async (tool, [files, args]) => {
    const { call } = await projectForTools(files);
    const delay = monitorEventLoopDelay({ resolution: 10 });
    delay.enable();
    expect(await call(tool, args)).not.toBe("");
    expect(delay.max / 1e6).toBeLessThan(SOON_MS);
  },
  60_000,
);

/** Takes connections and never answers. */
const silent = createServer();
let port = 0;

beforeAll(async () => {
  silent.on("connection", (socket) => socket.on("error", () => {}));
  silent.listen(0, "127.0.0.1");
  await once(silent, "listening");
  ({ port } = silent.address() as AddressInfo);
});

afterAll(() => void silent.close());

const CLAUDE = `${JSON.stringify({
  type: "user",
  uuid: "6d0cbd3b-8c56-4dc6-9f51-0c8ba9c6dd6f",
  sessionId: "c0ffee00-8c56-4dc6-9f51-0c8ba9c6dd6f",
  timestamp: "2026-01-01T00:00:00.000Z",
  message: { role: "user", content: "Hello." },
})}\n`;

/** Sends the signal and returns how long the process takes to end. */
async function endedBy(
  child: ReturnType<Project["start"]>,
  signal: NodeJS.Signals,
): Promise<number> {
  const asked = performance.now();
  child.kill(signal);
  await child.ended;
  return performance.now() - asked;
}

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

const LIST = '{"jsonrpc":"2.0","id":1,"method":"session/list","params":{}}\n';

/** Commands that open the store, and what they read. The others do nothing that can block, and no signal handler of rkat runs. */
const COMMANDS: readonly (readonly [line: string, stdin?: string])[] = [
  ["run Hello."],
  ["resume last Hello."],
  ["continue"],
  ["chat", "Hello.\n"],
  ["sessions list"],
  ["sessions events last --follow"],
  ["sessions compact last"],
  ["sessions delete last --yes"],
  ["history search hello"],
  ["memory search hello"],
  ["memory verify"],
  ["memory reindex"],
  ["approvals list"],
  ["knowledge distill"],
  ["import claude.jsonl"],
  ["handoff last"],
  ["rpc", LIST],
  ["serve --port 0"],
  ["mcp --http --port 0"],
  ["move --to there.db"],
  ["doctor"],
];

test.each(
  COMMANDS.map(([line, stdin], at) => ({ line, stdin, signal: SIGNALS[at % 2] ?? "SIGINT" })),
)(
  "$signal ends `rkat $line` in front of a database that never answers",
  async ({ line, stdin, signal }) => {
    const project = await Project.open({ store: `postgres://rkat@127.0.0.1:${port}/rkat` });
    project.write("claude.jsonl", CLAUDE);
    const connected = once(silent, "connection");
    const env = { RKAT_MODEL: "openai/none", OPENAI_API_KEY: "k", PGCONNECT_TIMEOUT: "60" };
    const command = project.start(line.split(" "), stdin, env);
    const early = command.ended.then(({ stderr }) => stderr);
    expect(await Promise.race([connected.then(() => "blocked"), early])).toBe("blocked");
    expect(await endedBy(command, signal)).toBeLessThan(SOON_MS);
  },
  30_000,
);

test.each(SIGNALS)(
  "%s ends a turn and a chat whose provider never answers",
  async (signal) => {
    const project = await Project.open();
    const url = `http://127.0.0.1:${port}/v1`;
    const env = { RKAT_MODEL: "openai/none", OPENAI_API_KEY: "k", OPENAI_BASE_URL: url };
    for (const args of [["run", "Hello."], ["chat"]]) {
      const connected = once(silent, "connection");
      const command = project.start(args, "Hello.\n", env);
      await connected;
      expect(await endedBy(command, signal)).toBeLessThan(SOON_MS);
    }
  },
  60_000,
);

const TOOLS = { ...FREEZING, run_command: [{}, { command: "sleep 60" }] as const };

test.each(
  Object.entries(TOOLS).map(([tool, call], at) => ({
    tool,
    call,
    signal: SIGNALS[at % 2] ?? "SIGINT",
  })),
)(
  "$signal ends a turn in which $tool works on what somebody chose",
  async ({ tool, call: [files, args], signal }) => {
    const calls = Array.from({ length: 8 }, (_, at) => ({ id: `c${at}`, name: tool, args }));
    const provider = await scriptedProvider([{ toolCalls: calls }]);
    const project = await Project.open({ provider });
    for (const [path, text] of Object.entries<string>(files)) project.write(path, text);
    const allowed = ["--allow", "edit_file", "--allow", "run_command"];
    const command = project.start(["run", "--output", "jsonl", ...allowed, "Go."]);
    for await (const line of createInterface({ input: command.stdout })) {
      if (line.includes("tool_execution_started")) break;
    }
    expect(await endedBy(command, signal)).toBeLessThan(SOON_MS);
  },
  60_000,
);
