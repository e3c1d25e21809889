import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { type Command, Option } from "commander";
import { withoutForgotten } from "../../app/read-stored.ts";
import { homeFolder } from "../../config/config-places.ts";
import { folderForImport, openWorkspace, type Workspace } from "../../config/workspace.ts";
import { SessionError } from "../../core/errors.ts";
import { isTransient } from "../../core/event.ts";
import { given } from "../../core/fields.ts";
import { indexableText, type Message } from "../../core/message.ts";
import { MessageAssembler } from "../../core/message-assembler.ts";
import { refusalsIn } from "../../core/refusal.ts";
import type { SessionService } from "../../core/session-service.ts";
import { openCommand } from "../../core/session-source.ts";
import { NO_TASK, type TaskRecord } from "../../core/task.ts";
import type { HandoffMessage, HandoffSource } from "../../handoff/handoff-source.ts";
import { type Handoff, type HandoffReport, writeHandoff } from "../../handoff/write-handoff.ts";
import { readSession } from "../../import/read-sessions.ts";
import { shellWord } from "../../text/quoting.ts";
import type { CliContext } from "../cli-context.ts";
import { plural, thousands } from "../render/amounts.ts";
import { printable } from "../render/printable.ts";
import { renderFacts, type Style, styleFor } from "../render/style.ts";
import { printJson } from "../terminal/print.ts";
import { writeNew } from "../terminal/write-new.ts";
import { findExisting, requireName } from "./find-session.ts";
import { sessionIn } from "./find-transcript.ts";
import { countFlag } from "./flags.ts";
import { withService, workspaceOf } from "./with-service.ts";

interface HandoffFlags {
  readonly to: "markdown" | "claude-code" | "codex";
  readonly maxTokens: number;
  readonly output?: string;
  readonly session?: string;
  readonly json?: true;
}

const TOKENS_DEFAULT = 8000;
const TOKENS_MAX = 1_000_000;

/** A longer text does not fit into one argument of a command on Linux. */
const ARGUMENT_BYTES_MAX = 100_000;

/** The maximum length of a session's id in the name of a file. */
const ID_IN_NAME_MAX = 120;

const PROGRAMS = { "claude-code": "claude", codex: "codex" } as const;

/** `rkat handoff`. Needs no model, and stores nothing. */
export function handoffCommand(program: Command, context: CliContext): void {
  const { terminal } = context;
  const command = program
    .command("handoff")
    .argument("<session>", "a session of this project or the user-wide store, or a transcript file")
    .addOption(
      new Option("--to <agent>", "the agent that continues")
        .choices(["markdown", "claude-code", "codex"])
        .default("markdown"),
    )
    .option("--max-tokens <n>", "limit of tokens", countFlag(TOKENS_MAX, 1), TOKENS_DEFAULT)
    .option(
      "-o, --output <file>",
      "write to this file, which must not exist; - for standard output",
    )
    .option("--session <id>", "the session of a file that has several")
    .option("--json", "for scripts")
    .action(async (name: string, flags: HandoffFlags) => {
      requireName(name);
      const path = resolve(terminal.cwd, name);
      if (flags.session !== undefined && !existsSync(path)) throw noFile(path);
      const source = existsSync(path)
        ? await sourceOfFile(path, flags.session, context, command)
        : await sourceOfStored(name, context, command);
      const handoff = writeHandoff(source, flags.maxTokens);
      await show(handoff, source, flags, context);
    });
}

function noFile(path: string): SessionError {
  return new SessionError("INVALID_PARAMS", {
    message: `--session is for a file with several sessions, and ${path} is none.`,
    hint: "Name the session alone, or the file.",
  });
}

/** A session of this project, or of the user-wide store, where an import may have put it. */
export async function sourceOfStored(
  name: string,
  context: CliContext,
  command: Command,
): Promise<HandoffSource> {
  const find = (service: SessionService) => sourceOfSession(service, name, context);
  try {
    return await withService(context, command, find);
  } catch (error) {
    if (!SessionError.is(error) || error.code !== "SESSION_NOT_FOUND") throw error;
    return await withService(context, command, find, { scope: "user" }).catch(() => {
      throw error;
    });
  }
}

/** A session of the log, compactions undone. */
async function sourceOfSession(
  service: SessionService,
  name: string,
  { rkat }: CliContext,
): Promise<HandoffSource> {
  const sessionId = await findExisting(service, name);
  const { seq: lastSeq, source } = await service.read({ sessionId });
  const assembler = new MessageAssembler();
  const messages: HandoffMessage[] = [];
  let task: TaskRecord = NO_TASK;
  let taskAt = 0;
  for await (const { event_id, seq, timestamp_ms, payload } of service.subscribe({
    sessionId,
    afterSeq: 0,
  })) {
    if (isTransient(payload)) continue;
    if (payload.type === "task_updated") {
      task = { ...task, ...payload.changed };
      taskAt = seq;
    }
    const event = { event_id, seq, timestamp_ms, schema_version: 1 as const, event: payload };
    const completed = assembler.push(event);
    if (completed) {
      const { id, message, origin } = completed;
      messages.push({ at: id, message, denied: refusalsIn(message), ...given({ origin }) });
    }
    if (seq >= lastSeq) break;
  }
  const tasks = Map.groupBy(task.sub_tasks, ({ done }) => done);
  const tasksThat = (are: boolean) => (tasks.get(are) ?? []).map(({ text }) => text);
  const { agent, project, branch, title, parent } = source;
  return {
    agent,
    id: sessionId,
    ...given({ project, branch, title, parent }),
    messages,
    ...(taskAt > 0
      ? {
          task: { goal: task.goal, open: tasksThat(false), done: tasksThat(true), at: taskAt },
        }
      : {}),
    search: [
      ...searchesOf(sessionId, rkat),
      ...parentSearch(parent, rkat),
      ...openingOf(source.open),
    ],
  };
}

/** A session of a transcript that need not be imported. */
async function sourceOfFile(
  path: string,
  id: string | undefined,
  context: CliContext,
  command: Command,
): Promise<HandoffSource> {
  const { terminal, rkat } = context;
  const found = await sessionIn(path, id, terminal);
  const { session } = found;
  const { messages: read } = await readSession(found);
  // The transcript still has the texts that were forgotten here, in the user-wide store, or in the session's project.
  let kept: readonly Message[] = read.map(({ message }) => message);
  for (const workspace of await workspacesOf(session.project, context, command)) {
    kept = await withoutForgotten(workspace, session.id, kept);
  }
  const messages = read.map((each, index) => ({ ...each, message: kept[index] ?? each.message }));
  const isTitleKept = read.every(
    ({ message }, index) =>
      kept[index] === message || !indexableText(message).includes(session.title ?? ""),
  );
  const { agent, project, branch, parent } = session;
  const title = isTitleKept ? session.title : undefined;
  return {
    agent,
    id: session.id,
    ...given({ project, branch, title, parent }),
    messages: messages.map(({ message, origin }, index) => ({
      at: index + 1,
      message,
      denied: refusalsIn(message),
      ...given({ origin }),
    })),
    search: [
      `Once, so that it can be searched: ${rkat} import ${shellWord(path)}`,
      ...searchesOf(session.id, rkat),
      ...parentSearch(parent, rkat),
      ...openingOf(openCommand({ ...session })),
    ],
  };
}

/** Stores where texts of a session may have been forgotten. */
async function workspacesOf(
  project: string | undefined,
  context: CliContext,
  command: Command,
): Promise<readonly Workspace[]> {
  const { env } = context.terminal;
  const here = await workspaceOf(context, command);
  const folder = await folderForImport(project, env);
  const others = [
    ...(homeFolder(env) === undefined ? [] : [await workspaceOf(context, command, "user")]),
    ...(folder === undefined ? [] : [await openWorkspace({ cwd: folder, env }, folder)]),
  ];
  const byFile = new Map([here, ...others].map((each) => [each.storeFile, each]));
  return [...byFile.values()];
}

function searchesOf(id: string, rkat: string): readonly string[] {
  const request = { query: "what you look for", session_id: id };
  return [
    `${rkat} memory search "what you look for" --session ${shellWord(id)}`,
    `${rkat} history search "exact words of a tool's output" --session ${shellWord(id)}`,
    `The MCP tool memory_search of rkat: ${JSON.stringify(request)}`,
  ];
}

function parentSearch(parent: HandoffSource["parent"], rkat: string): readonly string[] {
  if (!parent) return [];
  return [
    `What was said before this session: ${rkat} memory search "what you look for" --session ${shellWord(parent.id)}`,
  ];
}

function openingOf(open: string | undefined): readonly string[] {
  return open === undefined ? [] : [`The session in its own agent: ${open}`];
}

async function show(
  { text, report }: Handoff,
  { id, agent, project }: HandoffSource,
  { to, output, json }: HandoffFlags,
  { terminal }: CliContext,
): Promise<void> {
  const isPrompt = to !== "markdown";
  const named =
    output ?? (isPrompt ? `handoff-${id.replace(/[^\w-]/g, "-").slice(-ID_IN_NAME_MAX)}.md` : "-");
  const file = named === "-" ? undefined : resolve(terminal.cwd, named);
  if (file !== undefined) writeNew(file, text);
  const start = isPrompt && file !== undefined ? startCommand(to, file, text, project) : undefined;
  const { messages, tokens, tokensMax, quotes, lastMessages, names, redacted } = report;
  if (json) {
    return await printJson(terminal.stdout, {
      session_id: id,
      agent,
      to,
      file: file ?? null,
      start: start ?? null,
      ...(file === undefined ? { text } : {}),
      messages,
      tokens,
      max_tokens: tokensMax,
      quotes,
      last_messages: lastMessages,
      names,
      redacted,
    });
  }
  if (file === undefined) await terminal.stdout.write(text);
  const { stdout, stderr, env } = terminal;
  const beside = file === undefined ? stderr : stdout;
  // A document that goes to the screen needs no report below it.
  if (file === undefined && stdout.isTerminal) return;
  await beside.write(renderHandoff(report, { file, start, to }, styleFor(beside, env)));
}

/** The command line that starts the agent with the text as its first prompt. */
function startCommand(
  to: keyof typeof PROGRAMS,
  file: string,
  text: string,
  project: string | undefined,
): string {
  const folder =
    project !== undefined && existsSync(project) ? `cd -- ${shellWord(project)} && ` : "";
  const prompt =
    Buffer.byteLength(text) <= ARGUMENT_BYTES_MAX
      ? `"$(cat -- ${shellWord(file)})"`
      : shellWord(`Read ${file} and continue the work that it describes.`);
  return `${folder}${PROGRAMS[to]} ${prompt}`;
}

const AGENTS = { "claude-code": "Claude Code", codex: "Codex", markdown: "" } as const;

/** The report of a handoff: its size, what it lost, and how to start the next agent with it. */
export function renderHandoff(
  { messages, tokens, tokensMax, quotes, lastMessages, names, redacted }: HandoffReport,
  {
    file,
    start,
    to,
  }: {
    readonly file: string | undefined;
    readonly start: string | undefined;
    readonly to: keyof typeof AGENTS;
  },
  style: Style,
): string {
  const secrets = Object.entries(redacted).map(([kind, count]) => `${kind} ${thousands(count)}`);
  const sections = Object.entries(quotes).map(([title, count]) => `${title} ${count}`);
  const lost = names.found - names.kept;
  const facts = renderFacts(
    [
      ["wrote", file && style.bold(printable(file))],
      ["size", `${thousands(tokens)} of at most ${thousands(tokensMax)} tokens`],
      [
        "from",
        `${plural(messages, "message")}, the last ${thousands(lastMessages)} in full or shortened`,
      ],
      ["quotes", sections.join(", ")],
      ["names kept", `${thousands(names.kept)} of ${thousands(names.found)}`],
      ["left out", lost > 0 ? printable(leftOut(names.lost, lost)) : undefined],
      ["redacted", secrets.length > 0 ? printable(secrets.join(", ")) : undefined],
    ],
    style,
  );
  if (start === undefined) return facts;
  return `${facts}
${AGENTS[to]} cannot open a session of another agent. Start a new one with the text as its first prompt:

  ${style.cyan(printable(start))}
`;
}

function leftOut(lost: readonly string[], count: number): string {
  const named = lost.slice(0, 5).join(", ");
  return count > 5 ? `${named} and ${thousands(count - 5)} more` : named;
}
