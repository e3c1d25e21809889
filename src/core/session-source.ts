import { shellWord } from "../text/quoting.ts";
import { given } from "./fields.ts";

export const PARENT_RELATIONS = ["fork", "subagent", "continuation"] as const;

/** The session that another one began as a part or a copy of. */
export interface ParentSession {
  /** Its `sessionId`. */
  readonly id: string;
  readonly relation: (typeof PARENT_RELATIONS)[number];
  /** The last event of its log that a fork of rkat knows of. */
  readonly event?: number;
}

/** The agent that a session was held with, and where. A session of rkat itself has the agent `rkat`. */
export interface SessionSource {
  /** The name of the agent, such as `rkat`, `claude-code` or `codex`. */
  readonly agent: string;
  /** The agent's own id for the session. */
  readonly nativeId: string;
  /** The folder that it was held in. */
  readonly project?: string;
  readonly branch?: string;
  readonly title?: string;
  readonly model?: string;
  /** ISO 8601. */
  readonly startedAt?: string;
  readonly parent?: ParentSession;
}

/** A source, and the command that opens the session in its agent, if there is one. */
export interface SourceView extends SessionSource {
  /** Ready to paste into a shell, or an address of the web. */
  readonly open?: string;
}

/** A source as the log has it. */
export interface LoggedSource {
  readonly agent: string;
  readonly native_id: string;
  readonly project?: string;
  readonly branch?: string;
  readonly title?: string;
  readonly model?: string;
  readonly started_at?: string;
  readonly parent?: ParentSession;
}

/** The agent of sessions that rkat itself held. */
export const OWN_AGENT = "rkat";

export function loggedSource({ nativeId, startedAt, ...rest }: SessionSource): LoggedSource {
  return { ...rest, native_id: nativeId, ...given({ started_at: startedAt }) };
}

/** The source of a session. One without a source was held by rkat in the project of its store. */
export function sourceView(
  source: LoggedSource | undefined,
  sessionId: string,
  project: string | undefined,
): SourceView {
  const { native_id, started_at, ...rest } = source ?? {
    agent: OWN_AGENT,
    native_id: sessionId,
    ...given({ project }),
  };
  const view = { ...rest, nativeId: native_id, ...given({ startedAt: started_at }) };
  // The store has its own sessions, wherever they were held: a worktree may be gone.
  const place = view.agent === OWN_AGENT ? { ...view, ...given({ project }) } : view;
  return { ...view, ...given({ open: openCommand(place) }) };
}

/** The command that opens a session of an agent, by its id and its folder, both quoted for a shell. */
const OPENINGS: Readonly<Record<string, (id: string, folder: string | undefined) => string>> = {
  [OWN_AGENT]: (id, folder) =>
    folder === undefined ? `rkat resume ${id}` : `rkat --dir ${folder} resume ${id}`,
  codex: (id) => `codex resume ${id}`,
  // The commands of these agents find only sessions of the folder that they run in.
  "claude-code": (id, folder) => `${changeTo(folder)}claude --resume ${id}`,
  gemini: (id, folder) => `${changeTo(folder)}gemini --resume ${id}`,
  opencode: (id, folder) => `${changeTo(folder)}opencode -s ${id}`,
  pi: (id, folder) => `${changeTo(folder)}pi --session ${id}`,
};

/** Where the sessions of an agent on the web are. */
const ADDRESSES: Readonly<Record<string, string>> = {
  chatgpt: "https://chatgpt.com/c/",
  "claude-ai": "https://claude.ai/chat/",
};

/** `--`, because the name of a folder may begin with a dash. */
function changeTo(folder: string | undefined): string {
  return folder === undefined ? "" : `cd -- ${folder} && `;
}

/**
 * How to open a session in its agent: `codex resume 0191…`, or an address of the web. Undefined for an
 * agent that rkat does not know, for a subagent of Claude Code, which has no session that could be
 * opened, and for an id that the agent would read as an option.
 */
export function openCommand({
  agent,
  nativeId,
  project,
  parent,
}: SessionSource): string | undefined {
  if (Object.hasOwn(ADDRESSES, agent))
    return `${ADDRESSES[agent]}${encodeURIComponent(nativeId.toWellFormed())}`;
  if (agent === "claude-code" && parent?.relation === "subagent") return undefined;
  const opening = Object.hasOwn(OPENINGS, agent) ? OPENINGS[agent] : undefined;
  if (nativeId.startsWith("-") || /\p{Cc}/u.test(`${nativeId}${project}`)) return undefined;
  return opening?.(shellWord(nativeId), project === undefined ? undefined : shellWord(project));
}

/** Conditions on where sessions come from. All of them must hold. */
export interface SourceConditions {
  readonly agent?: string;
  /** The folder, as the agent wrote it. */
  readonly project?: string;
  readonly branch?: string;
}

/** The same for a store, which does not know the project that it belongs to. */
export interface SourceFilter extends SourceConditions {
  /** Whether sessions without a source pass: those that rkat itself held. */
  readonly own: boolean;
}

/** The filter for conditions; undefined when there are none. `ownProject` is the project of the store. */
export function sourceFilter(
  { agent, project, branch }: SourceConditions,
  ownProject: string | undefined,
): SourceFilter | undefined {
  const conditions = given({ agent, project, branch });
  if (Object.keys(conditions).length === 0) return undefined;
  const isOwn = agent === undefined || agent === OWN_AGENT;
  const isHere = project === undefined || project === ownProject;
  return { ...conditions, own: isOwn && isHere && branch === undefined };
}

/** Whether a session with this source passes. */
export function passesSource(source: LoggedSource | undefined, filter: SourceFilter): boolean {
  if (!source) return filter.own;
  return (["agent", "project", "branch"] as const).every(
    (name) => filter[name] === undefined || filter[name] === source[name],
  );
}
