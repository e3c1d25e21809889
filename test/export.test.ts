import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { exportProject, importExport } from "../src/app/export-project.ts";
import { newId } from "../src/core/ids.ts";
import type { Stores } from "../src/sqlite.ts";
import { newPlace, newProject, PLACE_KINDS, type Place } from "./support/backup-places.ts";
import {
  account,
  anyLife,
  EVERYTHING,
  importInto,
  live,
  SECRET,
  serviceOn,
} from "./support/lived-stores.ts";
import { temporaryFolder } from "./support/obey.ts";
import { Project } from "./support/rkat-process.ts";
import { LONG, trials } from "./support/trials.ts";

const WATCH = { signal: new AbortController().signal, onProgress() {} };

async function newFile(): Promise<string> {
  return join(await temporaryFolder(), "shop.jsonl");
}

async function exported(place: Place, { redact = false } = {}): Promise<string> {
  const file = await newFile();
  await exportProject(place.workspace, { ...WATCH, file, force: false, redact });
  return file;
}

function imported(place: Place, file: string, { isTrusted = false, isTrial = false } = {}) {
  return importExport(place.workspace, { ...WATCH, file, isTrusted, isTrial });
}

/** What an account of stores has that an export has too. */
async function kept(stores: Stores): Promise<unknown> {
  const { users, all } = (await account(stores)) as {
    readonly users: unknown;
    readonly all: readonly Readonly<Record<string, unknown>>[];
  };
  return { users, all: all.map(({ trash: _, files: __, ...rest }) => rest) };
}

async function answers(stores: Stores): Promise<unknown> {
  const service = serviceOn(stores);
  const questions = ["box lantern", "which port is free", "spaces in my code", "jumping fox"];
  const found = [];
  for (const query of questions) {
    found.push(await service.searchMemory({ query, explain: true }));
    // Of hits that are as good, each database has another one first.
    const hits = await service.searchHistory({ query, limit: 100 });
    found.push(hits.map(({ sessionId, seq, content }) => `${sessionId} ${seq} ${content}`).sort());
  }
  await service.close();
  return found;
}

// In the short form, one database is enough: what was imported into PostgreSQL is exported from there again.
describe.each(LONG ? PLACE_KINDS : PLACE_KINDS.slice(0, 1))("an export of %s", (kind) => {
  test.each(LONG ? PLACE_KINDS : PLACE_KINDS.slice(-1))(
    "imported into %s, has the same ids, times and answers, and is exported as the same bytes",
    async (other) => {
      const place = await newProject(kind);
      const stores = place.open();
      await live(stores, EVERYTHING);
      await importInto(stores);
      const before = await kept(stores);
      const file = await exported(place);
      const there = await newPlace(other);
      await imported(there, file);
      const again = await exported(there);
      expect(readFileSync(again, "utf8")).toBe(readFileSync(file, "utf8"));
      expect(await kept(there.open())).toEqual(before);
      // A search notes when it used what was learned.
      expect(await answers(there.open())).toEqual(await answers(stores));
    },
  );
});

test("any life comes back as the same bytes", async () => {
  await fc.assert(
    fc.asyncProperty(anyLife, async (life) => {
      const place = await newProject();
      await live(place.open(), life);
      const file = await exported(place);
      const there = await newPlace();
      await imported(there, file);
      expect(readFileSync(await exported(there), "utf8")).toBe(readFileSync(file, "utf8"));
    }),
    { numRuns: trials(1, 60) },
  );
});

test("an export has no text that was forgotten or deleted, and an import does not bring one back", async () => {
  const place = await newProject();
  const service = serviceOn(place.open());
  const { sessionId } = await service.createSession({});
  await service.startTurn({ sessionId, prompt: SECRET });
  const [hit] = await service.searchMemory({ query: "vault" });
  await service.forgetMemory({ ids: [hit?.id ?? ""] });
  const other = await service.createSession({});
  await service.startTurn({ ...other, prompt: "The heron stands in the reeds." });
  await service.delete(other);
  await service.close();
  const file = await exported(place);
  expect(readFileSync(file, "utf8")).not.toMatch(/tangerine|heron/);
  const there = await newPlace();
  await imported(there, file);
  expect(await there.open().forgotten?.has(sessionId, [SECRET])).toEqual([true]);
});

test("credentials are replaced when they should be, and the rest is imported", async () => {
  const key = `sk-ant-api03-${"Ab3dE5".repeat(16)}`;
  const place = await newProject();
  const service = serviceOn(place.open());
  const { sessionId } = await service.createSession({});
  await service.startTurn({ sessionId, prompt: `My key is ${key}, and the harbour is closed.` });
  await service.close();
  expect(readFileSync(await exported(place), "utf8")).toContain(key);
  const file = await exported(place, { redact: true });
  expect(readFileSync(file, "utf8")).not.toContain(key.slice(14));
  const there = await newPlace();
  await imported(there, file);
  const again = await exported(there, { redact: true });
  expect(readFileSync(again, "utf8")).toBe(readFileSync(file, "utf8"));
  const found = await there.open().memory.search({ query: "harbour", limit: 1 });
  expect(found).toHaveLength(1);
});

test("a fork comes back with what it took over, and goes on", async () => {
  const place = await newProject();
  const service = serviceOn(place.open());
  const { sessionId } = await service.createSession({});
  await service.startTurn({ sessionId, prompt: "The heron stands in the reeds." });
  const fork = await service.forkSession({ sessionId });
  await service.startTurn({ sessionId: fork.sessionId, prompt: "And the otter?" });
  await service.close();
  const file = await exported(place);
  const there = await newPlace();
  await imported(there, file);
  expect(readFileSync(await exported(there), "utf8")).toBe(readFileSync(file, "utf8"));
  expect(await kept(there.open())).toEqual(await kept(place.open()));
  const other = serviceOn(there.open());
  await other.startTurn({ sessionId: fork.sessionId, prompt: "And the vole?" });
  await other.close();
});

test("importing again adds nothing, and what was said since is added", async () => {
  const place = await newProject();
  const service = serviceOn(place.open());
  const { sessionId } = await service.createSession({});
  await service.startTurn({ sessionId, prompt: "one" });
  const first = await exported(place);
  await service.startTurn({ sessionId, prompt: "two" });
  await service.close();
  const second = await exported(place);
  const there = await newPlace();
  await imported(there, first);
  await imported(there, first);
  expect(readFileSync(await exported(there), "utf8")).toBe(readFileSync(first, "utf8"));
  await imported(there, second);
  expect(await kept(there.open())).toEqual(await kept(place.open()));
});

test("a session that went on in both is refused by its id, and what is there stays", async () => {
  const place = await newProject();
  const service = serviceOn(place.open());
  const { sessionId } = await service.createSession({});
  const there = await newPlace();
  await imported(there, await exported(place));
  const other = serviceOn(there.open());
  await other.startTurn({ sessionId, prompt: "here" });
  await other.close();
  await service.startTurn({ sessionId, prompt: "there" });
  await service.close();
  const before = await kept(there.open());
  await expect(imported(there, await exported(place))).rejects.toMatchObject({
    code: "SESSION_CONFLICT",
    message: expect.stringContaining(sessionId),
  });
  expect(await kept(there.open())).toEqual(before);
});

describe("a file", () => {
  async function small(): Promise<string> {
    const place = await newProject();
    const stores = place.open();
    await live(stores, EVERYTHING.slice(0, 4));
    return await exported(place);
  }

  test("is private, and a trial of it stores nothing", async () => {
    const file = await small();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(dirname(file))).toEqual(["shop.jsonl"]);
    const there = await newPlace();
    expect(await imported(there, file, { isTrial: true })).toMatchObject({ sessions: 1 });
    expect(existsSync(there.workspace.dataFolder)).toBe(false);
    const own = readdirSync(tmpdir()).filter((name) => name.includes(`.${process.pid}.`));
    expect(own).toEqual([]);
  });

  test("that another user wrote needs to be trusted", async () => {
    const file = await small();
    const text = readFileSync(file, "utf8").replace(/,"seal":"[0-9a-f]+"/, "");
    writeFileSync(file, text);
    const there = await newPlace();
    await expect(imported(there, file)).rejects.toMatchObject({ code: "STORE_NOT_TRUSTED" });
    expect(existsSync(there.workspace.dataFolder)).toBe(false);
    await imported(there, file, { isTrusted: true });
    expect(await there.open().events.readAll(0, 1)).toHaveLength(1);
  });

  test("that was cut, or in which a line was changed, left out or added, is refused by name", async () => {
    const file = await small();
    const whole = readFileSync(file, "utf8");
    const lines = whole.split("\n").slice(0, -1);
    const middle = Math.floor(lines.length / 2);
    const variants = [
      "",
      whole.slice(0, -40),
      whole.slice(0, whole.length / 2),
      `${lines.slice(0, -1).join("\n")}\n`,
      `${lines.toSpliced(middle, 1).join("\n")}\n`,
      `${lines.toSpliced(1, 0, lines[1] ?? "").join("\n")}\n`,
      `${whole}${lines[1]}\n`,
      whole.replace("lantern", "lanterm"),
      whole.replace('{"rkat_export":1', '{"rkat_export":2'),
    ];
    const there = await newPlace();
    for (const text of variants) {
      writeFileSync(file, text);
      await expect(imported(there, file, { isTrusted: true })).rejects.toMatchObject({
        code: "INVALID_PARAMS",
        message: expect.stringContaining(file),
      });
    }
    expect(existsSync(there.workspace.dataFolder)).toBe(false);
  });

  const event = { type: "run_started", session_id: "s", prompt: "hi" };
  const line = { session: "s", seq: 1, event_id: newId(), timestamp_ms: 1, event };
  const deep = JSON.parse(`${"[".repeat(500)}${"]".repeat(500)}`) as unknown;
  test.each<readonly [string, unknown]>([
    ["a gap", { ...line, seq: 2 }],
    ["an event of a wrong shape", { ...line, event: { type: "run_started" } }],
    ["a session without an id", { ...line, session: "" }],
    ["a session with a long id", { ...line, session: "s".repeat(201) }],
    ["a value that is nested too deeply", { ...line, event: { ...event, more: deep } }],
    ["a list", [line]],
    ["nothing known", { secrets: [] }],
    ["an entry of memory without content", { memory: { id: "a", session_id: "s", turn: 0 } }],
    ["knowledge of another kind", { knowledge: { id: "a", kind: "spell" }, keys: [] }],
    ["a user with a line break", { user: "ada\nuser eve" }],
    ["marks that are none", { forgotten: [7] }],
  ])("that has %s is refused, with the line", async (_, wrong) => {
    const file = await newFile();
    writeFileSync(file, `{"rkat_export":1,"redacted":false}\n${JSON.stringify(wrong)}\n`);
    const there = await newPlace();
    const refused = imported(there, file, { isTrusted: true });
    await expect(refused).rejects.toMatchObject({
      code: "INVALID_PARAMS",
      message: expect.stringContaining(`${file}, line 2, `),
    });
    const { message } = (await refused.catch((error: unknown) => error)) as Error;
    expect(message.split(file), message).toHaveLength(2);
    expect(existsSync(there.workspace.dataFolder)).toBe(false);
  });
});

test("`rkat export -` prints what it would write, and `rkat backup -` says that it cannot", async () => {
  const project = await Project.open();
  await project.rkat(["memory", "add", "A key with \u0085 and \u009b in it."]);
  const { code, stdout, stderr } = await project.rkat(["export", "-"]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/^Wrote - \(/) });
  await project.rkat(["export", "whole.jsonl"]);
  expect(stdout).toBe(readFileSync(join(project.folder, "whole.jsonl"), "utf8"));
  expect(await project.rkat(["backup", "-"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("hint: Name a file. `rkat export -` prints a project"),
  });
  expect(readdirSync(project.folder)).not.toContain("-");
});

test("a reader of `rkat export -` that closes its pipe is no failure", async () => {
  const project = await Project.open();
  await project.rkat(["memory", "add", "The harbour is closed on Mondays."]);
  const { child, ended } = project.start(["export", "-"]);
  child.stdout?.destroy();
  expect(await ended).toMatchObject({ code: 0 });
});
