import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Config } from "../../src/config/config.ts";
import type { ConfigOwner } from "../../src/config/config-source.ts";
import { SETTING_KEYS, SETTINGS, type SettingKey } from "../../src/config/settings.ts";
import type { Stores } from "../../src/core/stores.ts";
import { sqliteStores } from "../../src/sqlite.ts";
import { freshSchema, hasPostgres, NEEDS_POSTGRES, postgresUrl } from "../support/postgres.ts";
import { providerForTest } from "../support/provider-for-test.ts";
import { Project } from "../support/rkat-process.ts";
import { sampled } from "../support/trials.ts";

/** As a stranger's file may have them: what deletes most is at an end of what a setting takes. */
const EXTREMES = [0, 1, 1_000_000, 0.01, 1, false, true, "deny", "read", "none", "log", "fallback"];

function extremesOf(key: SettingKey): readonly unknown[] {
  const { kind } = SETTINGS[key];
  const choices = Array.from(kind.allowed.matchAll(/"(\w+)"/g), ([, choice]) => choice);
  return [...new Set([...EXTREMES, ...choices])].filter((value) => kind.read(value) !== undefined);
}

function configured(key: SettingKey, value: unknown, owner: ConfigOwner, store?: string): Config {
  const path = key.replaceAll("*", "any").split(".");
  const found = { key, path, value: SETTINGS[key].kind.read(value), origin: "a file" };
  return new Config([{ owner, name: "a file", settings: [found], problems: [] }], { store });
}

const ANSWER = /^(?:nothing|its own \S.*|everyone's \S.*)$/;

test.each(SETTING_KEYS)("the table says whether %s can remove something, and whose", (key) => {
  expect(SETTINGS[key].removes).toMatch(ANSWER);
});

test.each(SETTING_KEYS.filter((key) => SETTINGS[key].removes !== "nothing"))(
  "%s can remove something: a file that is not trusted does not set it",
  (key) => {
    for (const value of extremesOf(key)) {
      const config = configured(key, value, "project");
      expect(config.effective()).toEqual(new Config([]).effective());
      expect(config.ignored).toHaveLength(1);
    }
  },
);

test.each(SETTING_KEYS)(
  "in a shared store, a trusted file sets %s only if it reaches no rows of others",
  (key) => {
    const reachesOthers = SETTINGS[key].removes.startsWith("everyone's");
    for (const value of extremesOf(key)) {
      const { ignored } = configured(key, value, "trusted project", "postgres://a/b");
      expect(ignored).toHaveLength(reachesOthers ? 1 : 0);
    }
  },
);

/** A `config.toml` in which each setting has the n-th of its extremes. */
function hostileToml(nth: number): string {
  const lines = SETTING_KEYS.flatMap((key) => {
    const extremes = extremesOf(key);
    if (extremes.length === 0 || key === "search.index_dir") return [];
    const write = SETTINGS[key].kind.write as (value: unknown) => string;
    const value = SETTINGS[key].kind.read(extremes[nth % extremes.length]);
    return [`${key.replaceAll("*", "any")} = ${write(value)}`];
  });
  return `${lines.join("\n")}\n`;
}

/** What a store keeps, a line for each thing. */
async function kept(stores: Stores): Promise<ReadonlySet<string>> {
  const lines = new Set<string>();
  for (const [where, part] of Object.entries({ live: stores, trash: stores.trash })) {
    if (!part) continue;
    const { sessions, events } = part;
    for (const { id } of await sessions.list({ includeArchived: true })) {
      lines.add(`${where} ${id}`);
      for await (const { seq, event } of events.read(id, 0)) {
        lines.add(`${where} ${id} ${seq} ${JSON.stringify(event)}`);
      }
    }
  }
  for (const { id, content } of await stores.knowledge.list({ limit: 10_000 })) {
    lines.add(`knowledge ${id} ${content}`);
  }
  return lines;
}

async function keptIn(project: Project): Promise<ReadonlySet<string>> {
  const stores = sqliteStores({ path: join(project.folder, ".rkat", "rkat.db") });
  try {
    return await kept(stores);
  } finally {
    await stores.close();
  }
}

/** Sessions that can be restored, one that is archived, one that goes on, and six preferences. */
async function fill(rkat: (...args: string[]) => Promise<unknown>): Promise<void> {
  for (const text of ["apples", "pears", "plums"]) {
    await rkat("run", `I like ${text}.`);
    await rkat(
      "sessions",
      text === "plums" ? "archive" : "delete",
      "last",
      ...(text === "plums" ? [] : ["--yes"]),
    );
  }
  await rkat("run", "We build with make.");
  for (const tool of ["npm", "tabs", "vim", "git", "bash", "jest"]) {
    await rkat("knowledge", "add", `Always use ${tool}.`);
  }
}

const COMMANDS = [
  ["sessions", "list"],
  ["sessions", "list", "--deleted"],
  ["knowledge", "list"],
  ["knowledge", "add", "Never use emacs."],
  ["memory", "search", "apples"],
  ["continue", "Go on."],
  ["run", "Hello."],
] as const;

test.each(sampled([0, 1, 2], { of: 3, at: 2 }, "attacks"))(
  "whatever a pulled config.toml says, no command removes anything (values %i)",
  async (nth) => {
    const project = await Project.open({ provider: await providerForTest() });
    // Yours: what a compaction takes out of the window is deleted at once.
    project.writeOwnConfig("[sessions]\nkeep_compacted_days = 0\n");
    const rkat = (...args: string[]) => project.rkat(args, "", { RKAT_TRUST: "" });
    await fill(async (...args) => expect(await rkat(...args)).toMatchObject({ code: 0 }));
    const before = await keptIn(project);
    expect([...before].filter((line) => /^trash \S+$/.test(line))).toHaveLength(2);

    project.write(".rkat/config.toml", hostileToml(nth));
    for (const command of COMMANDS) {
      const { stderr } = await rkat(...command);
      expect(stderr).not.toContain("The configuration is not valid");
    }
    const after = await keptIn(project);
    expect([...before].filter((line) => !after.has(line))).toEqual([]);
  },
);

const LINES = ["sessions.keep_deleted_days = 0", "knowledge.max_corrections = 1"];
test.each(sampled(LINES, { of: 2, at: 0 }, "attacks"))(
  "a line of a pulled file deletes nothing: %s",
  async (line) => {
    const project = await Project.open({ provider: await providerForTest() });
    const rkat = (...args: string[]) => project.rkat(args, "", { RKAT_TRUST: "" });
    await fill(rkat);
    const before = await keptIn(project);
    writeFileSync(join(project.folder, ".rkat", "config.toml"), `${line}\n`);
    await rkat("sessions", "list");
    await rkat("knowledge", "add", "Never use emacs.");
    const after = await keptIn(project);
    expect([...before].filter((one) => !after.has(one))).toEqual([]);
    // In a file that you trust it is your word.
    await project.rkat(["sessions", "list"]);
    await project.rkat(["knowledge", "add", "Never use nano."]);
    expect((await keptIn(project)).size).toBeLessThan(after.size);
  },
);

describe.skipIf(!hasPostgres)("a store that projects share", NEEDS_POSTGRES, () => {
  // Takes over two seconds: each setting that deletes is tried with a command.
  test("another project's file, trusted or not, removes nothing of what others keep there", async () => {
    const url = new URL(await postgresUrl());
    url.searchParams.set("schema", await freshSchema());
    const provider = await providerForTest();
    const here = await Project.open({ provider, store: url.href });
    await fill((...args) => here.rkat(args));
    const { postgresStores } = await import("../../src/postgres.ts");
    const { postgresAddress } = await import("../../src/stores/postgres/server-address.ts");
    const stores = postgresStores(postgresAddress(url.href));
    try {
      const before = await kept(stores);
      const there = await Project.open({ provider, store: url.href, config: hostileToml(0) });
      for (const RKAT_TRUST of ["", "true"]) {
        for (const command of [
          ["sessions", "list"],
          ["knowledge", "add", "Never use nano."],
        ]) {
          await there.rkat(command, "", { RKAT_TRUST });
        }
      }
      const after = await kept(stores);
      expect([...before].filter((line) => !after.has(line))).toEqual([]);
      const { stderr, stdout } = await there.rkat(["config"]);
      expect(stdout + stderr).toMatch(/ignored .*keep_deleted_days.*other projects may share/);
    } finally {
      await stores.close();
    }
  });
});
