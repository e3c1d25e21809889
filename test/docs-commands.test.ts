import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  globSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath, pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { IMPORTS_BUILT_PACKAGE, RKAT } from "./support/built-package.ts";
import { freshSchema, hasPostgres, postgresUrl } from "./support/postgres.ts";
import { startProviderServer } from "./support/provider-server/provider-server.ts";
import type { ProviderReply } from "./support/provider-server/reply.ts";
import { Project } from "./support/rkat-process.ts";
import { LONG } from "./support/trials.ts";
import { startWarm } from "./support/warm-commands.ts";

/**
 * The pages whose commands and programs are run. The decisions say what was considered, and contain no
 * instructions. The commands of benchmarks.md are `npm run bench`, which takes minutes; bench/ has its own tests.
 */
const PAGES = ["README.md", ...globSync("docs/*.md")]
  .filter((page) => page !== "docs/benchmarks.md")
  .sort();

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

const CHATGPT = JSON.stringify([
  {
    id: "c",
    title: "Ports",
    create_time: 1_770_000_000,
    current_node: "1",
    mapping: {
      "1": {
        id: "1",
        parent: null,
        children: [],
        message: {
          author: { role: "user" },
          create_time: 1_770_000_000,
          content: { content_type: "text", parts: ["Which port does staging use?"] },
        },
      },
    },
  },
]);

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
  "conversation.jsonl": '{"role":"user","content":"hi"}\n{"role":"assistant","content":"Hello."}\n',
};

/** Programs that are not ours. Those that fetch something do nothing. */
const STAND_INS: Readonly<Record<string, string>> = {
  npm: "",
  createdb: "",
  npx: `[ "$1" = -y ] && shift; shift; exec node "${RKAT}" "$@"`,
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

const EXAMPLES = globSync("examples/*.ts").map((file) => readFileSync(file, "utf8"));

const PRELUDE = pathToFileURL(resolve("test/support/docs-prelude.ts"));

interface Block {
  readonly language: string;
  /** The line of its first line of code, from 1. */
  readonly line: number;
  readonly code: readonly string[];
}

test.each(PAGES.filter((page) => !NO_GUIDES.includes(page)))(
  "%s starts with an example",
  (page) => {
    const example = blocksOf(page).find(({ language }) => ["sh", "ts"].includes(language));
    const section = linesOf(page).findIndex((line) => line.startsWith("## ")) + 1;
    expect(example?.line ?? Infinity, "the line of its first example").toBeLessThan(
      section || Infinity,
    );
  },
);

test.each(
  PAGES.filter((page) => scriptOf(page).trim() !== "" && (page !== ON_POSTGRES || hasPostgres)),
)("the commands and the first program of %s run", async (page) => {
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
    DOCS_NODE_OPTIONS: `${IMPORTS_BUILT_PACKAGE.NODE_OPTIONS} --import=${PRELUDE.href}`,
  };
  for (const [path, content] of Object.entries(FILES)) project.write(path, content);
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
  const commands = `source '${resolve("test/support/docs-shell.sh")}'; source "$PAGE"`;
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
});

test("every program of the docs fits the public types", async () => {
  const folder = mkdtempSync(resolve("node_modules/.cache/docs-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const declarations = ["-p", "tsconfig.build.json", "--noCheck", "--outDir", join(folder, "rkat")];
  expect(await compile(...declarations)).toBe("");
  const files = PAGES.flatMap((page) =>
    blocksOf(page)
      .filter((block) => block.language === "ts" && !isQuoted(block))
      .map((block) => {
        const name = `${page.replaceAll("/", "-")}-${block.line}.ts`;
        writeFileSync(join(folder, name), `${linesAt([block])}\nexport {};\n`);
        return name;
      }),
  );
  const config = {
    extends: resolve("tsconfig.json"),
    compilerOptions: { paths: { rkat: ["./rkat/index.d.ts"], "rkat/*": ["./rkat/*.d.ts"] } },
    files: [fileURLToPath(PRELUDE), resolve("test/support/ai-package.d.ts"), ...files],
    include: [],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  expect(await compile("-p", folder)).toBe("");
});

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

/** What the compiler says. */
async function compile(...args: readonly string[]): Promise<string> {
  const tsc = resolve("node_modules/typescript/bin/tsc");
  const compiler = spawn(process.execPath, [tsc, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  return await text(compiler.stdout);
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

/** The code of blocks, at the lines where it stands in the page. */
function linesAt(blocks: readonly Block[]): string {
  const lines: string[] = [];
  for (const { line, code } of blocks) {
    for (const [index, text] of code.entries()) lines[line - 1 + index] = text;
  }
  return `${Array.from(lines, (line) => line ?? "").join("\n")}\n`;
}

/** From an example, which test/examples.test.ts runs. */
function isQuoted({ code }: Block): boolean {
  return EXAMPLES.some((example) => example.includes(code.join("\n")));
}

function blocksOf(page: string): Block[] {
  const blocks: (Block & { readonly code: string[] })[] = [];
  let fenced = false;
  for (const [index, text] of linesOf(page).entries()) {
    const [, language] = /^```(\w*)/.exec(text) ?? [];
    if (language === undefined) {
      if (fenced) blocks.at(-1)?.code.push(text);
      continue;
    }
    fenced = !fenced;
    if (fenced) blocks.push({ language, line: index + 2, code: [] });
  }
  return blocks;
}

function linesOf(page: string): string[] {
  return readFileSync(page, "utf8").split("\n");
}
