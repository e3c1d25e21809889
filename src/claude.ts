/** A session store and a memory for the Claude Agent SDK, in rkat's stores. */

import { createSessionService } from "./app/create-session-service.ts";
import { openHostService } from "./app/host-service.ts";
import {
  group,
  listOf,
  oneOf,
  requireOptions,
  stores as storesCheck,
  text,
} from "./core/options.ts";
import type { SessionService } from "./core/session-service.ts";
import type { Stores } from "./core/stores.ts";
import { type ClaudeEntry, saidInEntry } from "./hosts/claude-entries.ts";
import { type ClaudeSessionKey, RkatSessionStore } from "./hosts/claude-session-store.ts";
import { hashOf } from "./knowledge/hash-of.ts";
import { createMcpServer } from "./mcp.ts";

export type { ClaudeEntry } from "./hosts/claude-entries.ts";
export type {
  ClaudeSessionKey,
  RkatSessionStore,
} from "./hosts/claude-session-store.ts";

export interface RkatSessionStoreOptions {
  /** Such as `sqliteStores({ path })`; for one user of many, `stores.forUser(name)`. */
  readonly stores: Stores;
  /** `"log"`: no credential is stored. Entries then come back with a note in its place. Default `"memory"`. */
  readonly redact?: "memory" | "log";
}

const HOST = "claude-agent-sdk";

/**
 * A session store for `query({ prompt, options: { sessionStore } })`. What people and the model said is in
 * memory; what was said by subagents is only in the log.
 */
export function rkatSessionStore(options: RkatSessionStoreOptions): RkatSessionStore {
  const checks = { stores: storesCheck, redact: oneOf("memory", "log") };
  requireOptions("rkatSessionStore", group(checks, ["stores"]), options);
  const { stores, redact = "memory" } = options;
  const { service, recordOf, close } = openHostService(stores, { redact });
  return new RkatSessionStore({
    recordOf: (key) =>
      recordOf(
        idOf(key),
        { labels: labelsOf(key), ...(key.subpath === undefined ? {} : { memory: false }) },
        // A subagent's lines in the session's own transcript are nobody's words there.
        (entry) => {
          const said = entry as ClaudeEntry;
          const isOthers = said.isSidechain === true && key.subpath === undefined;
          return isOthers ? undefined : saidInEntry(said);
        },
      ),
    async list(of) {
      const sessions = await stores.sessions.list({ labels: labelsOf(of), includeArchived: true });
      return sessions.map(({ settings: { labels }, updated_at_ms }) => ({
        key: keyOf(labels),
        changedAtMs: updated_at_ms,
      }));
    },
    delete: (key) => service.delete({ sessionId: idOf(key) }),
    close,
  });
}

/**
 * The tools of rkat's memory in this process, for `options.mcpServers`:
 *
 *     mcpServers: { rkat: rkatMcp({ stores }) }, allowedTools: ["mcp__rkat__memory_search"]
 */
export function rkatMcp(options: RkatMcpOptions): RkatMcpServer {
  const checks = { stores: storesCheck, tools: listOf(text) };
  requireOptions("rkatMcp", group(checks, ["stores"]), options);
  const { stores, tools } = options;
  let service: SessionService | undefined;
  const instance: Connectable = {
    // Each query connects, and a server serves one connection.
    async connect(transport) {
      service ??= createSessionService({ model: "none", stores });
      const server = await createMcpServer({ service, ...(tools ? { tools } : {}) });
      await server.connect(transport);
    },
  };
  return { type: "sdk", name: "rkat", instance: instance as never };
}

export interface RkatMcpOptions {
  readonly stores: Stores;
  /** Names of tools to offer. Default: those that a coding agent needs, such as `memory_search`. */
  readonly tools?: readonly string[];
}

export interface RkatMcpServer {
  readonly type: "sdk";
  readonly name: "rkat";
  /** `never` fits the server class of each version of the SDK. Of it, the SDK calls `connect` only. */
  readonly instance: never;
}

interface Connectable {
  connect(
    transport: Parameters<Awaited<ReturnType<typeof createMcpServer>>["connect"]>[0],
  ): Promise<void>;
}

/** Readable for the session itself. Project and subagent are paths, which may be too long for an id. */
function idOf({ projectKey, sessionId, subpath }: ClaudeSessionKey): string {
  return `${HOST}:${sessionId}:${hashOf(projectKey, subpath ?? null)}`;
}

function labelsOf(key: Partial<ClaudeSessionKey>): Record<string, string> {
  const { projectKey, sessionId, subpath } = key;
  return {
    host: HOST,
    ...(projectKey === undefined ? {} : { project: projectKey }),
    ...(sessionId === undefined ? {} : { host_session: sessionId }),
    ...(subpath === undefined ? {} : { subagent: subpath }),
  };
}

function keyOf(labels: Readonly<Record<string, string>>): ClaudeSessionKey {
  const { project = "", host_session: sessionId = "", subagent: subpath } = labels;
  return { projectKey: project, sessionId, ...(subpath === undefined ? {} : { subpath }) };
}
