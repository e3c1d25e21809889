import { once } from "node:events";
import {
  linkSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createSessionService } from "../../src/index.ts";
import { SessionFiles } from "../../src/projections/session-files.ts";
import { sqliteStores } from "../../src/sqlite.ts";
import { EphemeralEventStore } from "../../src/stores/ephemeral/ephemeral-event-store.ts";
import { EphemeralSessionStore } from "../../src/stores/ephemeral/ephemeral-session-store.ts";
import { scriptedModel } from "../../src/testing/scripted-model.ts";
import { builtProgram } from "../support/built-package.ts";
import { expectWarning } from "../support/expect-warning.ts";
import { temporaryFolder } from "../support/obey.ts";
import { fork } from "../support/start-process.ts";
import { trials } from "../support/trials.ts";

// Takes over two seconds: four processes write the same files.
test("whatever processes work at once, each file has each line once, whole and in order", async () => {
  const folder = await temporaryFolder();
  const children = Array.from({ length: trials(3, 8) }, () =>
    fork(builtProgram("project-files"), [folder, String(trials(6, 30))], { stdio: "inherit" }),
  );
  const codes = await Promise.all(children.map(async (child) => (await once(child, "exit"))[0]));
  expect(codes.every((code) => code === 0)).toBe(true);
  const sessions = join(folder, "sessions");
  const stores = sqliteStores({ path: join(folder, "rkat.db") });
  await createSessionService({ model: scriptedModel([]), stores, sessionFiles: sessions }).close();
  const ids: string[] = [];
  for (const id of readdirSync(sessions).filter((name) => name.length === 36)) {
    ids.push(id);
    const lines = readFileSync(join(sessions, id, "events.jsonl"), "utf8")
      .trimEnd()
      .split("\n");
    const log = await Array.fromAsync(stores.events.read(id, 0));
    expect(lines).toEqual(log.map((event) => JSON.stringify(event)));
    expect(readdirSync(join(sessions, id)).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  }
  const index = readFileSync(join(sessions, "index.jsonl"), "utf8").trimEnd().split("\n");
  expect(index.map((line) => JSON.parse(line).session_id).sort()).toEqual(ids.sort());
  expect(ids.length).toBe(children.length * trials(6, 30));
  await stores.close();
}, 900_000);

describe("a process that starts", () => {
  /** Two sessions with files, and a file outside. */
  async function withFiles() {
    const events = new EphemeralEventStore();
    const stores = { events, sessions: new EphemeralSessionStore() };
    const service = createSessionService({ model: scriptedModel(["One.", "Two."]), stores });
    const folder = join(await temporaryFolder(), "sessions");
    const outside = join(folder, "..", "outside");
    for (const prompt of ["The first.", "The second."]) {
      const { sessionId } = await service.createSession({});
      await service.startTurn({ sessionId, prompt });
    }
    await service.close();
    await project(events, folder);
    writeFileSync(outside, "mine\n");
    const [changed = "", other = ""] = readdirSync(folder).filter((name) => name.length > 30);
    return { events, folder, outside, changed, other };
  }

  async function project(events: EphemeralEventStore, folder: string): Promise<void> {
    const files = new SessionFiles(events, folder);
    const added = await events.readAll(await files.position(), 1000);
    if (added.length > 0) await files.apply(added);
  }

  const filesIn = (folder: string) =>
    Object.fromEntries(
      readdirSync(folder, { withFileTypes: true })
        .filter((one) => one.isFile())
        .map(({ name }) => [name, readFileSync(join(folder, name), "utf8")]),
    );

  const newer = (path: string, text: string) => {
    writeFileSync(path, text);
    const later = Date.now() / 1000 + 10;
    utimesSync(path, later, later);
  };

  const CHANGES: Readonly<Record<string, (path: string) => void>> = {
    removed: (path) => rmSync(path),
    cut: (path) => newer(path, readFileSync(path, "utf8").slice(0, 40)),
    emptied: (path) => newer(path, ""),
    replaced: (path) => newer(path, "\u0000garbage\n{}"),
    longer: (path) => newer(path, `${readFileSync(path, "utf8")}{"seq":99}\n`),
  };

  test.each(Object.entries(CHANGES))(
    "has the files again as the log has them when one was %s",
    async (_, change) => {
      const { events, folder, changed } = await withFiles();
      const [before, index] = [filesIn(join(folder, changed)), filesIn(folder)["index.jsonl"]];
      for (const name of ["events.jsonl", "session.json"]) {
        change(join(folder, changed, name));
        await project(events, folder);
        expect(filesIn(join(folder, changed)), name).toEqual(before);
      }
      change(join(folder, "index.jsonl"));
      await project(events, folder);
      expect(readFileSync(join(folder, "index.jsonl"), "utf8")).toBe(index);
    },
  );

  test("leaves out a session with a link among its files, names it, and goes on with the others", async () => {
    for (const name of ["events.jsonl", "session.json"]) {
      const { events, folder, outside, changed, other } = await withFiles();
      const before = filesIn(join(folder, other));
      rmSync(join(folder, changed, name));
      symlinkSync(outside, join(folder, changed, name));
      rmSync(join(folder, other, "session.json"));
      expectWarning(/The files of session .+ stay as they are\. .+ is a link\./);
      await project(events, folder);
      const files = new SessionFiles(events, folder);
      await files.startAgain();
      await project(events, folder);
      expect(filesIn(join(folder, other))).toEqual(before);
      expect(readFileSync(outside, "utf8")).toBe("mine\n");
    }
  });

  test("does not write into a file that has another name elsewhere", async () => {
    const { events, folder, outside, changed } = await withFiles();
    for (const path of [join(folder, changed, "events.jsonl"), join(folder, "index.jsonl")]) {
      const before = readFileSync(path, "utf8");
      rmSync(path);
      linkSync(outside, path);
      await new SessionFiles(events, folder).startAgain();
      await project(events, folder);
      expect(readFileSync(path, "utf8")).toBe(before);
      expect(readFileSync(outside, "utf8")).toBe("mine\n");
    }
  });
});
