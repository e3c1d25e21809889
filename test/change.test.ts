import { existsSync, globSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { SETTING_KEYS } from "../src/config/settings.ts";
import { RANKING } from "../src/indexing/score/ranking-weights.ts";
import { findSecrets } from "../src/secrets/redact-secrets.ts";
import { SECRET_FORMS } from "../src/secrets/secret-forms.ts";
import { IMPORT_FORMATS } from "../src/transcripts/import-formats.ts";
import { TRANSCRIPT_SAMPLES } from "./support/transcript-samples.ts";
import { sampled } from "./support/trials.ts";

// docs/change.md says which files a usual change touches. Each of today's stores, operations, formats … is a change that
// was made: it has to be found in the files that the page names, and nowhere else that a newcomer would have to guess.

const PAGE = read("docs/change.md");

function read(file: string): string {
  return readFileSync(file, "utf8");
}

/** The sources and supports of tests that have a text. */
function filesWith(text: RegExp): readonly string[] {
  const exclude = ["**/node_modules/**", "test/change.test.ts"];
  const files = globSync(["src/**/*.{ts,tsx}", "test/*.ts", "test/{attack,support}/**/*.ts"], {
    exclude,
  });
  return files.filter((file) => text.test(read(file)));
}

/** The files that the page names for a change. */
function filesFor(change: string): readonly string[] {
  const [, section = ""] = PAGE.split(new RegExp(`^## ${change}$`, "m"));
  const [table = ""] = section.split(/^## /m);
  const rows = table.split("\n").filter((line) => line.startsWith("| `"));
  return rows.flatMap((row) =>
    Array.from((row.split("|")[1] ?? "").matchAll(/`([^`]+)`/g), ([, file = ""]) => file),
  );
}

const CHANGES = [...PAGE.matchAll(/^## (.*)$/gm)].map(([, change = ""]) => change);

test("the page has ten changes, and each file that it names is there", () => {
  expect(CHANGES).toHaveLength(10);
  for (const change of CHANGES) {
    const files = filesFor(change);
    expect(files.length, change).toBeGreaterThan(1);
    expect(files.filter((file) => !existsSync(file))).toEqual([]);
    const again = files.filter((file, at) => files.indexOf(file) !== at);
    expect(again, `${change} names a file twice`).toEqual([]);
  }
});

/** Tables of the code that have a row for every one of a kind. A table of this sort is on the page. */
const WHOLE_TABLES = {
  "An operation": /(?<!Partial<(?:Readonly<)?)Record<OperationName,|^ {2}"knowledge unpin": /m,
  "A kind of event": /\[\w+ in DurableEvent\["type"\]\]|\[\w+ in Type\]/,
  "A format of transcripts": /(?<!Partial<(?:Readonly<)?)Record<AgentName,|^export const AGENTS\b/m,
  "A setting": /(?<!Partial<(?:Readonly<)?)Record<SettingKey,|^export const SETTINGS\b/m,
  "A host": /^ {2}"openai-agents",\n {2}"json-rpc",$/m,
  "A store": /^ {2}"openai-agents",\n {2}"json-rpc",$/m,
};

test.each(Object.entries(WHOLE_TABLES))(
  "%s: each table that needs a row of it is named",
  (change, table) => {
    const files = filesWith(table);
    expect(files.length).toBeGreaterThan(0);
    expect(files.filter((file) => !filesFor(change).includes(file))).toEqual([]);
  },
);

test("a store: the laws have a row for each store", () => {
  const laws = read("test/laws.test.ts") + read("test/memory-laws.test.ts");
  for (const folder of ["ephemeral", "sqlite", "postgres"]) expect(laws).toContain(folder);
  for (const file of filesFor("A store").filter((each) => each.includes("sqlite"))) {
    const twin = file.replaceAll("sqlite", "postgres").replace("event-commands", "append-events");
    expect(existsSync(twin), `${file} has a twin for PostgreSQL`).toBe(true);
  }
});

test("an operation: the page names the places that test/operations.test.ts looks at, and no other source", () => {
  const asked = read("test/operations.test.ts").matchAll(
    /^ {2}"[^"]*?: ((?:src|docs|test)\/[\w./<>-]+)": /gm,
  );
  const places = Array.from(
    asked,
    ([, place = ""]) => new RegExp(`^${place.replace("<area>", "[a-z-]+(?:/[a-z-]+)?")}`),
  );
  expect(places.length).toBeGreaterThan(10);
  const named = filesFor("An operation");
  const lacking = places.filter((place) => !named.some((file) => place.test(file)));
  expect(lacking.map(String)).toEqual([]);
  const sources = named.filter((file) => file.startsWith("src/"));
  const others = sources.filter((file) => !places.some((place) => place.test(file)));
  expect(others).toEqual([]);
  // A new command on sessions is in its own file only.
  const group = read("src/cli/commands/sessions/sessions-command.ts");
  expect(group.match(/^ {4}\w+Command(?=,$)/gm)).toEqual([
    "    createCommand",
    "    appendCommand",
  ]);
  // Five files, the row of a new area, a sentence for a new field, and a law.
  expect(sources.length).toBe(5 + 3);
});

test("a format: each has a sample, and its agent is in docs/import.md", () => {
  const docs = read("docs/import.md").toLowerCase();
  const sampled = new Set<unknown>(TRANSCRIPT_SAMPLES.map(({ format }) => format));
  const withOwnTests = globSync("src/transcripts/**/*-format.test.ts").join();
  for (const format of IMPORT_FORMATS) {
    const hasSample = sampled.has(format) || withOwnTests.includes(format.agent);
    expect(hasSample, format.agent).toBe(true);
    const [name = ""] = format.agent.split("-");
    expect(docs, format.agent).toMatch(new RegExp(`\\b${name}`));
  }
});

test("a host: each has a door, an export, tests with its own package, and a section", () => {
  const { exports } = JSON.parse(read("package.json")) as { exports: Record<string, unknown> };
  const docs = read("docs/hosts.md") + read("docs/install.md");
  for (const host of [
    "ai-sdk",
    "langchain",
    "mastra",
    "openai-agents",
    "claude",
    "pi",
    "opencode",
  ]) {
    expect(exports).toHaveProperty([`./${host}`]);
    expect(existsSync(`src/${host}.ts`), host).toBe(true);
    expect(existsSync(`test/hosts/${host}.test.ts`), host).toBe(true);
    expect(docs, host).toContain(`rkat/${host}`);
  }
});

test("a setting: each is read by its key where settings become options", () => {
  const sources = globSync("src/{app,cli,config}/**/*.ts")
    .filter((file) => !file.endsWith(".test.ts") && file !== "src/config/settings.ts")
    .map(read)
    .join("\n");
  // Tables of names of your choice are read whole, by the field of `Config` that has them.
  const isNamed = (key: string) => key.includes("*");
  const unread = SETTING_KEYS.filter((key) => !isNamed(key) && !sources.includes(`"${key}"`));
  expect(unread).toEqual([]);
});

test("a kind of event: each is in the tables that the page names", () => {
  const event = read("src/core/event.ts");
  const forgetting = read("src/forgetting/forget-event.ts");
  const secrets = read("src/secrets/redact-message.ts");
  const shapes = read("src/core/event-shape.ts");
  const [durable = ""] = /export type DurableEvent =[^;]*;/s.exec(event) ?? [];
  const kinds = [...event.matchAll(/readonly type: "([a-z_]+)"/g)].map(([, kind = ""]) => kind);
  expect(durable).not.toBe("");
  expect(kinds.length).toBeGreaterThan(30);
  const transient = /delta|truncated/;
  for (const kind of kinds.filter((each) => !transient.test(each))) {
    expect(shapes, `${kind} in event-shape.ts`).toMatch(new RegExp(`^  ${kind}: `, "m"));
    expect(forgetting, `${kind} in forget-event.ts`).toMatch(new RegExp(`\\b${kind}\\b`));
    expect(secrets, `${kind} in redact-message.ts`).toMatch(new RegExp(`\\b${kind}\\b`));
  }
});

test("a flag before the command: the reference has it", () => {
  const flags = [...read("src/cli/main.ts").matchAll(/\.option\("(--[a-z]+) </g)];
  expect(flags.length).toBeGreaterThan(2);
  const docs = read("docs/cli.md");
  expect(flags.map(([, flag = ""]) => flag).filter((flag) => !docs.includes(flag))).toEqual([]);
});

test("a kind of credential: the row of an issuer is all that finding its credentials takes", () => {
  expect(filesFor("A kind of credential")[0]).toBe("src/secrets/secret-forms.ts");
  const missed = sampled(SECRET_FORMS, { of: 8, at: 3 }, "cases").filter(({ form, check }) => {
    const shortest = form.replace(/\{(\d+),\d+\}/g, "{$1}").replaceAll("\\b", "");
    const like = fc.stringMatching(new RegExp(`^(?:${shortest})$`));
    const [secret = ""] = fc.sample(like, { numRuns: 1, seed: 1 });
    const isOne = check?.(secret) !== false;
    return isOne && findSecrets(`It is ${secret} here.`).length === 0;
  });
  expect(missed.map(({ kind }) => kind)).toEqual([]);
});

test("a weight of the ranking: each is used in a step of the score", () => {
  const steps = globSync("src/indexing/score/*.ts")
    .filter((file) => !/ranking-weights|\.test\./.test(file))
    .map(read)
    .join("\n");
  const decision = read("docs/decisions/0004-ranking.md");
  expect(decision).toContain("ranking-weights.ts");
  for (const name of Object.keys(RANKING)) expect(steps).toMatch(new RegExp(`\\b${name}\\b`));
});

test("a prompt: no other source tells a model what it is", () => {
  const told = globSync("src/**/*.ts").filter(
    // The laws and the template of settings have samples of a user's prompt.
    (file) =>
      !/\.test\.ts$|^src.testing.|settings-commands/.test(file) &&
      /[`"](?:You are|Your job is|You turn) |^Your context|\[Recalled from memory\]/m.test(
        read(file),
      ),
  );
  expect(told.filter((file) => !filesFor("A prompt").includes(file))).toEqual([]);
});

test("a prompt: the file of each built-in tool is named", () => {
  const tools = globSync("src/tools/**/*.ts").filter(
    (file) => !file.endsWith(".test.ts") && /^ +description:/m.test(read(file)),
  );
  expect(tools.length).toBeGreaterThan(4);
  expect(tools.filter((file) => !filesFor("A prompt").includes(file))).toEqual([]);
});

test.each(["docs/design.md", "CONTRIBUTING.md"])(
  "%s names each folder of src, and no other",
  (page) => {
    const folders = [
      ...new Set(globSync("src/*/**/*.ts").map((file) => file.split(/[\\/]/)[1] ?? "")),
    ];
    const [tree = ""] = /^```\n(?:rkat\/|src\/\*)[\s\S]*?```/m.exec(read(page)) ?? [];
    expect(folders.filter((folder) => !tree.includes(`${folder}/`))).toEqual([]);
    const named = [...tree.matchAll(/(?:src\/|├─ |└─ )([a-z-]+)\//g)].map(([, name = ""]) => name);
    const others = ["src", "test", "bench", "scripts", "docs", "demo", "examples"];
    expect(named.filter((name) => ![...folders, ...others].includes(name))).toEqual([]);
  },
);
