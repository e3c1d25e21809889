import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { type BackupWork, backUp } from "../src/app/back-up.ts";
import { compareBackup, restoreBackup } from "../src/app/restore.ts";
import { makeStore } from "../src/config/store-file.ts";
import { openUserWorkspace } from "../src/config/workspace.ts";
import { newId } from "../src/core/ids.ts";
import { type Stores, sqliteStores } from "../src/sqlite.ts";
import { newPlace, newProject, PLACE_KINDS, type Place } from "./support/backup-places.ts";
import { builtProgram } from "./support/built-package.ts";
import {
  account,
  EVERYTHING,
  importInto,
  live,
  SECRET,
  serviceOn,
} from "./support/lived-stores.ts";
import { temporaryFolder } from "./support/obey.ts";
import { execFileSync } from "./support/start-process.ts";
import { systemEnvironment } from "./support/system-environment.ts";
import { LONG, sampled, trials } from "./support/trials.ts";

const WATCH: BackupWork = {
  scope: "project",
  signal: new AbortController().signal,
  onProgress() {},
};

async function newFile(): Promise<string> {
  return join(await temporaryFolder(), "shop.backup");
}

function back(place: Place, file: string, force = false) {
  return backUp(place.workspace, { ...WATCH, file, force });
}

function restore(place: Place, file: string, isTrusted = false) {
  return restoreBackup(place.workspace, { ...WATCH, file, isTrusted });
}

describe.each(PLACE_KINDS)("a backup of %s", (kind) => {
  // In the short form, backup-crash.test.ts restores into PostgreSQL.
  const others = LONG ? PLACE_KINDS : PLACE_KINDS.slice(0, 1);

  test.each(others)("restored into %s, has everything", async (other) => {
    const place = await newProject(kind);
    const stores = place.open();
    await live(stores, EVERYTHING);
    await importInto(stores);
    const before = await account(stores);
    const file = await newFile();
    await back(place, file);
    const there = await newPlace(other);
    await restore(there, file);
    expect(await account(there.open())).toEqual(before);
    const report = await compareBackup(place.workspace, { ...WATCH, file });
    expect(report).toMatchObject({ same: true });
  });

  // Writers append to sessions of their own. A clock counts when each event was begun, and when it was acknowledged.
  test("of a store that is being written to, equals it at one moment", async () => {
    const place = await newProject(kind);
    const written = new Map<string, { readonly begun: number; ended: number }>();
    let clock = 0;
    let isDone = false;
    const write = async ({ events }: Stores, sessionId: string) => {
      for (let seq = 0; !isDone; seq += 1) {
        const event = { type: "text_complete" as const, content: "word ".repeat(200) };
        const event_id = newId();
        const times = { begun: ++clock, ended: Infinity };
        written.set(event_id, times);
        await events.append(sessionId, seq, [{ event_id, timestamp_ms: Date.now(), event }]);
        times.ended = ++clock;
        await new Promise(setImmediate);
      }
    };
    const writers = [place.open(), place.open(), place.open()];
    const writing = Promise.all(writers.map((stores, at) => write(stores, `session-${at}`)));
    const taken: { readonly file: string; readonly from: number; readonly to: number }[] = [];
    for (let round = 0; round < trials(1, 30); round += 1) {
      const size = written.size;
      await expect.poll(() => written.size).toBeGreaterThan(size + 20);
      const file = await newFile();
      const from = ++clock;
      await back(place, file);
      taken.push({ file, from, to: ++clock });
    }
    isDone = true;
    await writing;
    for (const { file, from, to } of taken) {
      const there = await newPlace("SQLite");
      await restore(there, file);
      const copied = await there.open().events.readAll(0, 1e6);
      const ids = new Set(copied.map(({ stored }) => stored.event_id));
      const inside = [...written].filter(([id]) => ids.has(id)).map(([, { begun }]) => begun);
      const outside = [...written].filter(([id]) => !ids.has(id)).map(([, { ended }]) => ended);
      // All that was acknowledged before the moment is in it, and nothing that was begun after it.
      expect(Math.max(...inside)).toBeLessThan(Math.min(...outside));
      expect(Math.min(...outside)).toBeGreaterThan(from);
      expect(Math.max(...inside)).toBeLessThan(to);
      const sessions = Map.groupBy(copied, ({ sessionId }) => sessionId);
      for (const events of sessions.values()) {
        const seqs = events.map(({ stored }) => stored.seq);
        expect(seqs).toEqual(seqs.map((_, at) => at + 1));
      }
    }
  });

  test("is never restored over what is there", async () => {
    const place = await newProject(kind);
    const stores = place.open();
    await stores.memory.add([
      { id: "a", content: "one", sessionId: "s", turn: null, kind: "message" },
    ]);
    const file = await newFile();
    await back(place, file);
    await stores.memory.add([
      { id: "b", content: "two", sessionId: "s", turn: null, kind: "message" },
    ]);
    await expect(restore(place, file)).rejects.toMatchObject({ code: "NOT_POSSIBLE" });
    expect(await stores.memory.read(["a", "b"])).toHaveLength(2);
  });
});

test("a restore of two stores that is stopped makes neither, and runs again", async () => {
  const work = { file: join(await temporaryFolder(), "all.backup"), scope: "all" as const };
  const inHome = async () => {
    vi.stubEnv("HOME", await temporaryFolder());
    const { workspace } = await newPlace();
    return [
      workspace,
      await openUserWorkspace({ cwd: workspace.folder, env: systemEnvironment() }),
    ] as const;
  };
  onTestFinished(() => void vi.unstubAllEnvs());
  const made = await inHome();
  for (const each of made) {
    makeStore(each, systemEnvironment());
    const stores = sqliteStores({ path: each.storeFile });
    await stores.memory.stats();
    await stores.close();
  }
  await backUp(made[0], { ...WATCH, ...work, force: false });
  const empty = await inHome();
  const stop = new AbortController();
  const stopped = restoreBackup(empty[0], {
    ...work,
    isTrusted: true,
    signal: stop.signal,
    // The first store is complete then.
    onProgress: ({ step }) => void (step === "checking" && stop.abort()),
  });
  await expect(stopped).rejects.toThrow("aborted");
  expect(empty.map(({ storeFile }) => existsSync(storeFile))).toEqual([false, false]);
  const { stores } = await restoreBackup(empty[0], { ...WATCH, ...work, isTrusted: true });
  expect(stores.map(({ name }) => name)).toEqual(["project", "user"]);
  expect(empty.map(({ storeFile }) => existsSync(storeFile))).toEqual([true, true]);
});

test("a comparison says what differs, session by session, and changes nothing", async () => {
  const place = await newProject();
  const stores = place.open();
  const service = serviceOn(stores);
  const ids: string[] = [];
  for (const prompt of ["one", SECRET, "three", "four"]) {
    const { sessionId } = await service.createSession({});
    ids.push(sessionId);
    await service.startTurn({ sessionId, prompt });
  }
  await service.listMemory({});
  const file = await newFile();
  await back(place, file);
  const [longer = "", forgotten = "", gone = ""] = ids;
  await service.startTurn({ sessionId: longer, prompt: "and more" });
  const [hit] = await service.searchMemory({ query: "vault tangerine" });
  await service.forgetMemory({ ids: [hit?.id ?? ""] });
  await service.delete({ sessionId: gone });
  const { sessionId: added } = await service.createSession({});
  await service.startTurn({ sessionId: added, prompt: "new" });
  const before = await account(stores);
  const report = await compareBackup(place.workspace, { ...WATCH, file });
  expect(report).toMatchObject({
    same: false,
    differences: [
      {
        store: "project",
        same_sessions: 1,
        only_here: [added],
        only_in_backup: [gone],
        longer_here: [longer],
        longer_in_backup: [],
        different: [forgotten],
      },
    ],
  });
  expect(await account(stores)).toEqual(before);
  await service.close();
});

describe("a file", () => {
  async function backedUp() {
    const place = await newProject();
    await place
      .open()
      .memory.add([
        { id: "a", content: "The harbour.", sessionId: "s", turn: null, kind: "message" },
      ]);
    const file = await newFile();
    await back(place, file);
    return { place, file };
  }

  test("is private, and is written over only with force", async () => {
    const { place, file } = await backedUp();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const before = readFileSync(file);
    await expect(back(place, file)).rejects.toMatchObject({
      code: "NOT_POSSIBLE",
      message: `${file} is there already.`,
    });
    expect(readFileSync(file).equals(before)).toBe(true);
    await back(place, file, true);
    expect(readFileSync(file).equals(before)).toBe(false);
    expect(readdirSync(dirname(file))).toEqual(["shop.backup"]);
  });

  test("that is a link or a folder is not written over, even with force", async () => {
    const { place, file } = await backedUp();
    const [link, folder] = [`${file}.link`, `${file}.folder`];
    symlinkSync(file, link);
    mkdirSync(folder);
    const before = readFileSync(file);
    for (const path of [link, folder]) {
      await expect(back(place, path, true)).rejects.toMatchObject({ code: "INVALID_PARAMS" });
    }
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test("with any byte changed is refused by name, and nothing is made", async () => {
    const { file } = await backedUp();
    const whole = readFileSync(file);
    const places = Array.from({ length: 200 }, (_, at) => Math.floor((at * whole.length) / 200));
    const first = Array.from({ length: 60 }, (_, at) => at * 4);
    for (const at of sampled([...first, ...places], { of: 26, at: 3 }, "random trials")) {
      const bytes = Buffer.from(whole);
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      writeFileSync(file, bytes);
      const there = await newPlace();
      const refusal = expect.stringContaining(file);
      await expect(restore(there, file)).rejects.toMatchObject({ message: refusal });
      expect(existsSync(there.workspace.dataFolder)).toBe(false);
    }
  });

  test("that was cut off, or has more in it, is refused by name", async () => {
    const { file } = await backedUp();
    const size = statSync(file).size;
    const there = await newPlace();
    for (const bytes of [size + 1, size - 1, size / 2, 300, 20, 0]) {
      truncateSync(file, Math.floor(bytes));
      await expect(restore(there, file)).rejects.toMatchObject({
        code: "INVALID_PARAMS",
        message: expect.stringContaining(file),
      });
    }
    expect(existsSync(there.workspace.dataFolder)).toBe(false);
  });

  test.each([
    ["no backup", "hello\n"],
    ["a line without an end", "x".repeat(100_000)],
    ["another format", '{"rkat_backup":2,"made_at":"2026-01-01T00:00:00Z","parts":[]}\n'],
    ["no parts", '{"rkat_backup":1,"made_at":"2026-01-01T00:00:00Z","parts":[]}\n'],
    [
      "a part of another name",
      `{"rkat_backup":1,"made_at":"2026-01-01T00:00:00Z","parts":[{"name":"../x","bytes":0,"sha256":"${"0".repeat(64)}"}]}\n`,
    ],
    [
      "a part of a negative size",
      `{"rkat_backup":1,"made_at":"2026-01-01T00:00:00Z","parts":[{"name":"user","bytes":-1,"sha256":"${"0".repeat(64)}"}]}\n`,
    ],
  ])("that has %s is refused by name", async (_, content) => {
    const file = await newFile();
    writeFileSync(file, content);
    const there = await newPlace();
    await expect(restore(there, file, true)).rejects.toMatchObject({
      code: "INVALID_PARAMS",
      message: expect.stringContaining(file),
    });
  });

  test("that another user wrote needs to be trusted", async () => {
    const { place, file } = await backedUp();
    const [line = ""] = readFileSync(file, "latin1").split("\n", 1);
    const { seal: _, ...rest } = JSON.parse(line) as Record<string, unknown>;
    const body = readFileSync(file).subarray(line.length);
    writeFileSync(file, Buffer.concat([Buffer.from(JSON.stringify(rest)), body]));
    const there = await newPlace();
    await expect(restore(there, file)).rejects.toMatchObject({ code: "STORE_NOT_TRUSTED" });
    expect(existsSync(there.workspace.dataFolder)).toBe(false);
    await restore(there, file, true);
    expect(await there.open().memory.read(["a"])).toHaveLength(1);
    expect(place.workspace.storeFile).not.toBe(there.workspace.storeFile);
  });

  test("that cannot be written is said with its name", async () => {
    const { place, file } = await backedUp();
    const below = join(file, "below", "it");
    await expect(back(place, below)).rejects.toMatchObject({
      code: "SESSION_STORE_ERROR",
      message: expect.stringContaining(below),
    });
  });

  test("of a store that has lost everything is not written", async () => {
    const { place, file: before } = await backedUp();
    truncateSync(place.workspace.storeFile);
    const file = await newFile();
    await expect(back(place, file)).rejects.toMatchObject({
      code: "SESSION_STORE_ERROR",
      message: expect.stringContaining("is empty"),
    });
    expect(existsSync(before)).toBe(true);
  });

  test("of a damaged store is not written", async () => {
    const { place } = await backedUp();
    const stores = place.open();
    await stores.events.append("s", 0, [
      { event_id: newId(), timestamp_ms: 1, event: { type: "text_complete", content: "harbour" } },
    ]);
    await stores.close();
    const { DatabaseSync } = await import("node:sqlite");
    const db = new DatabaseSync(place.workspace.storeFile);
    db.exec("UPDATE event SET checksum = checksum + 1");
    db.close();
    const file = await newFile();
    await expect(back(place, file)).rejects.toMatchObject({ code: "SESSION_STORE_ERROR" });
    expect(readdirSync(dirname(file))).toEqual([]);
  });
});

test.runIf(process.platform === "linux")(
  "a disk that is full at the last bytes of a backup, of an export or of a restore is told",
  async () => {
    const args = [builtProgram("write-until-full"), await temporaryFolder()];
    const told = execFileSync(process.execPath, args, { encoding: "utf8" });
    expect(told).toBe("export refused\nbackup refused\npart refused\n");
  },
);
