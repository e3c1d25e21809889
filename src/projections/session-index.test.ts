import { appendFileSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../test/support/obey.ts";
import { writeAt } from "../files/plain-files.ts";
import { indexLine, newSessionFile } from "./session-file.ts";
import { SessionIndex } from "./session-index.ts";

/** An index over a file, and how many bytes it read. */
async function counted() {
  const folder = await temporaryFolder();
  const path = join(folder, "index.jsonl");
  let bytes = 0;
  const index = new SessionIndex({
    look: () => statSync(path, { throwIfNoEntry: false }),
    read: () => {
      const text = statSync(path, { throwIfNoEntry: false }) ? readFileSync(path, "utf8") : "";
      bytes += text.length;
      return text;
    },
    replace: (text) => writeFileSync(path, text),
    writeAt: (text, offset) => writeAt(folder, path, text, offset),
  });
  return { index, path, bytes: () => bytes };
}

test("a new session does not read the lines of the others", async () => {
  const { index, path, bytes } = await counted();
  for (let at = 0; at < 100; at += 1) index.add(newSessionFile(`s${at}`));
  index.remove("s7");
  index.add(newSessionFile("s7"));
  index.add(newSessionFile("s8"));
  expect(bytes()).toBe(0);
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line).session_id)).toEqual(index.sessionIds);
  expect(lines).toHaveLength(100);
});

test("what another process or a person made of the file is read again", async () => {
  const { index, path } = await counted();
  index.add(newSessionFile("one"));
  appendFileSync(path, `${indexLine(newSessionFile("öther"))}\n{"session_id":"cut`);
  index.add(newSessionFile("two"));
  expect(index.sessionIds).toEqual(["one", "öther", "two"]);
  expect(readFileSync(path, "utf8").trimEnd().split("\n")).toHaveLength(3);
  rmSync(path);
  expect(index.sessionIds).toEqual([]);
  index.add(newSessionFile("one"));
  expect(index.sessionIds).toEqual(["one"]);
});
