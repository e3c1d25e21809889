import { hash } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { createInterface } from "node:readline";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createSessionService, type EventEnvelope, ephemeralStores } from "../../src/index.ts";
import { scriptedModel } from "../../src/testing.ts";
import { TextFinder } from "../../src/text/find-text.ts";
import { globMatcher } from "../../src/tools/project/glob.ts";
import { commandsIn, newProgram } from "../support/command-tree.ts";
import { projectForTools } from "../support/project-for-tools.ts";
import { Project } from "../support/rkat-process.ts";
import { scriptedProvider } from "../support/scripted-provider.ts";
import { sampled, trials } from "../support/trials.ts";

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
    { numRuns: trials(500, 2_000) },
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

const TALK = `{"role":"user","content":"Hello."}
{"role":"assistant","content":"Hello to you."}
`;

/** Sends the signal and waits for the end of the process, which does not come to the end of its work. */
async function expectEndBy(signal: NodeJS.Signals, command: ReturnType<Project["start"]>) {
  command.kill(signal);
  const { stdout } = await command.ended;
  expect(stdout).not.toContain('"type":"run_completed"');
}

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

const LIST = '{"jsonrpc":"2.0","id":1,"method":"session/list","params":{}}\n';

/** Commands that open the store: their arguments, and what they read. Most begin with the name of the command. */
const COMMANDS: Readonly<Record<string, readonly [line: string, stdin?: string]>> = {
  run: ["run Hello."],
  resume: ["resume last Hello."],
  continue: ["continue"],
  chat: ["chat", "Hello.\n"],
  "sessions create": ["sessions create"],
  "sessions append": ["sessions append last --messages messages.jsonl"],
  "sessions list": ["sessions list"],
  "sessions show": ["sessions show last"],
  "sessions context": ["sessions context last"],
  "sessions cost": ["sessions cost last"],
  "sessions task": ["sessions task last --goal ship"],
  "sessions pins": ["sessions pins last"],
  "sessions pin": ["sessions pin last 0"],
  "sessions unpin": ["sessions unpin last 0"],
  "sessions archive": ["sessions archive last"],
  "sessions unarchive": ["sessions unarchive last"],
  "sessions delete": ["sessions delete last --yes"],
  "sessions restore": ["sessions restore last"],
  "sessions compact": ["sessions compact last"],
  "sessions undo": ["sessions undo last"],
  "sessions fork": ["sessions fork last"],
  "sessions bring-back": ["sessions bring-back last @3"],
  "sessions not-this": ["sessions not-this last some-entry"],
  "sessions allow-recall": ["sessions allow-recall last some-entry"],
  "sessions diff": ["sessions diff last"],
  "sessions why": ["sessions why last @3"],
  "sessions log": ["sessions log last"],
  "sessions events": ["sessions events last --follow"],
  "sessions project": ["sessions project"],
  "history search": ["history search hello"],
  "memory search": ["memory search hello"],
  "memory list": ["memory list"],
  "memory stats": ["memory stats"],
  "memory sources": ["memory sources some-entry"],
  "memory add": ["memory add Hello."],
  "memory export": ["memory export"],
  "memory edit": ["memory edit unknown Hello."],
  "memory keep-both": ["memory keep-both unknown other"],
  "memory pin": ["memory pin unknown"],
  "memory unpin": ["memory unpin unknown"],
  "memory forget": ["memory forget --session last --yes"],
  "memory verify": ["memory verify"],
  "memory reindex": ["memory reindex"],
  "approvals list": ["approvals list"],
  "approvals allow": ["approvals allow"],
  "approvals deny": ["approvals deny"],
  "approvals rules": ["approvals rules --session last"],
  "approvals revoke": ["approvals revoke write_file --session last"],
  "knowledge list": ["knowledge list"],
  "knowledge show": ["knowledge show 8c1f"],
  "knowledge add": ["knowledge add Hello."],
  "knowledge edit": ["knowledge edit 8c1f Hello."],
  "knowledge pin": ["knowledge pin 8c1f"],
  "knowledge unpin": ["knowledge unpin 8c1f"],
  "knowledge forget": ["knowledge forget 8c1f"],
  "knowledge distill": ["knowledge distill"],
  import: ["import claude.jsonl"],
  handoff: ["handoff last"],
  replay: ["replay messages.jsonl"],
  rpc: ["rpc", LIST],
  serve: ["serve --port 0"],
  mcp: ["mcp --http --port 0"],
  inspect: ["inspect last --no-open"],
  move: ["move --to there.db"],
  backup: ["backup there.backup --scope project"],
  export: ["export there.jsonl"],
  restore: ["restore shop.backup"],
  doctor: ["doctor"],
  repair: ["repair"],
};

/**
 * They open no store, contact nobody and read no input, and their files are regular ones of limited length (see
 * stop-every-command-by-a-config-file). No handler of rkat takes the place of the signal's own action.
 */
const WITHOUT_STORE = ["init", "trust", "config", "capabilities", "help", "completion"].concat([
  "install",
  "uninstall",
  "mcp add",
  "mcp allow",
  "mcp list",
  "mcp login",
  "mcp logout",
  "mcp remove",
  "embeddings install",
  "embeddings remove",
]);

/** Of an empty file: the database is asked before it is read. */
const BACKUP = `${JSON.stringify({
  rkat_backup: 1,
  made_at: "2026-11-26T00:00:00.000Z",
  parts: [{ name: "project", bytes: 0, sha256: hash("sha256", "") }],
})}\n`;

test("every command is among those that are blocked, or cannot be", async () => {
  // `mcp` does something of its own, besides the commands below it.
  const all = commandsIn(await newProgram()).filter(
    ([path, { commands }]) => commands.length === 0 || path === "mcp",
  );
  const known = [...Object.keys(COMMANDS), ...WITHOUT_STORE];
  expect(all.map(([path]) => path).sort()).toEqual(known.sort());
});

const BLOCKED = Object.values(COMMANDS).map(([line, stdin], at) => ({
  line,
  stdin,
  signal: SIGNALS[at % 2] ?? "SIGINT",
}));

// Each is a process, which loads the command before it is ended.
test.each(sampled(BLOCKED, { of: 21, at: 0 }, "attacks"))(
  "$signal ends `rkat $line` in front of a database that never answers",
  async ({ line, stdin, signal }) => {
    const project = await Project.open({ store: `postgres://rkat@127.0.0.1:${port}/rkat` });
    project.write("claude.jsonl", CLAUDE);
    project.write("messages.jsonl", TALK);
    project.write("shop.backup", BACKUP);
    const connected = once(silent, "connection");
    const env = { RKAT_MODEL: "openai/none", OPENAI_API_KEY: "k", PGCONNECT_TIMEOUT: "60" };
    const command = project.start(line.split(" "), stdin, env);
    const early = command.ended.then(({ stderr }) => stderr);
    expect(await Promise.race([connected.then(() => "blocked"), early])).toBe("blocked");
    await expectEndBy(signal, command);
  },
);

const TALKS = SIGNALS.flatMap((signal) =>
  ["run Hello.", "chat"].map((line) => [signal, line] as const),
);

test.each(sampled(TALKS, { of: 3, at: 0 }, "attacks"))(
  "%s ends `rkat %s` whose provider never answers",
  async (signal, line) => {
    const project = await Project.open();
    const url = `http://127.0.0.1:${port}/v1`;
    const env = { RKAT_MODEL: "openai/none", OPENAI_API_KEY: "k", OPENAI_BASE_URL: url };
    const connected = once(silent, "connection");
    const command = project.start(line.split(" "), "Hello.\n", env);
    await connected;
    await expectEndBy(signal, command);
  },
);

/** Tools that ask a store, which never answers. */
const OF_STORE = ["memory_search", "search_project_history"];
const never = () => new Promise<never>(() => {});

test.each(OF_STORE)(
  "an interruption ends a turn in which the store never answers %s",
  async (name) => {
    const stores = ephemeralStores();
    stores.memory.search = never;
    stores.events.search = never;
    const call = { id: "c1", name, args: { query: "otter" } };
    const model = scriptedModel([{ toolCalls: [call] }, "done"]);
    const service = createSessionService({ model, stores });
    const { sessionId } = await service.createSession({});
    const onEvent = ({ payload }: EventEnvelope) => {
      if (payload.type === "tool_execution_started") void service.interrupt({ sessionId });
    };
    const turn = service.startTurn({ sessionId, prompt: "Go." }, { onEvent });
    await expect(turn).rejects.toMatchObject({ code: "TURN_INTERRUPTED" });
    await service.close();
  },
);

test("every tool is among those that are blocked, or cannot be", async () => {
  const builtin: string[] = [];
  const model = scriptedModel(({ tools }) => {
    builtin.push(...tools.map(({ name }) => name));
    return "done";
  });
  const service = createSessionService({ model, stores: ephemeralStores() });
  const { sessionId } = await service.createSession({});
  await service.startTurn({ sessionId, prompt: "Go." });
  await service.close();
  const { names } = await projectForTools();
  // They ask nobody, and their texts have a limit.
  const quick = ["update_task", "datetime", "write_file"];
  const known = [...Object.keys(TOOLS), ...OF_STORE, ...quick];
  expect([...names, ...builtin].sort()).toEqual(known.sort());
});

const TOOLS = {
  ...FREEZING,
  run_command: [{}, { command: "sleep 60" }] as const,
};

const ENDED_TOOLS = Object.entries(TOOLS).map(([tool, call], at) => ({
  ...{ tool, call },
  signal: SIGNALS[at % 2] ?? "SIGINT",
}));

test.each(sampled(ENDED_TOOLS, { of: 3, at: 1 }, "attacks"))(
  "$signal ends a turn in which $tool works on what somebody chose",
  async ({ tool, call: [files, args], signal }) => {
    const calls = Array.from({ length: 8 }, (_, at) => ({ id: `c${at}`, name: tool, args }));
    // Where the tools are quicker than the signal, the model lets the turn wait for it.
    const provider = await scriptedProvider([{ toolCalls: calls }, { delayMs: 600_000 }]);
    const project = await Project.open({ provider });
    for (const [path, text] of Object.entries<string>(files)) project.write(path, text);
    const allowed = ["--allow", "edit_file", "--allow", "run_command"];
    const command = project.start(["run", "--output", "jsonl", ...allowed, "Go."]);
    for await (const line of createInterface({ input: command.stdout })) {
      if (line.includes("tool_execution_started")) break;
    }
    await expectEndBy(signal, command);
  },
);
