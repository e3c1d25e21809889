import { existsSync, readFileSync, statSync } from "node:fs";
import type { Command } from "commander";
import { storeNotTrusted, type Workspace } from "../../../config/workspace.ts";
import { SessionError } from "../../../core/errors.ts";
import type { CliContext, Engine, Finding } from "../cli-context.ts";
import { printable } from "../render/printable.ts";
import { type Style, styleFor } from "../render/style.ts";
import { printJson } from "../terminal/print.ts";
import { ProgressLine } from "../terminal/progress-line.ts";
import { failedFile } from "./hook-command.ts";
import { workspaceOf } from "./with-service.ts";

/** `rkat doctor`: checks that rkat has what it needs. */
export function doctorCommand(program: Command, context: CliContext): void {
  const { terminal, engine } = context;
  const command = program
    .command("doctor")
    .description("check that rkat can work here")
    .option("--json", "for scripts")
    .action(async ({ json }: { json?: true }) => {
      const progress = new ProgressLine(terminal.stderr);
      progress.show("checking");
      const findings = [
        { name: "node", state: "good", detail: process.version } as const,
        await sqliteFinding(engine),
        ...hookFindings(context),
        ...(await projectFindings(context, command)),
      ];
      progress.clear();
      const ok = findings.every(({ state }) => state !== "wrong");
      if (!ok) context.exitCode = 1;
      if (json) return await printJson(terminal.stdout, { ok, findings });
      const style = styleFor(terminal.stdout, terminal.env);
      await terminal.stdout.write(findings.map((one) => renderFinding(one, style)).join(""));
    });
}

async function sqliteFinding(engine: Engine): Promise<Finding> {
  const { version, problem } = await engine.examineSqlite();
  return problem === undefined
    ? { name: "sqlite", state: "good", detail: version }
    : { name: "sqlite", state: "wrong", detail: problem };
}

/** A hook works unseen, so its last failure is shown here. */
function hookFindings({ terminal }: CliContext): readonly Finding[] {
  const failed = failedFile(terminal.env);
  if (!existsSync(failed)) return [];
  const detail = `the last import failed: ${readFileSync(failed, "utf8")}`;
  return [{ name: "hooks", state: "wrong", detail }];
}

async function projectFindings(context: CliContext, command: Command): Promise<Finding[]> {
  let workspace: Workspace;
  try {
    workspace = await workspaceOf(context, command);
  } catch (error) {
    return [{ name: "config", state: "wrong", detail: SessionError.from(error).message }];
  }
  return [
    { name: "config", state: "good", detail: givenFiles(workspace) },
    ...workspace.notes.map((detail): Finding => ({ name: "config", state: "note", detail })),
    ...(await storeFindings(context.engine, workspace)),
    modelFinding(workspace),
    ...(await providerFindings(context.engine, workspace)),
    ...(await memoryFindings(context.engine, workspace)),
    ...(await embedderFindings(context.engine, workspace)),
  ];
}

function givenFiles({ files }: Workspace): string {
  const there = Object.values(files).filter((file) => existsSync(file));
  return there.length > 0 ? there.join(", ") : "defaults (no config.toml)";
}

async function storeFindings(engine: Engine, workspace: Workspace): Promise<Finding[]> {
  const { storeAddress, storeFile, dataFolder } = workspace;
  if (storeAddress !== undefined) return [...(await engine.examineServer(workspace, storeAddress))];
  if (!existsSync(storeFile)) {
    return [{ name: "store", state: "good", detail: `none yet at ${storeFile}` }];
  }
  const problems = await engine.examineStore(storeFile);
  const store: Finding =
    problems.length === 0
      ? { name: "store", state: "good", detail: storeFile }
      : { name: "store", state: "wrong", detail: `${storeFile}: ${problems.join("; ")}` };
  const { message, hint } = storeNotTrusted(workspace);
  const trust: Finding[] = workspace.trust.store
    ? []
    : [{ name: "trust", state: "wrong", detail: `${message} ${hint}` }];
  if (process.platform === "win32") return [store, ...trust];
  const open = [dataFolder, storeFile].filter((path) => (statSync(path).mode & 0o077) !== 0);
  const permissions: Finding =
    open.length === 0
      ? { name: "permissions", state: "good", detail: "private to you" }
      : {
          name: "permissions",
          state: "wrong",
          detail: `other users can read ${open.join(" and ")}. Run: chmod go= ${open.join(" ")}`,
        };
  return [store, ...trust, permissions];
}

function modelFinding({ config }: Workspace): Finding {
  const model = config.get("model");
  return model === undefined
    ? { name: "model", state: "note", detail: "none is set. Name one with -m, or set `model`" }
    : { name: "model", state: "good", detail: model };
}

/** Names variables, never their values. */
async function providerFindings(engine: Engine, workspace: Workspace): Promise<Finding[]> {
  const model = workspace.config.get("model");
  const providers = await engine.providers(workspace);
  return providers.map(({ name, package: packageName, installed, keyVariable, hasKey }) => {
    const lacks = [
      ...(installed ? [] : [`npm install ${packageName}`]),
      ...(hasKey || keyVariable === undefined ? [] : [`set ${keyVariable}`]),
    ];
    const wanted = model?.startsWith(`${name}/`) === true;
    if (lacks.length > 0) {
      const state = wanted ? "wrong" : "note";
      return { name, state, detail: `to use it: ${lacks.join(", ")}` };
    }
    const key = keyVariable === undefined ? "needs no key" : `${keyVariable} is set`;
    return { name, state: "good", detail: `${packageName}, ${key}` };
  });
}

async function memoryFindings(engine: Engine, workspace: Workspace): Promise<Finding[]> {
  const found = await engine.examineMemory(workspace);
  if (!found) return [{ name: "memory", state: "note", detail: "off: memory_store = false" }];
  return "store" in found
    ? [{ name: "memory", state: "good", detail: `store = "${found.store}"` }]
    : [{ name: "memory", state: "wrong", detail: found.problem }];
}

async function embedderFindings(engine: Engine, workspace: Workspace): Promise<Finding[]> {
  const found = await engine.examineEmbedder(workspace);
  if (!found) return [];
  return "id" in found
    ? [{ name: "embeddings", state: "good", detail: found.id }]
    : [{ name: "embeddings", state: "wrong", detail: found.problem }];
}

function renderFinding({ name, state, detail }: Finding, style: Style): string {
  const mark = { good: style.green("✓"), note: style.dim("·"), wrong: style.red("✗") }[state];
  return `${mark} ${name.padEnd(19)}${printable(detail).replaceAll("\n", "\n  ")}\n`;
}
