import { once } from "node:events";
import { createInterface } from "node:readline";
import { OPERATIONS } from "../../src/core/operations.ts";
import type { Project } from "./rkat-process.ts";
import type { Ended } from "./warm-commands.ts";

/** What a server that was started, asked and ended said. */
export interface Asked extends Ended {
  /** Undefined when it did not start. */
  readonly pid: number | undefined;
  readonly answers: readonly string[];
}

/** What a request needs, by the end of its path. */
const QUERIES: Readonly<Record<string, string>> = {
  "/search": "?query=canary",
  "/message": "?message=1",
};

/**
 * Starts `rkat serve`, creates a session with a turn and a note, asks everything that can be read, and ends the
 * server with SIGTERM. `meanwhile` is called with its process id before it is ended.
 */
export async function askServer(
  project: Project,
  env: Readonly<Record<string, string>>,
  meanwhile: (pid: number) => void = () => {},
): Promise<Asked> {
  const { child, ended, kill } = project.start(["serve", "--port", "0"], "", env);
  const stderr = createInterface({ input: child.stderr as NodeJS.ReadableStream });
  const first = await Promise.race([once(stderr, "line"), ended.then(() => [""])]);
  const url = /http:\/\/[\d.]+:\d+/.exec(String(first[0]))?.[0];
  // A server that does not start ends by itself.
  if (!url) return { ...(await ended), pid: undefined, answers: [] };
  const answers: string[] = [];
  const ask = async (path: string, body?: unknown) => {
    const headers = { "content-type": "application/json" };
    const post = { method: "POST", headers, body: JSON.stringify(body) };
    const answer = await (await fetch(`${url}${path}`, body ? post : {})).text();
    answers.push(answer);
    return answer;
  };
  const created = await ask("/sessions", {});
  const id = /"session_id":"([^"]+)"/.exec(created)?.[1] ?? "last";
  await ask(`/sessions/${id}/messages`, { prompt: "hi" });
  await ask("/memory", { content: "a note" });
  for (const { http } of Object.values(OPERATIONS)) {
    const path = http.path.replace("{session_id}", id).replace("{knowledge_id}", "k");
    const query = QUERIES[path.slice(path.lastIndexOf("/"))] ?? "";
    if (http.method === "GET") await ask(path + query);
  }
  meanwhile(child.pid ?? 0);
  kill("SIGTERM");
  return { ...(await ended), pid: child.pid, answers };
}
