import { once } from "node:events";
import { chmodSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { shellWord } from "../src/text/quoting.ts";
import { IMPORTS_BUILT_PACKAGE, RKAT } from "./support/built-package.ts";
import { CHATGPT } from "./support/chatgpt-export.ts";
import {
  type Block,
  blocksOf,
  DOCS_PAGES,
  DOCS_PRELUDE,
  isQuoted,
  linesAt,
  linesOf,
} from "./support/docs-pages.ts";
import { freshSchema, hasPostgres, postgresUrl } from "./support/postgres.ts";
import { startProviderServer } from "./support/provider-server/provider-server.ts";
import type { ProviderReply } from "./support/provider-server/reply.ts";
import { Project } from "./support/rkat-process.ts";
import { spawn } from "./support/start-process.ts";
import { writeTinyTable } from "./support/tiny-static-table.ts";
import { LONG, sampled } from "./support/trials.ts";
import { startWarm } from "./support/warm-commands.ts";

/** An index, a map, and a generated table: they have no task to show. */
const NO_GUIDES = ["docs/README.md", "docs/design.md", "docs/surfaces.md"];

/** Its commands need a server. */
const ON_POSTGRES = "docs/postgres.md";

/** Pages that begin before there are settings and sessions. */
const FROM_NOTHING = ["README.md", "docs/cli.md"];

/** What the pages leave to the reader. */
const PLACEHOLDERS: readonly (readonly [string, string])[] = [
  ["API_KEY=…", "API_KEY=test"],
  ["postgres://rkat@db.example.com:5432/rkat", "$DATABASE_URL"],
  ["http://localhost:1234/v1", "$DOCS_LOCAL_MODELS"],
  ["--session last", "--session $(id_of sessions list --label task=first)"],
  ["restore 019b2c4e-8d31", "restore $(id_of sessions list --deleted)"],
  ["019b2c4e-…:12", "$(id_of memory list)"],
  ["019b2c4e-…", "$(id_of sessions list)"],
  ["<id>", "$(id_of knowledge list)"],
  ["memory edit ID", "memory edit $(added_id)"],
  ["memory pin ID", "memory pin $(added_id)"],
  ["keep-both ID OTHER", "keep-both $(added_id) $(id_of memory list)"],
  ["unpin last @17", "unpin last @$(id_of sessions pins last)"],
];

/** A line of Claude Code. */
const CLAUDE_CODE = `${JSON.stringify({
  type: "user",
  uuid: "e4b0c1d2-0000-4000-8000-000000000001",
  parentUuid: null,
  sessionId: "0d5c2f6e-3b1a-4a54-9d5f-6f1f2a7b8c9d",
  timestamp: "2026-11-02T09:00:04.000Z",
  cwd: "/home/ada/app",
  isSidechain: false,
  userType: "external",
  message: { role: "user", content: "Find out why build 1042 failed." },
})}\n`;

/** A transcript of Codex. */
const CODEX = [
  {
    type: "session_meta",
    payload: { id: "019de2a4-0000-7000-8000-000000000002", cwd: "/home/ada/app" },
  },
  {
    type: "response_item",
    payload: codexMessage("user", "input_text", "Find out why build 1042 failed."),
  },
  {
    type: "response_item",
    payload: codexMessage("assistant", "output_text", "Port 4310 was taken."),
  },
]
  .map((line) => `${JSON.stringify({ timestamp: "2026-05-01T09:00:00.000Z", ...line })}\n`)
  .join("");

function codexMessage(role: string, type: string, text: string) {
  return { type: "message", role, content: [{ type, text }] };
}

/** Files that the commands read. */
const FILES: Readonly<Record<string, string>> = {
  "main.py": "print(1)\n",
  "my-project/main.py": "print(1)\n",
  "your-project/main.py": "print(1)\n",
  "notes.txt": "Staging listens on port 4310.\n",
  "turn.jsonl": '{"role":"user","content":"hi"}\n{"role":"assistant","content":"Hello."}\n',
  "../.claude/projects/-home-ada-app/0d5c2f6e-3b1a-4a54-9d5f-6f1f2a7b8c9d.jsonl": CLAUDE_CODE,
  "rollout-2026-05-01.jsonl": CODEX,
  "../.codex/sessions/2026/05/01/rollout-2026-05-01.jsonl": CODEX,
  "../Downloads/conversations.json": CHATGPT,
  // It is a part of the checkout, and works for an hour.
  "bench/soak/run.ts": "",
  "conversation.jsonl": '{"role":"user","content":"hi"}\n{"role":"assistant","content":"Hello."}\n',
};

/** Where a person has downloaded a model to. */
const MODELS = [
  ".cache/huggingface/hub/models--minishlab--potion-base-8M/snapshots/1",
  "Downloads/potion-base-8M",
];

/** Programs that are not ours. Those that fetch something do nothing. */
const STAND_INS: Readonly<Record<string, string>> = {
  npm: "",
  createdb: "",
  npx: `[ "$1" = -y ] && shift; shift; exec node ${shellWord(RKAT)} "$@"`,
  claude: "",
  hf: "",
  git: 'case "$1" in clone) mkdir "$(basename "$2")" ;; diff) echo "+print(2)" ;; *) exit 1 ;; esac',
  openssl: "head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \\n'",
};

/** What a page says that its commands print. */
const PRINTED: Readonly<Record<string, readonly string[]>> = {
  "docs/rest.md": [
    '"stop_reason":"end_turn"',
    "event: result",
    "id: 1\nevent: session_created",
    '"deleted":true',
  ],
};

const ANSWER = "Staging listens on port 4310, behind the proxy.";
const edit = (from: string, to: string) =>
  call("edit_file", { path: "main.py", old_text: from, new_text: to });
const call = (name: string, args: Record<string, string>) => {
  return { toolCalls: [{ id: name, name, args }] };
};

/** The sessions that there are already: what the model answers, and what the user types when asked. */
const EARLIER: readonly {
  readonly label: string;
  readonly typed: string;
  readonly replies: readonly ProviderReply[];
}[] = [
  { label: "task=first", typed: "s\n", replies: [edit("1", "2"), ANSWER] },
  {
    label: "task=second",
    typed: "p\np\n",
    replies: [edit("2", "1"), call("run_command", { command: "npm test" }), ANSWER],
  },
];

const PROMPT = "The old password is swordfish.";

test.each(DOCS_PAGES.filter((page) => !NO_GUIDES.includes(page)))(
  "%s starts with an example",
  (page) => {
    const example = blocksOf(page).find(({ language }) => ["sh", "ts"].includes(language));
    const section = linesOf(page).findIndex((line) => line.startsWith("## ")) + 1;
    expect(example?.line ?? Infinity, "the line of its first example").toBeLessThan(
      section || Infinity,
    );
  },
);

const WITH_COMMANDS = DOCS_PAGES.filter(
  (page) => scriptOf(page).trim() !== "" && (page !== ON_POSTGRES || hasPostgres),
);
const REST = WITH_COMMANDS.filter((page) => !FROM_NOTHING.includes(page));

// Some take over two seconds: they start servers, programs and a shell as a reader does. In the short form, what a
// newcomer reads first and a part of the rest.
test.each([...FROM_NOTHING, ...sampled(REST, { of: 14, at: 3 }, "cases")])(
  "the commands and the first program of %s run",
  async (page) => {
    const replies = FROM_NOTHING.includes(page) ? [] : EARLIER.flatMap(({ replies }) => replies);
    const server = await startProviderServer((_request, index) => replies[index] ?? ANSWER);
    onTestFinished(() => server.close());
    const project = await Project.open();
    const home = dirname(project.folder);
    const env: Record<string, string> = {
      ...project.env,
      ...(page === ON_POSTGRES ? { DATABASE_URL: await freshDatabase() } : {}),
      PATH: [join(home, "bin"), dirname(process.execPath), project.env.PATH].join(":"),
      ANTHROPIC_BASE_URL: server.urls.anthropic,
      PAGE: join(home, page),
      DOCS_HOME: home,
      DOCS_RKAT: RKAT,
      DOCS_COMMANDS: LONG ? "" : await serveCommands(),
      DOCS_LOCAL_MODELS: server.urls["openai-compatible"],
      DOCS_NODE_OPTIONS: [...IMPORTS_BUILT_PACKAGE, `--import=${DOCS_PRELUDE.href}`].join(" "),
    };
    for (const [path, content] of Object.entries(FILES)) project.write(path, content);
    for (const folder of MODELS) writeTinyTable(join(home, folder));
    for (const [name, script] of Object.entries(STAND_INS)) {
      const file = project.write(`../bin/${name}`, `#!/bin/sh\n${script}\n`);
      chmodSync(join(project.folder, file), 0o755);
    }
    symlinkSync(resolve("node_modules"), join(home, "node_modules"));
    if (!FROM_NOTHING.includes(page)) {
      env.ANTHROPIC_API_KEY = "test";
      project.writeOwnConfig('model = "anthropic/claude-sonnet-4-5"\n');
      for (const { label, typed } of EARLIER) {
        const flags = ["--label", label, "--on-approval", "prompt"];
        const { code, stderr } = await project.rkat(["run", ...flags, PROMPT], typed, env);
        expect(code, stderr).toBe(0);
      }
    }
    project.write("../program.ts", linesAt(programOf(page)));
    project.write(`../${page}`, scriptOf(page));
    const commands = `source ${shellWord(resolve("test/support/docs-shell.sh"))}; source "$PAGE"`;
    const shell = spawn("bash", ["-c", commands], {
      cwd: project.folder,
      env,
      stdio: ["ignore", "pipe", "inherit"],
      detached: true,
    });
    const ended = once(shell, "close");
    onTestFinished(() => {
      if (shell.exitCode === null) process.kill(-Number(shell.pid), "SIGKILL");
    });
    const [printed, [code]] = await Promise.all([text(shell.stdout), ended]);
    expect(code, printed).toBe(0);
    expect(server.problems).toEqual([]);
    for (const words of PRINTED[page] ?? []) expect(printed).toContain(words);
  },
);

/** An address whose tables no other test uses. */
async function freshDatabase(): Promise<string> {
  const url = new URL(await postgresUrl());
  url.searchParams.set("schema", await freshSchema());
  return url.href;
}

/** Runs the command lines that docs-shell.sh sends, in warm processes. Returns the address for them. */
async function serveCommands(): Promise<string> {
  const server = createServer(async (request, response) => {
    const call = await text(request);
    const fieldsOf = (name: string) => read(name).split("\0").slice(0, -1);
    const read = (name: string) => readFileSync(join(call, name), "utf8");
    const [folder = "", ...args] = fieldsOf("line");
    const env = Object.fromEntries(
      fieldsOf("env").map((line) => {
        const [name = "", ...value] = line.split("=");
        return [name, value.join("=")];
      }),
    );
    const { code, stdout, stderr } = await startWarm({ args, folder, env, stdin: read("stdin") })
      .ended;
    writeFileSync(join(call, "stdout"), stdout);
    writeFileSync(join(call, "stderr"), stderr);
    response.end(String(code ?? 1));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A page as a shell script. Everything but commands is an empty line, so that lines keep their numbers. */
function scriptOf(page: string): string {
  const commands = blocksOf(page).filter(({ language }) => language === "sh");
  const blocks = [...commands, ...programOf(page)].map(({ language, line, code }) => {
    // You stop the server before you go on to what does not call it.
    const before = /\b(?:curl|connect\w+)\b/.test(code.join("\n")) ? "" : "stop_server; ";
    const [first = "", ...rest] = language === "sh" ? code : ["program"];
    return { language, line, code: [before + first, ...rest] };
  });
  return PLACEHOLDERS.reduce((text, [from, to]) => text.replaceAll(from, to), linesAt(blocks));
}

/** The first program of a page, if test/examples.test.ts does not run it. */
function programOf(page: string): Block[] {
  return blocksOf(page)
    .filter(({ language }) => language === "ts")
    .slice(0, 1)
    .filter((block) => !isQuoted(block));
}
