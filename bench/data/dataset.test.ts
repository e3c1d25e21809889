import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../test/support/obey.ts";
import { UsageError } from "../bench.ts";
import { readDatasets } from "./dataset.ts";

const DOC = {
  id: "1",
  conv: "c",
  session: "s",
  turn: 0,
  speaker: "Ada",
  text: "The port is 4711.",
};
const QUERY = { conv: "c", text: "Which port?", relevant: ["1"] };

async function folderOf(set: string, docs: readonly unknown[], queries: readonly unknown[]) {
  const folder = await temporaryFolder();
  const lines = (values: readonly unknown[]) => values.map((one) => JSON.stringify(one)).join("\n");
  mkdirSync(join(folder, set), { recursive: true });
  writeFileSync(join(folder, set, "docs.jsonl"), lines(docs));
  writeFileSync(join(folder, set, "queries.jsonl"), lines(queries));
  return folder;
}

test("a folder is one set, or has one in each of its folders", async () => {
  const conversations = [
    {
      id: "c",
      entries: [
        {
          id: "1",
          content: "The port is 4711.",
          sessionId: "c/s",
          turn: 0,
          kind: "message",
          speaker: "Ada",
        },
      ],
      questions: [{ text: "Which port?", relevant: ["1"] }],
    },
  ];
  expect(readDatasets(await folderOf("", [DOC], [QUERY]))).toEqual([
    { name: "data", conversations },
  ]);
  expect(readDatasets(await folderOf("ports", [DOC], [QUERY]))).toEqual([
    { name: "ports", conversations },
  ]);
});

test("a folder that has no conversations is told what is wrong with it, by file and line", async () => {
  const empty = await temporaryFolder();
  const cases: readonly (readonly [folder: string, complaint: string])[] = [
    [join(empty, "nowhere"), "nowhere cannot be read: ENOENT"],
    [empty, "There is no docs.jsonl in"],
    [await folderOf("", [DOC, { ...DOC, turn: "2" }], [QUERY]), "docs.jsonl, line 2: turn must be"],
    [await folderOf("", [DOC], [{ ...QUERY, relevant: "1" }]), "queries.jsonl, line 1: relevant"],
    [await folderOf("", [7], [QUERY]), "docs.jsonl, line 1: It must be an object."],
  ];
  for (const [folder, complaint] of cases) {
    expect(() => readDatasets(folder)).toThrow(UsageError);
    expect(() => readDatasets(folder)).toThrow(complaint);
  }
});
