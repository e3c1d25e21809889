import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { AgentMemory } from "../src/app/agent-memory.ts";
import { temporaryFolder } from "./support/obey.ts";

/** A program whose first run fails, once another one was asked for. */
const PROGRAM = `
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
appendFileSync("runs", "x");
if (readFileSync("runs", "utf8") === "x") {
  while (!existsSync("asked")) await sleep(10);
  process.exit(1);
}
`;

test("an import that fails takes none along that was asked for meanwhile", async () => {
  const folder = await temporaryFolder();
  const program = join(folder, "program.mjs");
  await writeFile(program, PROGRAM);
  const memory = new AgentMemory({ command: [process.execPath, program] });
  const first = memory.import(["pi", "session.jsonl"], folder);
  await memory.import(["pi", "session.jsonl"], folder);
  await writeFile(join(folder, "asked"), "");
  expect(await first).toBeUndefined();
  expect(await readFile(join(folder, "runs"), "utf8")).toBe("xx");
  await memory.close();
});
