import { once } from "node:events";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Project } from "./support/rkat-process.ts";

/** A project whose temporary files are its own, so that what is left behind shows. */
async function projectForBench() {
  const project = await Project.open();
  const temporary = join(project.folder, "temporary");
  mkdirSync(temporary);
  const env = { TMPDIR: temporary, TEMP: temporary };
  return { project, env, left: () => readdirSync(temporary) };
}

test("`bench recall --quick --json` prints what was measured, and leaves nothing behind", async () => {
  const { project, env, left } = await projectForBench();
  const { code, stdout } = await project.rkat(["bench", "recall", "--quick", "--json"], "", env);
  expect(code).toBe(0);
  const { machine, tables } = JSON.parse(stdout);
  expect(machine).toMatchObject({ node: process.versions.node, cores: expect.any(Number) });
  expect(tables).toHaveLength(2);
  for (const { suite, method, figures } of tables) {
    expect({ suite, method }).toEqual({ suite: "recall", method: expect.any(String) });
    expect(figures).toContainEqual({
      name: "R@10",
      unit: "%",
      value: expect.any(Number),
      against: { name: "FTS5", value: expect.any(Number) },
      ratio: expect.any(Number),
    });
  }
  expect(left()).toEqual([]);
});

test.for([
  { suite: "memory", figures: ["search p50", "one add", "rkat memory search, whole"] },
  { suite: "vectors", figures: ["hybrid search p99", "open and first result"] },
  { suite: "turns", figures: ["a turn after 10 000 messages"] },
  { suite: "surfaces", figures: ["a token, rest", "rkat --version, whole"] },
])("$suite runs on a small store, and people get a table", async ({ suite, figures }) => {
  const { project, env, left } = await projectForBench();
  const flags = ["--quick", "--size", "1000"];
  const { code, stdout, stderr } = await project.rkat(["bench", suite, ...flags], "", env);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  for (const figure of figures) {
    // What a token adds is a difference of two medians: on a busy machine it may be below zero.
    const line = new RegExp(`^${figure} +-?[\\d.]+ [mµ]s +-?[\\d.]+ [mµ]s .+ × `, "m");
    expect(stdout, stdout).toMatch(line);
  }
  expect(left()).toEqual([]);
});

test("a folder without conversations, a suite that is none and a size that is none are told", async () => {
  const { project, env, left } = await projectForBench();
  for (const [args, complaint] of [
    [["--data", "nowhere"], "nowhere cannot be read"],
    [["--data", "."], "There is no docs.jsonl in"],
    [["turns", "--data", "."], "--data is for the suite recall only"],
    [["speed"], "speed is not a suite"],
    [["--size", "7"], "It must be a whole number from 1000"],
  ] as const) {
    const { code, stdout, stderr } = await project.rkat(["bench", ...args], "", env);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(complaint);
  }
  expect(left()).toEqual([]);
});

test.skipIf(process.platform === "win32")(
  "one that is interrupted leaves nothing behind",
  async () => {
    const { project, env, left } = await projectForBench();
    const { child, ended } = project.start(
      ["bench", "memory", "--size", "1000000", "--json"],
      "",
      env,
    );
    while (left().length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    child.kill("SIGINT");
    const { code, stdout, stderr } = await ended;
    expect({ code, stdout }).toEqual({ code: 130, stdout: "" });
    expect(JSON.parse(stderr)).toMatchObject({ code: "TURN_INTERRUPTED" });
    expect(left()).toEqual([]);
    if (child.exitCode === null) await once(child, "exit");
  },
);
