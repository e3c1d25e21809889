import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { CODING_AGENTS, type CodingAgentName } from "./agents.ts";
import { carryOut, planInstall, planUninstall } from "./installation.ts";
import { OTHER_AGENTS } from "./other-agents.ts";

function temporaryHome(): string {
  const folder = mkdtempSync(join(tmpdir(), "rkat-install-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const home = join(folder, "ada");
  mkdirSync(home);
  return home;
}

test.each(["null", "[]", '"x"', '{"/a": null}', '{"/a": {"sha256": "x"}}'])(
  "a list of what is installed that is no such list is damaged: %s",
  async (text) => {
    const HOME = temporaryHome();
    mkdirSync(join(HOME, ".config", "rkat"), { recursive: true });
    writeFileSync(join(HOME, ".config", "rkat", "installed.json"), text);
    await expect(planUninstall([], { HOME })).rejects.toThrow("installed.json is damaged");
  },
);

test("a folder of settings beside the home, whose name begins like the home, is no folder below it", async () => {
  const HOME = temporaryHome();
  const env = { HOME, XDG_CONFIG_HOME: `${HOME}-config` };
  const target = { scope: "user", folder: HOME, env, command: ["node", "rkat.js"] } as const;
  const files = OTHER_AGENTS.zed.files(target);
  carryOut(await planInstall(files, env), env);
  const { changes } = await planUninstall(files, env);
  expect(changes[0]?.before).toContain("rkat.js");
});

test("twelve agents use memory without being asked: by a hook, a plugin, or a rule that they read before each task", () => {
  const HOME = temporaryHome();
  const target = {
    scope: "user",
    folder: HOME,
    env: { HOME },
    command: ["node", "/rkat.js"],
  } as const;
  const written = (name: CodingAgentName) =>
    CODING_AGENTS[name].files(target).map(({ path, content }) => [path, JSON.stringify(content)]);
  const asks =
    /"hook |\bhook (?:SessionStart|UserPromptSubmit)|rkatPlugin|rkatExtension|call memory_search/;
  const names = (Object.keys(CODING_AGENTS) as CodingAgentName[]).filter((name) =>
    written(name).some(([, text]) => asks.test(text ?? "")),
  );
  expect(names.length).toBeGreaterThanOrEqual(12);

  const ruleOf = (name: CodingAgentName) =>
    written(name).filter(([, text]) => text?.includes("call memory_search"));
  // These read a file for all files only if it says so.
  for (const name of ["copilot", "vscode"] as const) {
    expect(ruleOf(name)).toEqual([
      [
        expect.stringMatching(/rkat\.instructions\.md$/),
        expect.stringContaining('---\\napplyTo: \\"**\\"\\n---\\n'),
      ],
    ]);
  }
  const [rule = ""] = ruleOf("crush")[0] ?? [];
  expect(JSON.stringify(written("crush")[0])).toContain(rule);
});
