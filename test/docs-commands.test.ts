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
import { dirname, join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath, pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { IMPORTS_BUILT_PACKAGE, RKAT } from "./support/built-package.ts";
import { startProviderServer } from "./support/provider-server/provider-server.ts";
import { Project } from "./support/rkat-process.ts";

/**
 * The pages whose commands and programs are run. The decisions say what was considered, and contain no
 * instructions. The commands of benchmarks.md are `npm run bench`, which takes minutes; bench/ has its own tests.
 */
const PAGES = ["README.md", ...globSync("docs/*.md")]
  .filter((page) => page !== "docs/benchmarks.md")
  .sort();

/** Pages that a reader does not come to with a task. The README first says what rkat is. */
const NO_GUIDES = ["README.md", "docs/README.md", "docs/design.md", "docs/surfaces.md"];

/** Pages that begin before there is a model in the settings, and a session. */
const FROM_NOTHING = ["README.md", "docs/cli.md", "docs/configuration.md"];

const EXAMPLES = globSync("examples/*.ts")
  .map((file) => readFileSync(file, "utf8"))
  .join("\n");

/** What the pages leave to the reader. The first that fits a text replaces it. */
const PLACEHOLDERS: readonly (readonly [string, string])[] = [
  ["API_KEY=…", "API_KEY=test"],
  ["http://localhost:1234/v1", "$LOCAL_MODELS"],
  ["restore 019b2c4e-8d31", "restore $(id_of sessions list --deleted)"],
  ["019b2c4e-…:12", "$(id_of memory list)"],
  ["019b2c4e-…", "$(id_of sessions list)"],
  ["<id>", "$(id_of knowledge list)"],
];

/** What the commands of the pages read. */
const FILES: Readonly<Record<string, string>> = {
  "notes.txt": "Staging listens on port 4310.\n",
  "turn.jsonl": '{"role":"user","content":"hi"}\n{"role":"assistant","content":"Hello."}\n',
  "conversation.jsonl": '{"role":"user","content":"hi"}\n{"role":"assistant","content":"Hello."}\n',
  "my-project/main.py": "print(1)\n",
};

/** What a page shows that its commands print. */
const PRINTED: Readonly<Record<string, readonly string[]>> = {
  "docs/rest.md": [
    '"stop_reason":"end_turn"',
    "event: result",
    "id: 1\nevent: session_created",
    '"deleted":true',
  ],
};

/** The prompt of an earlier session, which commands about the last session find. */
const EARLIER = "Which port does staging use? The old password is swordfish.";

const PRELUDE = pathToFileURL(resolve("test/support/docs-prelude.ts"));

/** A stand-in for npx that finds the package of this test run. */
const NPX = `#!/bin/sh
[ "$1" = -y ] && shift
shift
exec node "${RKAT}" "$@"
`;

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
    const section = linesOf(page).findIndex((line) => line.startsWith("## "));
    expect(example?.line ?? Infinity, "the line of its first example").toBeLessThan(section + 1);
  },
);

test.each(PAGES.filter((page) => blocksOf(page).some(isRun)))(
  "the commands and the first program of %s run",
  async (page) => {
    const server = await startProviderServer(() => "Staging listens on port 4310.");
    onTestFinished(() => server.close());
    const project = await Project.open();
    const home = dirname(project.folder);
    const env: Record<string, string> = {
      ...project.env,
      PATH: [join(home, "bin"), dirname(process.execPath), project.env.PATH].join(":"),
      ANTHROPIC_BASE_URL: server.urls.anthropic,
      LOCAL_MODELS: server.urls["openai-compatible"],
      RKAT,
      PAGE_HOME: home,
      EXAMPLE_OPTIONS: `${IMPORTS_BUILT_PACKAGE.NODE_OPTIONS} --import=${PRELUDE.href}`,
    };
    for (const [path, content] of Object.entries(FILES)) project.write(path, content);
    project.write("../bin/npx", NPX);
    chmodSync(join(home, "bin/npx"), 0o755);
    symlinkSync(resolve("node_modules"), join(home, "node_modules"));
    if (!FROM_NOTHING.includes(page)) {
      env.ANTHROPIC_API_KEY = "test";
      project.writeOwnConfig('model = "anthropic/claude-sonnet-4-5"\n');
      const { code, stderr } = await project.rkat(["run", EARLIER], "", env);
      expect(code, stderr).toBe(0);
    }
    const program = blocksOf(page).find(isProgram);
    project.write("../program.ts", linesAt(program ? [program] : []));
    project.write(join("..", page), scriptOf(page, program));
    const script = `source '${resolve("test/support/docs-shell.sh")}'; source '${join(home, page)}'`;
    const shell = spawn("bash", ["-c", script], {
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

test("every program of the docs is one to the compiler", async () => {
  const folder = mkdtempSync(resolve("node_modules/.cache/docs-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const files = PAGES.flatMap((page) =>
    blocksOf(page)
      .filter(isProgram)
      .map((block) => {
        const name = `${page.replaceAll("/", "-")}-${block.line}.ts`;
        writeFileSync(join(folder, name), `${linesAt([block])}\nexport {};\n`);
        return name;
      }),
  );
  const config = {
    extends: resolve("tsconfig.json"),
    files: [fileURLToPath(PRELUDE), ...files],
    include: [],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  const tsc = resolve("node_modules/typescript/bin/tsc");
  const compiler = spawn(process.execPath, [tsc, "-p", folder], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
  });
  expect(await text(compiler.stdout)).toBe("");
});

/** A page as a shell script: what is no command is an empty line, so that lines keep their numbers. */
function scriptOf(page: string, program: Block | undefined): string {
  const commands = blocksOf(page).filter(({ language }) => language === "sh");
  const start = program && { ...program, code: ['program "$PAGE_HOME/program.ts"'] };
  const script = linesAt(start ? [...commands, start] : commands);
  return PLACEHOLDERS.reduce((all, [from, to]) => all.replaceAll(from, to), script);
}

/** The code of blocks, at the lines where it stands in the page. */
function linesAt(blocks: readonly Block[]): string {
  const lines: string[] = [];
  for (const { line, code } of blocks) {
    for (const [index, text] of code.entries()) lines[line - 1 + index] = text;
  }
  return `${Array.from(lines, (line) => line ?? "").join("\n")}\n`;
}

function isRun(block: Block): boolean {
  return block.language === "sh" || isProgram(block);
}

/** test/examples.test.ts runs what a page quotes of an example. */
function isProgram({ language, code }: Block): boolean {
  return language === "ts" && !EXAMPLES.includes(code.join("\n"));
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
