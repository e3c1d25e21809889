import { accessSync, constants, existsSync, readFileSync, statSync } from "node:fs";
import type { Command } from "commander";
import {
  examineEmbedder,
  examineIndexes,
  examineLeases,
  examineMemory,
  examineMemoryOfLog,
  examineModel,
  examineProviders,
  examineServer,
  examineSqlite,
  examineStore,
  type Finding,
  keepDamaged,
} from "../../app/examine.ts";
import { projectSessions, repairSessions } from "../../app/project-sessions.ts";
import { failedFile } from "../../coding-agents/hook-input.ts";
import { keepingProblem, namedBy, ownFolder, SET_HOME } from "../../config/config-places.ts";
import { storeNotTrusted } from "../../config/store-file.ts";
import { hasCapability, requireStore, type Workspace } from "../../config/workspace.ts";
import { messageAndHint, SessionError } from "../../core/errors.ts";
import { given } from "../../core/fields.ts";
import { writingProblem } from "../../files/make-folders.ts";
import { lookAt, lookAtFile } from "../../files/plain-files.ts";
import { shellWord } from "../../text/quoting.ts";
import { calledIn } from "../called-in.ts";
import type { CliContext } from "../cli-context.ts";
import { plural } from "../render/amounts.ts";
import { printable } from "../render/printable.ts";
import { type Style, styleFor } from "../render/style.ts";
import { printJson, printText } from "../terminal/print.ts";
import { longWork, ProgressLine } from "../terminal/progress-line.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { roomProblem } from "./disk-room.ts";
import { withMemory, workspaceOf } from "./with-service.ts";

/** `rkat doctor`: checks that rkat has everything that it needs. */
export function doctorCommand(program: Command, context: CliContext): void {
  const { terminal } = context;
  const command = program
    .command("doctor")
    .option("--online", "ask the servers of the model and of the embedder, also on other machines")
    .option("--json", "for scripts")
    .action(async ({ json, online = false }: { json?: true; online?: boolean }) => {
      const progress = new ProgressLine(terminal.stderr);
      progress.show("checking");
      const findings = await findAll(context, command, online);
      progress.clear();
      const ok = findings.every(({ state }) => state !== "wrong");
      if (!ok) context.exitCode = 1;
      if (json) return await printJson(terminal.stdout, { ok, findings });
      const style = styleFor(terminal.stdout, terminal.env);
      await printText(terminal.stdout, findings.map((one) => renderFinding(one, style)).join(""));
    });
}

/** All that is checked, with what was found. */
export async function findAll(
  context: CliContext,
  command: Command,
  online = false,
): Promise<readonly Finding[]> {
  const findings: readonly Finding[] = [
    { name: "node", state: "good", detail: process.version },
    await sqliteFinding(),
    ...(await projectFindings(context, command, online)),
  ];
  return findings.map((each) => ({ ...each, detail: calledIn(each.detail, context.rkat) }));
}

async function sqliteFinding(): Promise<Finding> {
  const { version, problem } = await examineSqlite();
  return problem === undefined
    ? { name: "sqlite", state: "good", detail: version }
    : { name: "sqlite", state: "wrong", detail: problem };
}

/** A hook works unseen, so its last failure is shown here. */
function hookFindings({ terminal }: CliContext): readonly Finding[] {
  const failed = failedFile(terminal.env);
  if (failed === undefined || !existsSync(failed)) return [];
  const detail = `the last import failed: ${readFileSync(failed, "utf8")}`;
  return [{ name: "hooks", state: "wrong", detail }];
}

async function projectFindings(
  context: CliContext,
  command: Command,
  online: boolean,
): Promise<Finding[]> {
  const { env } = context.terminal;
  const home: Finding[] = [];
  let workspace: Workspace;
  try {
    home.push(...hookFindings(context), homeFinding(env));
    workspace = await workspaceOf(context, command);
  } catch (error) {
    return [...home, { name: "config", state: "wrong", detail: SessionError.from(error).message }];
  }
  return [
    ...home,
    { name: "config", state: "good", detail: givenFiles(workspace) },
    ...workspace.notes.map((detail): Finding => ({ name: "config", state: "note", detail })),
    ...(await storesFindings(workspace, env)),
    await examineModel(workspace, { online }),
    ...(await providerFindings(workspace)),
    ...(await memoryFindings(workspace)),
    ...(await embedderFindings(workspace, online)),
  ];
}

/** The folder of your own settings and trust, or one line about what is missing on a machine without it. */
function homeFinding(env: Terminal["env"]): Finding {
  const problem = keepingProblem(env);
  if (problem === undefined) return { name: "home", state: "good", detail: ownFolder(env) ?? "" };
  const detail = `none. ${problem} So there is no configuration of your own, no trust that lasts and no user-wide store. ${SET_HOME}`;
  return namedBy(env) === undefined
    ? { name: "home", state: "note", detail }
    : { name: "home", state: "wrong", detail: `${problem} ${SET_HOME}` };
}

function givenFiles({ files }: Workspace): string {
  const there = Object.values(files).filter((file) => existsSync(file));
  return there.length > 0 ? there.join(", ") : "defaults (no config.toml)";
}

/** The store, and what memory lacks of the log in one that is sound. */
async function storesFindings(workspace: Workspace, env: Terminal["env"]): Promise<Finding[]> {
  const found = await storeFindings(workspace, env);
  if (found.some(({ state }) => state === "wrong")) return found;
  const { storeFile } = workspace.storePlace;
  if (workspace.storeAddress === undefined && existsSync(storeFile)) {
    found.push(...(await examineIndexes(storeFile)));
  }
  found.push(...(await examineLeases(workspace)));
  const [first, ...others] = await examineMemoryOfLog(workspace);
  if (first === undefined) return found;
  const more = others.length > 0 ? ` ${plural(others.length, "more is", "more are")} wrong.` : "";
  const detail = `${first}${more} \`rkat repair\` makes memory again from the log, and \`rkat memory verify\` names each.`;
  return [...found, { name: "memory of the log", state: "wrong", detail }];
}

async function storeFindings(workspace: Workspace, env: Terminal["env"]): Promise<Finding[]> {
  const { storeAddress, storePlace } = workspace;
  const { storeFile, dataFolder } = storePlace;
  if (storeAddress !== undefined) return [...(await examineServer(workspace, storeAddress))];
  if (!existsSync(storeFile)) {
    const problem = placeProblem(storePlace);
    const detail = `none yet at ${storeFile}`;
    return problem === undefined
      ? [{ name: "store", state: "good", detail }]
      : [{ name: "store", state: "wrong", detail: `${detail}. ${problem}` }];
  }
  const found = await examineStore(storeFile);
  const unwritable = found.length > 0 ? undefined : placeProblem(storePlace);
  const problems = unwritable === undefined ? found : [unwritable];
  const store: Finding =
    problems.length === 0
      ? { name: "store", state: "good", detail: storeFile }
      : { name: "store", state: "wrong", detail: `${storeFile}: ${problems.join("; ")}` };
  const trust: Finding[] = workspace.trust.store
    ? []
    : [{ name: "trust", state: "wrong", detail: messageAndHint(storeNotTrusted(storePlace, env)) }];
  if (process.platform === "win32") return [store, ...trust];
  const open = [dataFolder, storeFile].filter((path) => (statSync(path).mode & 0o077) !== 0);
  const permissions: Finding =
    open.length === 0
      ? { name: "permissions", state: "good", detail: "private to you" }
      : {
          name: "permissions",
          state: "wrong",
          detail: `other users can read ${open.join(" and ")}. Run: chmod go= ${open.map(shellWord).join(" ")}`,
        };
  return [store, ...trust, permissions];
}

/** The reason why a store cannot be made or changed, in one sentence. */
function placeProblem({
  folder,
  dataFolder,
  storeFile,
}: Workspace["storePlace"]): string | undefined {
  try {
    if (!lookAt(folder, dataFolder)) return writingProblem(folder) ?? roomProblem(folder);
    if (lookAtFile(folder, storeFile)) accessSync(storeFile, constants.R_OK | constants.W_OK);
    return writingProblem(dataFolder) ?? roomProblem(dataFolder);
  } catch (error) {
    return SessionError.from(error).message;
  }
}

/** Names variables, never their values. */
async function providerFindings(workspace: Workspace): Promise<Finding[]> {
  const model = workspace.config.get("model");
  const providers = await examineProviders(workspace);
  return providers.map((provider) => {
    const { name, package: packageName, installed, keyVariable, hasKey, lacksAddress } = provider;
    const lacks = [
      ...(installed ? [] : [`npm install ${packageName}`]),
      ...(lacksAddress === undefined ? [] : [`set ${lacksAddress}`]),
      ...(hasKey || keyVariable === undefined ? [] : [`set ${keyVariable}`]),
    ];
    const wanted = model?.startsWith(`${name}/`) === true;
    if (lacks.length > 0) {
      const state = wanted ? "wrong" : "note";
      return { name, state, detail: `to use it: ${lacks.join(", ")}` };
    }
    const key = keyVariable === undefined ? "needs no key" : `${keyVariable} is set`;
    const parts = packageName === undefined ? [key] : [packageName, key];
    // Nothing was asked of it, so nothing is known of its server.
    return { name, state: "note", detail: `can be used: ${parts.join(", ")}` };
  });
}

async function memoryFindings(workspace: Workspace): Promise<Finding[]> {
  const found = await examineMemory(workspace);
  if (!found) return [{ name: "memory", state: "note", detail: "off: memory_store = false" }];
  return "index" in found
    ? [{ name: "memory", state: "good", detail: found.index }]
    : [{ name: "memory", state: "wrong", detail: found.problem }];
}

async function embedderFindings(workspace: Workspace, online: boolean): Promise<Finding[]> {
  const found = await examineEmbedder(workspace, { online });
  if (!found) return [];
  return "id" in found
    ? [{ name: "embeddings", state: found.asked ? "good" : "note", detail: found.id }]
    : [{ name: "embeddings", state: "wrong", detail: found.problem }];
}

function renderFinding({ name, state, detail }: Finding, style: Style): string {
  const mark = { good: style.green("✓"), note: style.dim("·"), wrong: style.red("✗") }[state];
  return `${mark} ${name.padEnd(19)}${printable(detail).replaceAll("\n", "\n  ")}\n`;
}

/** `rkat repair`: makes everything again that comes from the log, and events readable that are not. It deletes nothing of the log. */
export function repairCommand(program: Command, context: CliContext): void {
  const { terminal } = context;
  const command = program
    .command("repair")
    .option("--json", "for scripts")
    .action(({ json }: { json?: true }) =>
      longWork(context, "`rkat repair` goes on where it was.", async (progress, signal) => {
        progress.show("repairing");
        const done = await repaired(context, command, signal);
        progress.clear();
        if (json) return await printJson(terminal.stdout, done);
        await terminal.stdout.write(said(done));
      }),
    );
}

interface Repaired {
  /** The damaged file as it was. */
  readonly kept?: string;
  readonly events: readonly { session_id: string; seq: number; type: string }[];
  /** Ids of the sessions whose snapshot was made again. */
  readonly snapshots: readonly string[];
  /** Not there without the memory-store capability. */
  readonly memory?: { readonly entries: number; readonly mended: readonly string[] };
  /** How many have files. Sessions of users have none. */
  readonly sessions?: number;
}

async function repaired(
  context: CliContext,
  command: Command,
  signal: AbortSignal,
): Promise<Repaired> {
  const workspace = await workspaceOf(context, command);
  requireStore(workspace);
  const kept = await keepDamaged(workspace);
  try {
    return { ...given({ kept }), ...(await remade(context, command, { workspace, signal })) };
  } catch (error) {
    if (kept === undefined || signal.aborted) throw error;
    const { code, message, hint } = SessionError.from(error);
    throw new SessionError(code, {
      message,
      hint: `${hint} ${keptAs(kept)}`.trimStart(),
      cause: error,
    });
  }
}

async function remade(
  context: CliContext,
  command: Command,
  { workspace, signal }: { readonly workspace: Workspace; readonly signal: AbortSignal },
): Promise<Repaired> {
  // Events first: the rest is made from them.
  const { events: readable, snapshots } = await repairSessions(workspace);
  const events = readable.map(({ sessionId, seq, type }) => ({ session_id: sessionId, seq, type }));
  signal.throwIfAborted();
  let memory: Repaired["memory"];
  if (hasCapability(workspace.config, "memory-store")) {
    await withMemory(context, command, async (operations) => {
      const { mended } = await operations.reindex({ signal });
      const { entries } = await operations.memoryStats({});
      memory = { entries, mended };
    });
  }
  signal.throwIfAborted();
  const keepsFiles = workspace.user === undefined && existsSync(workspace.storePlace.dataFolder);
  if (!keepsFiles) return { events, snapshots, ...given({ memory }) };
  const { sessions } = await projectSessions(workspace);
  return { events, snapshots, ...given({ memory }), sessions };
}

function said({ kept, events, snapshots, memory, sessions }: Repaired): string {
  const lines = events.map(({ session_id, seq, type }) => {
    const what = type === "event_lost" ? "nothing of it could be kept" : `is ${type} again`;
    return `Event ${seq} of session ${session_id}: ${what}.`;
  });
  for (const id of snapshots) lines.push(`Made the snapshot of session ${printable(id)} again.`);
  for (const problem of memory?.mended ?? []) lines.push(`Mended: ${printable(problem)}`);
  lines.push("Every event can be read.");
  if (memory)
    lines.push(`Memory has what the log has: ${plural(memory.entries, "entry", "entries")}.`);
  if (sessions !== undefined)
    lines.push(`Wrote the files of ${plural(sessions, "session")} again.`);
  lines.push("What the project learned stays as it is, because the log does not have all of it.");
  if (kept !== undefined) lines.push(keptAs(kept));
  return `${lines.join("\n")}\n`;
}

function keptAs(copy: string): string {
  return `The damaged store is kept as ${copy}. What you forget later stays in it: delete it once nothing is missing.`;
}
