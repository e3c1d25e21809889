import { chmodSync, closeSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { sqliteStores } from "../src/sqlite.ts";
import { CURRENT_TABLES } from "../src/stores/postgres/migrations.ts";
import { ClaudeLines } from "./support/claude-lines.ts";
import type { Order } from "./support/in-order.ts";
import { type Lies, lyingPostgres } from "./support/lying-postgres.ts";
import { Project } from "./support/rkat-process.ts";
import { spawnSync } from "./support/start-process.ts";
import { LONG, sampled } from "./support/trials.ts";
import { startWarm } from "./support/warm-commands.ts";

/** A store that refuses. */
interface Refusal {
  /** What rkat says of it, in part. */
  readonly said: string;
  /** Set if some commands do not need what is missing. */
  readonly isPartial?: true;
  /** Gives the project this store. Returns its address if it is not the project's file. */
  readonly set: (project: Project) => Promise<string | undefined>;
}

function server(said: string, lies: Lies): Refusal {
  const set = async () => `postgres://rkat@127.0.0.1:${(await lyingPostgres(lies)).port}/x`;
  return { said, set };
}

function file(said: string, spoil: (file: string) => void, isPartial?: true): Refusal {
  return {
    said,
    ...(isPartial ? { isPartial } : {}),
    async set({ folder }) {
      const path = join(folder, ".rkat/rkat.db");
      const stores = sqliteStores({ path });
      await stores.events.lastSeq("none");
      await stores.close();
      spoil(path);
      return undefined;
    },
  };
}

/** A server that lets the client in, and answers each statement with an error. */
const failing = (said: string, code: string) =>
  server(said, { answer: () => ({ error: "No.", code }) });

function withDatabase(path: string, sql: string): void {
  const db = new DatabaseSync(path);
  db.exec(sql);
  db.close();
}

/** The version of tables that this rkat cannot use. */
const NEWER = CURRENT_TABLES + 1;

const REFUSALS: readonly Refusal[] = [
  { said: "no server listens there", set: async () => "postgres://rkat@127.0.0.1:1/x" },
  server("refused the user", { login: { error: "No.", code: "28P01" } }),
  server("does not exist", { login: { error: "No.", code: "3D000" } }),
  server("were made by a newer rkat", {
    answer: (sql) =>
      sql.includes("max(usable_from)")
        ? { rows: [{ version: NEWER, usable: NEWER, isFollowed: true }] }
        : undefined,
  }),
  server("lost the connection", { answer: () => ({ bytes: new Uint8Array() }) }),
  failing("is read-only", "25006"),
  failing("does not allow this user", "42501"),
  failing("has no disk space left", "53100"),
  failing("has damaged data", "XX001"),
  file("is not a database (", (path) => writeFileSync(path, "x".repeat(10_000))),
  file("newer rkat", (path) => withDatabase(path, "pragma user_version = 999")),
  file(
    "is damaged",
    (path) => {
      const opened = openSync(path, "r+");
      for (let page = 1; page < 200; page += 1) writeSync(opened, "rotten!", page * 4096);
      closeSync(opened);
    },
    true,
  ),
  file("has a row that rkat did not write", (path) => withDatabase(path, "drop table event"), true),
];

const ORDERS: readonly Order[] = ["background first", "command first"];

const CHAT = "5f0c1a52-0000-4000-8000-000000000000";
const CONVERSATION = resolve("demo/conversation.jsonl");

const MODEL = {
  RKAT_MODEL: "openai/gpt-test",
  OPENAI_API_KEY: "test",
  OPENAI_BASE_URL: "http://127.0.0.1:1",
};

/** What each command needs besides its name. `null` for those that open no store. */
const COMMANDS: Readonly<Record<string, readonly string[] | null>> = {
  run: ["Hello."],
  resume: ["last", "Hello."],
  continue: ["Hello."],
  chat: [],
  "sessions create": [],
  "sessions append": ["last", "--messages", "-"],
  "sessions list": [],
  "sessions show": ["last"],
  "sessions context": ["last"],
  "sessions cost": ["last"],
  "sessions task": ["last"],
  "sessions pins": ["last"],
  "sessions pin": ["last", "1"],
  "sessions unpin": ["last", "1"],
  "sessions archive": ["last"],
  "sessions unarchive": ["last"],
  "sessions delete": ["last", "--yes"],
  "sessions restore": ["some-session"],
  "sessions compact": ["last"],
  "sessions undo": ["last"],
  "sessions fork": ["last"],
  "sessions bring-back": ["last", "@3"],
  "sessions not-this": ["last", "some-entry"],
  "sessions allow-recall": ["last", "some-entry"],
  "sessions diff": ["last"],
  "sessions why": ["last", "@3"],
  "sessions log": ["last"],
  "sessions events": ["last"],
  "sessions project": [],
  "history search": ["Hello"],
  "memory search": ["Hello"],
  "memory list": [],
  "memory stats": [],
  "memory sources": ["some-entry"],
  "memory add": ["Hello."],
  "memory export": [],
  "memory edit": ["some-entry", "Hello."],
  "memory keep-both": ["some-entry", "another"],
  "memory pin": ["some-entry"],
  "memory unpin": ["some-entry"],
  "memory forget": ["some-entry", "--yes"],
  "memory verify": [],
  "memory reindex": [],
  "approvals list": [],
  "approvals allow": [],
  "approvals deny": [],
  "approvals rules": ["--session", "last"],
  "approvals revoke": ["bash", "--session", "last"],
  "knowledge list": [],
  "knowledge show": ["some-entry"],
  "knowledge add": ["Hello."],
  "knowledge edit": ["some-entry", "Hello."],
  "knowledge pin": ["some-entry"],
  "knowledge unpin": ["some-entry"],
  "knowledge forget": ["some-entry"],
  "knowledge distill": [],
  import: ["claude-code", "claude.jsonl"],
  install: null,
  uninstall: null,
  handoff: ["last"],
  replay: [CONVERSATION],
  rpc: [],
  serve: ["--port", "0"],
  mcp: [],
  "mcp add": null,
  "mcp allow": null,
  "mcp list": null,
  "mcp login": null,
  "mcp logout": null,
  "mcp remove": null,
  "embeddings install": null,
  "embeddings remove": null,
  inspect: ["--port", "0", "--no-open"],
  init: null,
  trust: null,
  move: ["--to", "other.db"],
  backup: ["there.backup"],
  export: ["there.jsonl"],
  // Without a backup it opens none.
  restore: null,
  config: null,
  capabilities: null,
  doctor: [],
  repair: [],
  help: null,
  completion: null,
  hook: ["SessionStart"],
};

/** What some commands read. */
const STDIN: Readonly<Record<string, (folder: string) => string>> = {
  chat: () => "Hello.\n",
  "sessions append": () => '{"role": "user", "content": "Hello."}\n',
  hook: (cwd) => JSON.stringify({ session_id: "s1", source: "startup", cwd }),
};

/** Commands that the help does not list. */
const HIDDEN = ["hook"];

/** Commands that do something of their own besides those below them. */
const ALSO_COMMANDS = ["mcp"];

/** The commands that a help lists. */
function listedIn(help: string): readonly string[] {
  const list = help.split("Commands:\n")[1]?.split("\n\n")[0] ?? "";
  return [...list.matchAll(/^ {2}([a-z-]+)/gm)].flatMap(([, name]) => name ?? []);
}

test("the table above has every command", async () => {
  const project = await Project.open();
  const listed = listedIn((await project.rkat(["--help"])).stdout);
  const all: string[] = [];
  for (const name of listed) {
    const below = listedIn((await project.rkat(["help", name])).stdout);
    all.push(...(below.length > 0 ? below.map((each) => `${name} ${each}`) : [name]));
  }
  expect(all.length).toBeGreaterThan(50);
  expect(Object.keys(COMMANDS).sort()).toEqual([...all, ...HIDDEN, ...ALSO_COMMANDS].sort());
});

/** How many commands run at once. */
const LANES = LONG ? 3 : 1;

/** Each command with some of the refusals, or with all of them. */
const PLAN = Object.entries(COMMANDS).flatMap(([name, more], at) =>
  REFUSALS.flatMap((refusal, which) =>
    LONG || (at + which) % REFUSALS.length === 0 ? [{ name, more, refusal }] : [],
  ),
);

// In the short form, each order has every fourth command.
test.each(ORDERS)("each command says once why its store refuses: %s", async (order) => {
  const wrong: string[] = [];
  const work = [...sampled(PLAN, { of: 4, at: 2 * ORDERS.indexOf(order) }, "cases")];
  const lane = async () => {
    for (let next = work.pop(); next; next = work.pop()) {
      const problem = await problemOf(order, next);
      if (problem) wrong.push(problem);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  expect(wrong).toEqual([]);
});

// The list of sessions is there, so the chat begins, and its first prompt fails.
test.each(ORDERS)("a chat that reads a pipe says once why its store refuses: %s", async (order) => {
  for (const refusal of REFUSALS.slice(-1)) {
    expect(await problemOf(order, { name: "chat", more: [], refusal })).toBe(undefined);
  }
});

/** What is wrong with the output of a command, if anything is. */
async function problemOf(
  order: Order,
  { name, more, refusal: { said, set, isPartial } }: (typeof PLAN)[number],
): Promise<string | undefined> {
  const project = await Project.open({ config: "" });
  const { lines } = new ClaudeLines(CHAT, { cwd: project.folder }).user("Hello.");
  project.write("claude.jsonl", `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`);
  const address = await set(project);
  const store = address === undefined ? {} : { RKAT_STORE: address };
  const { code, stdout, stderr } = await startWarm({
    args: [...name.split(" "), ...(more ?? [])],
    folder: project.folder,
    env: { ...project.env, ...MODEL, ...store },
    stdin: STDIN[name]?.(project.folder) ?? "",
    order,
  }).ended;
  const output = stdout + stderr;
  const sentences = [...output.matchAll(/(?<=^(?:warning|error): ).*?\)\./gm)].map(
    ([text]) => text,
  );
  const times = output.split(said).length - 1;
  const isOnce =
    new Set(sentences).size === sentences.length &&
    (isPartial ? times <= 1 : times === (more === null ? 0 : 1));
  return isOnce ? undefined : `rkat ${name}, ${order}, ${said}: ${times} times, ${code}\n${output}`;
}

/** Commands that work with what the store has when catching up with the log fails. */
const GOING_ON = [
  ["sessions", "list"],
  ["memory", "search", "Hello"],
  ["memory", "stats"],
  ["history", "search", "Hello"],
  ["knowledge", "list"],
  ["approvals", "list"],
];

test.each(ORDERS)("what lets a command go on is told once: %s", async (order) => {
  const { set } = server("", {
    answer: (sql) =>
      sql.includes("projection_checkpoint") ? { error: "No.", code: "53100" } : undefined,
  });
  for (const args of sampled(GOING_ON, { of: 2, at: ORDERS.indexOf(order) }, "cases")) {
    const project = await Project.open();
    const env = { ...project.env, RKAT_STORE: (await set(project)) ?? "" };
    const { folder } = project;
    const { code, stderr } = await startWarm({ args, folder, env, stdin: "", order }).ended;
    expect(stderr.match(/has no disk space left/g), args.join(" ")).toHaveLength(1);
    expect(stderr, args.join(" ")).toMatch(/^warning: .*has no disk space left/m);
    expect(code).toBe(0);
  }
});

const isLinux = process.platform === "linux";

/** Each makes the machine refuse, for a process of its own. */
const MACHINES: readonly (readonly [string, readonly string[], string])[] = [
  ["on a full disk", ["prlimit", "--fsize=0"], "disk"],
  [
    "without permission",
    process.getuid?.() === 0 ? ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] : ["env"],
    "permission",
  ],
];

test.runIf(isLinux).each(MACHINES)("it is said once %s", async (_, program, said) => {
  const project = await Project.open({ config: "" });
  await project.rkat(["memory", "add", "The otter sleeps."]);
  if (said === "permission") chmodSync(join(project.folder, ".rkat/rkat.db"), 0);
  const { env, folder } = project;
  const [command = "", ...before] = [...program, ...project.program, "knowledge", "add", "Hello."];
  const { stderr, status } = spawnSync(command, before, { env, cwd: folder, encoding: "utf8" });
  expect(status).not.toBe(0);
  expect(stderr).toMatch(/^error: .*\nhint: .*\n$/);
  expect(stderr).toContain(said);
});
