import {
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { CODING_AGENTS, type CodingAgentName } from "../src/coding-agents/agents.ts";
import { carryOut, planInstall, planUninstall } from "../src/coding-agents/installation.ts";
import { temporaryFolder } from "./support/obey.ts";

const NAMES = Object.keys(CODING_AGENTS) as readonly CodingAgentName[];

async function homeWith(name: CodingAgentName) {
  const home = await temporaryFolder();
  const env = { HOME: home, USERPROFILE: home };
  const command = [process.execPath, join(home, "rkat.js")];
  const filesOf = (agent: CodingAgentName) =>
    CODING_AGENTS[agent]
      .files({ scope: "user", folder: home, env, command })
      .map((file) => ({ ...file, isOwn: true as const }));
  const install = async (agent = name) => carryOut(await planInstall(filesOf(agent), env), env);
  const uninstall = async (agent = name) => carryOut(await planUninstall(filesOf(agent), env), env);
  const write = (path: string, text: string, mode = 0o644) => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text, { mode });
  };
  const receipts = join(home, ".config", "rkat", "installed.json");
  return { home, env, filesOf, files: filesOf(name), install, uninstall, write, receipts };
}

/** The same settings as different editors and people write them. */
const JSON_TEXTS: Readonly<Record<string, string>> = {
  empty: "",
  "an empty object": "{}",
  "one line": '{"a": [1, 2], "mcpServers": {"other": {"command": "other"}}, "hooks": {}}',
  "tabs, CRLF and no last line end": '{\r\n\t"a": 1,\r\n\t"hooks": {\r\n\t\t"Stop": []\r\n\t}\r\n}',
  "a byte order mark": '\uFEFF{\n  "a": 1\n}\n',
};
const COMMENTED: Readonly<Record<string, string>> = {
  "comments and last commas":
    '// mine\r\n{\r\n\t/* a { */ "a": [1, 2,], // b }\r\n\t"hooks": {},\r\n\t// end\r\n}\r\n// after\r\n',
};

test.each(NAMES)(
  "%s: settings come back byte for byte, however they are written, and with what was changed around rkat",
  async (name) => {
    const { files, install, uninstall, write, receipts } = await homeWith(name);
    for (const { path, content } of files) {
      if (content.kind !== "json") continue;
      const texts =
        "comments" in content && content.comments ? { ...JSON_TEXTS, ...COMMENTED } : JSON_TEXTS;
      for (const [how, text] of Object.entries(texts)) {
        write(path, text, 0o640);
        await install();
        expect(readFileSync(path, "utf8"), how).toContain("rkat");
        await uninstall();
        expect(readFileSync(path, "utf8"), how).toBe(text);
        expect(existsSync(receipts), how).toBe(false);
        if (text === "" || text === "{}") continue;
        await install();
        const edit = (all: string) => all.replace('"a"', '"zoom": 2, "a"');
        writeFileSync(path, edit(readFileSync(path, "utf8")));
        await uninstall();
        expect(readFileSync(path, "utf8"), how).toBe(edit(text));
      }
    }
  },
);

test("opencode: settings with comments that were made after an install are the ones, and both come back", async () => {
  const { home, env, filesOf, write } = await homeWith("opencode");
  const [plain, commented] = ["json", "jsonc"].map((end) =>
    join(home, ".config", "opencode", `opencode.${end}`),
  ) as [string, string];
  const install = async () => carryOut(await planInstall(filesOf("opencode"), env), env);
  const uninstall = async () => carryOut(await planUninstall(filesOf("opencode"), env), env);
  const read = () => [plain, commented].map((path) => readFileSync(path, "utf8"));
  const texts = ['{"a": 1}', '{\n  // mine\n  "b": 2,\n}\n'] as const;
  write(plain, texts[0]);
  await install();
  write(commented, texts[1]);
  await uninstall();
  expect(read()).toEqual(texts);
  await install();
  expect(read().map((text) => text.includes("rkat"))).toEqual([false, true]);
  await uninstall();
  expect(read()).toEqual(texts);
});

test("a file that changed after it was read is not written, and neither is any other", async () => {
  const { files, env, write, receipts, filesOf } = await homeWith("claude-code");
  const [first, second] = files.map(({ path }) => path) as [string, string];
  write(first, "{}");
  write(second, "{}");
  const plan = await planInstall(filesOf("claude-code"), env);
  writeFileSync(second, '{"theirs": 1}');
  expect(() => carryOut(plan, env)).toThrow(/was changed meanwhile/);
  expect([first, second].map((path) => readFileSync(path, "utf8"))).toEqual([
    "{}",
    '{"theirs": 1}',
  ]);
  expect(existsSync(receipts)).toBe(false);
  const again = await planInstall(filesOf("claude-code"), env);
  const missing = await homeWith("cursor");
  const made = await planInstall(missing.files, missing.env);
  missing.write(missing.files[0]?.path ?? "", "{}");
  expect(() => carryOut(made, missing.env)).toThrow(/was changed meanwhile/);
  carryOut(again, env);
});

test("of two installs at once, neither forgets what the other wrote", async () => {
  const { env, filesOf, uninstall, write, receipts } = await homeWith("cursor");
  const agents = ["cursor", "gemini"] as const;
  const paths = agents.flatMap((agent) => filesOf(agent).map(({ path }) => path));
  for (const path of paths) write(path, "{}");
  const plans = await Promise.all(agents.map((agent) => planInstall(filesOf(agent), env)));
  for (const plan of plans) carryOut(plan, env);
  for (const agent of agents) await uninstall(agent);
  expect(paths.map((path) => readFileSync(path, "utf8"))).toEqual(paths.map(() => "{}"));
  expect(existsSync(receipts)).toBe(false);
});

test.skipIf(process.getuid?.() !== 0)(
  "settings of another user are refused by a sentence, and stay theirs",
  async () => {
    const { files, install, write, receipts } = await homeWith("claude-code");
    const [first, second] = files.map(({ path }) => path) as [string, string];
    write(first, "{}");
    write(second, "{}");
    chownSync(second, 12_345, 12_345);
    await expect(install()).rejects.toThrow(/belongs to another user/);
    expect([first, second].map((path) => [readFileSync(path, "utf8"), statSync(path).uid])).toEqual(
      [
        ["{}", 0],
        ["{}", 12_345],
      ],
    );
    expect(existsSync(receipts)).toBe(false);
  },
);

test("links that lead around, or through others out of the home, are refused or followed to their end", async () => {
  const { home, files, install, uninstall, receipts } = await homeWith("cursor");
  const path = files[0]?.path ?? "";
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(join(home, "b"), join(home, "a"));
  symlinkSync(join(home, "a"), join(home, "b"));
  symlinkSync(join(home, "a"), path);
  await expect(install()).rejects.toThrow(/is a link that leads/);
  expect(existsSync(receipts)).toBe(false);

  const outside = await temporaryFolder();
  const chained = await homeWith("cursor");
  const end = join(outside, "real.json");
  writeFileSync(end, "{}\n", { mode: 0o644 });
  symlinkSync(end, join(outside, "second.json"));
  symlinkSync(join(outside, "second.json"), join(chained.home, "first.json"));
  const settings = chained.files[0]?.path ?? "";
  mkdirSync(dirname(settings), { recursive: true });
  symlinkSync("../first.json", settings);
  await chained.install();
  expect(readFileSync(end, "utf8")).toContain("rkat");
  await chained.uninstall();
  expect([readFileSync(end, "utf8"), statSync(end).mode & 0o777]).toEqual(["{}\n", 0o644]);
  await uninstall().catch(() => {});
});
