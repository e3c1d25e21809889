import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import { newId } from "../../src/core/ids.ts";
import type { SessionService } from "../../src/index.ts";
import { sqliteStores } from "../../src/sqlite.ts";
import { BUILDS, type ScriptedReply } from "../../src/testing.ts";
import { RKAT } from "../support/built-package.ts";
import { ClaudeLines } from "../support/claude-lines.ts";
import { Project } from "../support/rkat-process.ts";
import { scriptedService } from "../support/scripted-service.ts";
import { execFileSync, spawn } from "../support/start-process.ts";
import { LONG } from "../support/trials.ts";
import { launch } from "./browser.ts";

/** What somebody writes who wants the page to run it, to hide something, or to send something away. */
export const HOSTILE = `<img src="https://evil.example/x.png" onerror="window.hacked=1"><script>window.hacked=2</script> [a](javascript:window.hacked=3) \u202Egnp.exe\u202C \u001b[31mred ${"<b>".repeat(50)}`;

/** A made-up one. */
export const SECRET = `ghp_${"aB3dE5gH7j".repeat(4).slice(0, 36)}`;

export const EVENTS = LONG ? 50_000 : 5_000;

const TALK = "The quick brown fox considers the merits of jumping over the lazy dog. ".repeat(40);

const REPLIES: readonly ScriptedReply[] = [
  {
    reasoning: "It wants the port.",
    text: "I look it up.",
    toolCalls: [
      { id: "a", name: "memory_search", args: { query: "port of staging" } },
      {
        id: "b",
        name: "edit_file",
        args: { path: "app.ts", old_string: "port 80", new_string: "port 7443" },
      },
    ],
  },
  { text: `Staging listens on port 7443. ${TALK}`, usage: { input_tokens: 900 } },
  { text: `The owner of the parcel index is Mara. ${TALK}`, usage: { input_tokens: 2100 } },
  { text: TALK, usage: { input_tokens: 2600 } },
  { text: TALK, usage: { input_tokens: 2600 } },
  { text: "It is 7443, as I said.", usage: { input_tokens: 1500 } },
  {
    toolCalls: ["the first", "the second"].map((query) => ({
      id: query,
      name: "memory_search",
      args: { query, session: `${"x".repeat(5_000)} its end` },
    })),
  },
];

export interface Inspected {
  readonly talk: string;
  readonly hostile: string;
  readonly long: string;
  /** Two of its calls wait for approval. */
  readonly waiting: string;
  /** A session of Claude Code, which compacted it. */
  readonly imported: string;
}

/** A session with everything, which compacts early and without a model. */
export const COMPACTING = {
  capabilities: BUILDS.F ?? [],
  compaction: {
    autoCompactThreshold: 3000,
    recentTurnBudget: 1,
    minTurnsBetweenCompactions: 1,
    summarizer: "fallback",
  },
} as const;

/** Fills a project with a talk that was compacted, a hostile one, and one of many events. */
export async function fill(project: Project): Promise<Inspected> {
  const stores = sqliteStores({ path: join(project.folder, ".rkat", "rkat.db") });
  const setup = {
    ...COMPACTING,
    replies: REPLIES,
    approvals: { timeoutMs: 1 },
  } as const;
  const { service, close } = scriptedService(project.folder, setup, stores);
  const talk = await say(service, [
    "On which port does staging listen? Never guess it.",
    `Who owns the parcel index? My token is ${SECRET}`,
    "Tell me of the fox.",
    "Tell me of the dog.",
    "And which port was it?",
  ]);
  const { sessionId: waiting } = await service.createSession({
    approvals: { memory_search: "ask" },
  });
  await service.startTurn({ sessionId: waiting, prompt: "Look twice." });
  const { sessionId: hostile } = await service.createSession({
    labels: { topic: HOSTILE.slice(0, 200) },
  });
  await service.appendMessages({
    sessionId: hostile,
    messages: [
      { role: "user", content: HOSTILE },
      { role: "assistant", content: "x".repeat(5_000_000) },
    ],
  });
  // No other session has it, so one forgets it alone.
  await say(service, ["The kiosk sells stamps."]);
  for (const content of ["Always use npm.", "Never use npm.", "Write short commits."]) {
    await service.addKnowledge({ content });
  }
  await service.addMemory({ content: "The harbour office opens at nine." });
  const { sessionId: long } = await service.createSession({ memory: false });
  let seq = (await service.read({ sessionId: long })).seq;
  for (let at = 0; at < EVENTS; at += 5000) {
    const events = Array.from({ length: 5000 }, (_, index) => ({
      event_id: newId(),
      timestamp_ms: 1_700_000_000_000 + (at + index) * 1000,
      event: {
        type: "message_added" as const,
        message: { role: "user" as const, content: `Message ${at + index + 1}` },
      },
    }));
    seq = await stores.events.append(long, seq, events as never);
  }
  await close();
  return { talk, hostile, long, waiting, imported: importTalk(project) };
}

const CLAUDES = "0f3c2b1a-1111-4222-8333-444455556666";

/** Imports a session of Claude Code with a compaction whose summary lacks most of what was said. */
function importTalk(project: Project): string {
  const lines = new ClaudeLines(CLAUDES)
    .user("Staging listens on port 9443.")
    .text("a", "I look into src/ports.ts first.")
    .call("b", "t", "Bash", { command: "cat budget.toml" })
    .result("t", "retry_budget = 17")
    .user("The kettle is broken.");
  const logicalParentUuid = lines.last;
  lines
    .goTo(null)
    .add("system", { subtype: "compact_boundary", logicalParentUuid })
    .user("They said: Staging listens on port 9443. The file is src/ports.ts.", {
      isCompactSummary: true,
    })
    .user("Go on.");
  const file = project.write(`${CLAUDES}.jsonl`, String(lines));
  const args = [RKAT, "import", "claude-code", file, "--scope", "project", "--yes"];
  execFileSync(process.execPath, args, { cwd: project.folder, env: project.env, stdio: "ignore" });
  return `claude-code:${CLAUDES}`;
}

async function say(service: SessionService, prompts: readonly string[]): Promise<string> {
  const { sessionId } = await service.createSession({});
  for (const prompt of prompts) await service.startTurn({ sessionId, prompt });
  return sessionId;
}

/** Starts the command, and returns the link that it prints. */
export async function inspect(project: Project, args: readonly string[]) {
  const child = spawn(process.execPath, [RKAT, "inspect", "--no-open", ...args], {
    cwd: project.folder,
    env: project.env,
    stdio: ["ignore", "ignore", "pipe"],
  });
  let printed = "";
  for await (const line of createInterface({ input: child.stderr })) {
    printed += line;
    const link = /http:\S+/.exec(line)?.[0];
    if (link) return { link, end: () => void child.kill("SIGKILL") };
  }
  throw new Error(`It did not start: ${printed}`);
}

/** What the tests of a group share: a browser, the link of a page that may write, and what `fillProject` made. */
export interface Shared<T> {
  browser: Browser;
  link: string;
  made: T;
}

/** Opens that before the tests of the group, and closes it after them. */
export function shareForGroup<T>(fillProject: (project: Project) => Promise<T>): Shared<T> {
  const shared = {} as Shared<T>;
  const root = mkdtempSync(join(tmpdir(), "rkat-page-"));
  let end = () => {};
  beforeAll(async () => {
    const project = await Project.open({ root });
    shared.made = await fillProject(project);
    const [browser, server] = await Promise.all([launch(), inspect(project, ["--write"])]);
    Object.assign(shared, { browser, link: server.link });
    end = server.end;
  }, 120_000);
  afterAll(async () => {
    end();
    await shared.browser?.close();
    rmSync(root, { recursive: true, force: true, maxRetries: 5 });
  });
  return shared;
}
