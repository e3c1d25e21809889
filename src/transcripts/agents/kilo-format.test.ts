import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { brief, readImport } from "../../../test/support/read-import.ts";
import { importTranscripts } from "../../app/import-transcripts.ts";
import { diskFile } from "../../import/disk-file.ts";
import { recogniseFile } from "../../import/find-transcripts.ts";
import { sqliteStores } from "../../sqlite.ts";
import { IMPORT_FORMATS } from "../import-formats.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "kilo-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** The sessions of a file on the disk, by the format that recognises it. */
async function readAt(path: string) {
  const file = diskFile(path, () => []);
  const format = file && (await recogniseFile(file, IMPORT_FORMATS));
  if (!file || !format) throw new Error(`${path} is not recognised`);
  const { sessions, skipped, unknown } = await readImport(format, file);
  const said = sessions.map(({ id, title, project, messages }) => ({
    ...{ id, title, project },
    said: messages.map(brief),
  }));
  return { said, skipped, unknown, ids: sessions.flatMap(({ messages }) => messages) };
}

function write(path: string, value: object): string {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), JSON.stringify(value));
  return join(folder, path);
}

const SAID = [
  ["msg_1", { role: "user" }, "Why is it red?"],
  ["msg_2", { role: "assistant", time: { completed: 2 } }, "It is paint."],
] as const;

/** The database of Kilo Code with a session. Returns its path. */
function database({ slug }: { slug: string }): string {
  const path = join(folder, "data", "kilo", "kilo.db");
  mkdirSync(dirname(path), { recursive: true });
  const db = new DatabaseSync(path);
  db.exec(`CREATE TABLE session (id TEXT, slug TEXT, directory TEXT, title TEXT);
    CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT);
    CREATE TABLE part (id TEXT, message_id TEXT, time_created INTEGER, data TEXT);`);
  const add = (table: string, ...values: (string | number)[]) =>
    db.prepare(`INSERT INTO ${table} VALUES (${values.map(() => "?")})`).run(...values);
  add("session", "ses_1", slug, "/home/ada/app", "Red");
  for (const [number, [id, info, text]] of SAID.entries()) {
    add("message", id, "ses_1", number, JSON.stringify(info));
    add("part", `prt_${id}`, id, number, JSON.stringify({ type: "text", text }));
  }
  db.close();
  return path;
}

test("the database and the tree of Kilo Code are read as opencode's, under its own name", async () => {
  const session = {
    ...{ id: "kilo:ses_1", title: "Red", project: "/home/ada/app" },
    said: ["user: Why is it red?", "text: It is paint."],
  };
  const found = await readAt(database({ slug: "quiet-river" }));
  expect(found).toMatchObject({ said: [session], skipped: [], unknown: [] });
  expect(found.ids.every(({ sourceId }) => sourceId.startsWith("kilo:ses_1:"))).toBe(true);

  const info = { id: "ses_1", title: "Red", directory: "/home/ada/app" };
  const tree = write("kilo/storage/session/p/ses_1.json", info);
  for (const [id, about, text] of SAID) {
    write(`kilo/storage/message/ses_1/${id}.json`, { id, ...about });
    write(`kilo/storage/part/${id}/prt_${id}.json`, { type: "text", text });
  }
  expect(await readAt(tree)).toMatchObject({ said: [session] });
});

test("a task that Kilo Code wrote as an extension of its own is its, and no task of Roo Code", async () => {
  const path = "globalStorage/kilocode.kilo-code/tasks/1770000000000/ui_messages.json";
  const ui = [{ ts: 1_770_000_000_000, type: "say", say: "text", text: "Why is it red?" }];
  expect((await readAt(write(path, ui))).said).toEqual([
    {
      ...{ id: "kilo:1770000000000", title: "Why is it red?", project: undefined },
      said: ["user: Why is it red?"],
    },
  ]);
});

test("a task that Kilo Code moved into its database is there once", async () => {
  vi.stubEnv("HOME", folder);
  vi.stubEnv("XDG_DATA_HOME", join(folder, "data"));
  vi.stubEnv("XDG_CONFIG_HOME", folder);
  const path = "Code/User/globalStorage/kilocode.kilo-code/tasks/1770000000000/ui_messages.json";
  write(path, [{ ts: 1_770_000_000_000, type: "say", say: "text", text: "Why is it red?" }]);
  const stores = sqliteStores({ path: ":memory:" });
  const take = async () => {
    await importTranscripts({ stores, agent: "kilo" });
    return (await stores.sessions.list({ limit: 9 })).map(({ id }) => id);
  };
  try {
    expect(await take()).toEqual(["kilo:1770000000000"]);
    database({ slug: "1770000000000" });
    expect(await take()).toEqual(["kilo:ses_1"]);
    expect(await take()).toEqual(["kilo:ses_1"]);
  } finally {
    vi.unstubAllEnvs();
    await stores.close();
  }
});
