import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { NewEvent } from "../../src/core/event.ts";
import { newId } from "../../src/core/ids.ts";
import { createSessionService, SessionError } from "../../src/index.ts";
import { serveRest } from "../../src/rest.ts";
import { type SqliteStores, sqliteStores } from "../../src/sqlite.ts";
import { scriptedModel } from "../../src/testing/scripted-model.ts";
import { expectWarning } from "../support/expect-warning.ts";
import { temporaryFolder } from "../support/obey.ts";
import { execFileSync } from "../support/start-process.ts";

const GONE = { code: "SESSION_STORE_ERROR", message: /was removed or replaced/ } as const;

const STARTED: NewEvent = {
  event_id: "e",
  timestamp_ms: 1,
  event: { type: "turn_started", turn_number: 0 },
};

/** One commit through each store. */
const COMMITS: Readonly<Record<string, (stores: SqliteStores) => Promise<unknown>>> = {
  events: (stores) => stores.events.append(newId(), 0, [STARTED]),
  memory: (stores) =>
    stores.memory.add([
      { id: newId(), content: "The otter sleeps.", sessionId: "s", turn: 0, kind: "message" },
    ]),
  knowledge: (stores) => stores.knowledge.markUsed([], "2026-01-01T00:00:00.000Z"),
  sessions: (stores) => stores.sessions.acquire("k", { id: newId(), host: "h", pid: 1 }, 1000),
  approvals: (stores) => stores.approvals.remove({ approvalIds: ["a"] }),
};

/** What happens to the files while they are open. */
const LOSSES: Readonly<Record<string, (file: string) => void>> = {
  "the file is removed": (file) => rmSync(file),
  "the file is moved away": (file) => renameSync(file, `${file}.away`),
  "the file is replaced by a copy": (file) => {
    copyFileSync(file, `${file}.copy`);
    renameSync(`${file}.copy`, file);
  },
  "the log beside it is removed": (file) => rmSync(`${file}-wal`),
  "the index of the log is removed": (file) => rmSync(`${file}-shm`),
  "everything is removed": (file) => rmSync(join(file, ".."), { recursive: true }),
};

describe.each(["main", "worker"] as const)("in the %s thread", (thread) => {
  test.each(Object.keys(LOSSES))(
    "when %s, no store says that it stored something",
    async (loss) => {
      const path = join(await temporaryFolder(), ".rkat", "rkat.db");
      const stores = sqliteStores({ path, thread });
      onTestFinished(() => stores.close());
      for (const commit of Object.values(COMMITS)) await commit(stores);
      LOSSES[loss]?.(path);
      for (const [name, commit] of Object.entries(COMMITS)) {
        const failure = await commit(stores).catch(SessionError.from);
        expect(failure, name).toMatchObject({ code: GONE.code });
        expect((failure as SessionError).message, name).toMatch(GONE.message);
        expect((failure as SessionError).hint).toMatch(/Stop this process/);
      }
    },
  );
});

test("what was in the store can still be read from it", async () => {
  const path = join(await temporaryFolder(), "rkat.db");
  const stores = sqliteStores({ path });
  await COMMITS.memory?.(stores);
  rmSync(path);
  expect(await stores.memory.search({ query: "otter", limit: 1 })).toHaveLength(1);
  await stores.close();
});

test("a thread that is started later makes no new store in the place of the lost one", async () => {
  const path = join(await temporaryFolder(), "rkat.db");
  const stores = sqliteStores({ path });
  onTestFinished(() => stores.close());
  await COMMITS.memory?.(stores);
  rmSync(path);
  await expect(stores.memory.verify()).rejects.toMatchObject({ code: GONE.code });
  await expect(stores.memory.reindex()).rejects.toMatchObject({ code: GONE.code });
  expect(existsSync(path)).toBe(false);
});

test("`git clean -xfd` under a running server: the next turn fails and says why", async () => {
  expectWarning(/was removed or replaced while it was open/);
  const folder = await temporaryFolder();
  const git = (...args: string[]) => execFileSync("git", args, { cwd: folder, stdio: "pipe" });
  git("init");
  mkdirSync(join(folder, ".rkat"));
  const stores = sqliteStores({ path: join(folder, ".rkat", "rkat.db"), thread: "worker" });
  const service = createSessionService({
    model: scriptedModel([]),
    stores,
    sessionFiles: join(folder, ".rkat", "sessions"),
  });
  const server = await serveRest({ service, port: 0 });
  onTestFinished(async () => {
    await server.close({ graceMs: 0 });
    await service.close();
    await stores.close();
  });
  const post = async (path: string, body: unknown) => {
    const headers = { "content-type": "application/json" };
    const answer = await fetch(server.url + path, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    return { status: answer.status, body: await answer.text() };
  };
  const { session_id: id } = JSON.parse((await post("/sessions", {})).body);
  expect((await post(`/sessions/${id}/messages`, { prompt: "One" })).status).toBe(200);
  git("clean", "-xfd");
  const lost = await post(`/sessions/${id}/messages`, { prompt: "Two" });
  expect(lost.status).toBe(500);
  expect(lost.body).toMatch(GONE.message);
  const created = await post("/sessions", {});
  expect(created.status).toBe(500);
  expect(created.body).toMatch(GONE.message);
});
