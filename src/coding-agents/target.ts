import { systemHome } from "../files/make-folders.ts";
import type { AgentFile } from "./installation.ts";
import type { JsonEdit } from "./json-text.ts";

export const SCOPES = ["user", "project"] as const;

export type Scope = (typeof SCOPES)[number];

/** The folders to install into, and the command by which the agents start rkat. */
export interface Target {
  readonly scope: Scope;
  /** The project, for the scope `project`. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The command line of rkat, with absolute paths. */
  readonly command: readonly string[];
}

export function json(edits: readonly JsonEdit[], comments?: true): AgentFile["content"] {
  return { kind: "json", edits, ...(comments ? { comments } : {}) };
}

export function mcpServer(target: Target) {
  const [command = "", ...rest] = target.command;
  return { command, args: [...rest, ...mcpArguments(target)] };
}

/** A server of one project names it. Others take the one that the agent works in. */
export function mcpArguments({ scope, folder }: Target): readonly string[] {
  return scope === "project" ? ["mcp", "--dir", folder] : ["mcp"];
}

export function rootOf({ scope, folder, env }: Target): string {
  return scope === "project" ? folder : systemHome(env);
}
