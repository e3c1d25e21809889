import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "smol-toml";
import { expect, test } from "vitest";
import { configTemplate } from "../src/cli/commands/settings-commands.ts";
import { NOT_SETTINGS } from "../src/config/config-source.ts";
import { loadConfig } from "../src/config/load-config.ts";
import { SETTING_KEYS, SETTINGS } from "../src/config/settings.ts";
import { temporaryFolder } from "./support/obey.ts";

/** Loads settings from the texts of two files and an environment. */
async function load(
  texts: { user?: string; project?: string },
  env: Record<string, string> = {},
  isTrusted = true,
) {
  const folder = await temporaryFolder();
  const userFile = join(folder, "user.toml");
  const projectFile = join(folder, ".rkat", "config.toml");
  mkdirSync(join(folder, ".rkat"));
  if (texts.user !== undefined) writeFileSync(userFile, texts.user);
  if (texts.project !== undefined) writeFileSync(projectFile, texts.project);
  const { config, problem, notes } = await loadConfig({ userFile, projectFile, isTrusted, env });
  const short = (text: string) =>
    text.replaceAll(`${folder}/.rkat/config`, "project").replaceAll(`${folder}/`, "");
  return {
    config,
    problem,
    said: problem && short(problem.message).split("\n"),
    notes: notes.map(short),
  };
}

test("without files and variables every setting has its default", async () => {
  const { config, problem } = await load({}, { PATH: "/bin", RKAT_MODEL: "" });
  expect(problem).toBeUndefined();
  expect(config.get("compaction.auto_compact_threshold")).toBe(100_000);
  expect(config.given("compaction.auto_compact_threshold")).toBeUndefined();
  // As the specification says: what a search found is spared only by a setting.
  expect(config.get("knowledge.eviction")).toBe("fifo");
  expect(config.get("model")).toBeUndefined();
  expect(config.effective().every(({ origin }) => origin === "default")).toBe(true);
});

test("the project's file wins over the user's, and variables over both, key by key", async () => {
  const { config } = await load(
    {
      user: 'model = "anthropic/a"\n[compaction]\nrecent_turn_budget = 9\nmax_summary_tokens = 99',
      project: 'model = "openai/b"\n[compaction]\nrecent_turn_budget = 7',
    },
    { RKAT_MODEL: "google/c", RKAT_COMPACTION__AUTO_COMPACT_THRESHOLD: "4_000" },
  );
  expect(config.get("model")).toBe("google/c");
  expect(config.get("compaction.recent_turn_budget")).toBe(7);
  expect(config.get("compaction.max_summary_tokens")).toBe(99);
  expect(config.get("compaction.auto_compact_threshold")).toBe(4000);
  expect(config.get("compaction.min_turns_between_compactions")).toBe(3);
});

test("every setting says where it comes from", async () => {
  const { config } = await load({ user: "max_tokens = 5" }, { RKAT_MODEL: "google/c" });
  const from = Object.fromEntries(config.effective().map(({ key, origin }) => [key, origin]));
  expect(from).toMatchObject({ model: "RKAT_MODEL", "memory.enabled": "default" });
  expect(from.max_tokens).toMatch(/user\.toml$/);
});

test("a policy that a project tightens is shown once, as it is in force", async () => {
  const { config } = await load(
    {
      user: '[tools.a]\npolicy = "deny"\n[tools.b]\npolicy = "allow"',
      project:
        '[approvals]\ndefault = "deny"\n[tools.a]\npolicy = "ask"\n[tools.b]\npolicy = "ask"\n[tools.c]\npolicy = "ask"',
    },
    {},
    false,
  );
  const shown = config.effective().filter(({ key }) => /^(?:tools\.\w\.|approvals\.d)/.test(key));
  const short = shown.map(({ key, value, origin }) => [key, value, origin.replace(/.*\//, "")]);
  expect(short).toEqual([
    ["approvals.default", "deny", "config.toml"],
    ["tools.a.policy", "deny", "user.toml"],
    ["tools.b.policy", "ask", "config.toml"],
    ["tools.c.policy", "ask", "config.toml"],
  ]);
});

test("providers and context windows have names of the user's choice", async () => {
  const { config } = await load(
    {
      user: '[providers.groq]\nbase_url = "https://api.groq.com/openai/v1"\napi_key_env = "GROQ"',
      project: '[context_windows]\n"ollama/llama3.2" = 8_192',
    },
    { RKAT_PROVIDERS__OPENAI__BASE_URL: "https://gateway.example/v1" },
  );
  expect(config.providers).toEqual({
    groq: { base_url: "https://api.groq.com/openai/v1", api_key_env: "GROQ" },
    openai: { base_url: "https://gateway.example/v1" },
  });
  expect(config.contextWindows).toEqual({ "ollama/llama3.2": 8192 });
});

test("everything that is wrong is said at once, with the file, the key, the value and what is allowed", async () => {
  const { said, problem } = await load(
    {
      project: [
        'modle = "openai/b"',
        "recent_turn_budget = 3",
        "max_tokens = -4",
        "memory = true",
        "[compaction]",
        'on_summary_failure = "maybe"',
        "auto_compact_threshold = 2.5",
        "[compactoin]",
        "max_summary_tokens = 3",
        "[budget]",
        'max_duration = "two days"',
        "max_tool_calls = [1]",
        "[context_windows]",
        '"openai/gpt-5" = "big"',
      ].join("\n"),
    },
    { RKAT_MODLE: "x", RKAT_MAX_TOKENS: "many" },
  );
  expect(problem?.code).toBe("INVALID_CONFIG");
  expect(said).toMatchInlineSnapshot(`
    [
      "The configuration is not valid. 12 problems:",
      "project.toml: modle is not a setting. Did you mean model?",
      "project.toml: recent_turn_budget is not a setting. Did you mean compaction.recent_turn_budget?",
      "project.toml: max_tokens is -4; it must be a whole number, 1 or more.",
      "project.toml: memory is a section: write [memory].",
      "project.toml: compaction.on_summary_failure is "maybe"; it must be "keep" or "fallback".",
      "project.toml: compaction.auto_compact_threshold is 2.5; it must be a whole number, 1 or more.",
      "project.toml: compactoin is not a setting. Did you mean compaction?",
      "project.toml: budget.max_duration is "two days"; it must be a duration such as "90s" or "1h30m", or seconds.",
      "project.toml: budget.max_tool_calls is a list; it must be a whole number, 1 or more.",
      "project.toml: context_windows."openai/gpt-5" is "big"; it must be a whole number, 1 or more.",
      "environment: RKAT_MODLE is not a setting. Did you mean RKAT_MODEL?",
      "environment: RKAT_MAX_TOKENS is "many"; it must be a whole number, 1 or more.",
    ]
  `);
});

test("TOML that cannot be read is told with file, line and column, and without an excerpt", async () => {
  const { said } = await load({ project: 'model = "a/b"\n[compaction\nsecret = "hunter2"' });
  expect(said).toMatchInlineSnapshot(`
    [
      "The configuration is not valid. project.toml, line 2, column 12: illegal character in key.",
    ]
  `);
});

test("why a file of settings cannot be read is said in words", async () => {
  const folder = await temporaryFolder();
  const projectFile = join(folder, ".rkat", "config.toml");
  const told = async (userFile: string) => {
    const { problem } = await loadConfig({ userFile, projectFile, isTrusted: true, env: {} });
    return problem?.message.replace(folder, "");
  };
  symlinkSync(join(folder, "again.toml"), join(folder, "again.toml"));
  const start = "The configuration is not valid. ";
  expect(await told(join(folder, "again.toml"))).toBe(
    `${start}/again.toml cannot be read: its path has too many links.`,
  );
  expect(await told(folder)).toBe(`${start} cannot be read: it is not a regular file.`);
});

test("no message shows what may be a key", async () => {
  const secret = "sk-live-0123456789";
  const { said } = await load(
    { user: `[providers.openai]\napi_key = "${secret}"\napi_key_env = "${secret}"` },
    { RKAT_PROVIDERS__OPENAI__API_KEY_ENV: secret },
  );
  expect(said?.join("\n")).not.toContain(secret);
  expect(said).toMatchInlineSnapshot(`
    [
      "The configuration is not valid. 3 problems:",
      "user.toml: providers.openai.api_key is not a setting, because files must not contain keys. Put the key into an environment variable, and its name into api_key_env.",
      "user.toml: providers.openai.api_key_env must be the name of an environment variable, such as "OPENAI_API_KEY" (never the key itself).",
      "environment: RKAT_PROVIDERS__OPENAI__API_KEY_ENV must be the name of an environment variable, such as "OPENAI_API_KEY" (never the key itself).",
    ]
  `);
});

test("`rkat config` shows no password of an address", async () => {
  const { config } = await load({
    user: '[providers.a]\nbase_url = "https://me:pass@host.example/v1"',
  });
  expect(JSON.stringify(config.effective())).not.toContain("pass@");
  expect(config.providers.a?.base_url).toBe("https://me:pass@host.example/v1");
});

test("a project's file cannot send a key to another machine", async () => {
  const project = (address: string) =>
    load({ project: `[providers.openai]\nbase_url = "${address}"` });
  for (const address of ["http://127.0.0.1:1/v1", "http://localhost:1/v1", "http://[::1]:1/v1"]) {
    expect((await project(address)).problem).toBeUndefined();
  }
  for (const address of [
    "https://evil.example/v1",
    "http://127.0.0.1.evil.example",
    "http://localhost@evil.example",
  ]) {
    expect((await project(address)).said?.join()).toContain("names another machine");
  }
});

test("a project's file cannot send texts to another machine either", async () => {
  const base_url = 'base_url = "https://evil.example/v1"';
  const { said } = await load({ project: `[embeddings]\n${base_url}` });
  expect(said?.join()).toContain("embeddings.base_url names another machine");
  expect((await load({ user: `[embeddings]\n${base_url}` })).problem).toBeUndefined();
});

test("settings of the originals are read, and a note says as what", async () => {
  const { config, problem, notes } = await load({
    project: [
      "[memory]",
      "enable_persistence = false",
      'persist_path = "/var/memory"',
      "compression_threshold = 0.7",
      "[search]",
      "enabled = true",
      'index_path = ".rustant/search_index"',
      'db_path = ".rustant/vectors.db"',
      "vector_dimensions = 128",
      "full_text_weight = 0.5",
      "vector_weight = 0.5",
      "max_results = 10",
      "[embedding]",
      'provider = "fastembed"',
      "dimensions = 0",
      "batch_size = 16",
      "cache_embeddings = true",
      "[knowledge]",
      "min_entries_for_distillation = 3",
      'knowledge_path = "/var/knowledge.json"',
    ].join("\n"),
  });
  expect(problem).toBeUndefined();
  expect(config.get("capabilities.memory_store")).toBe(false);
  expect(config.get("search.index_dir")).toBe(".rustant/search_index");
  expect(config.get("search.max_results")).toBe(10);
  expect(config.get("embeddings.provider")).toBe("fast");
  expect(config.get("embeddings.dimensions")).toBeUndefined();
  expect(config.get("embeddings.batch_size")).toBe(16);
  expect(config.get("knowledge.min_entries")).toBe(3);
  expect(notes).toMatchInlineSnapshot(`
    [
      "project.toml: memory.enable_persistence is read as capabilities.memory_store.",
      "project.toml: memory.persist_path has no effect: memory is kept in .rkat in the folder that --dir names.",
      "project.toml: memory.compression_threshold has no effect: compaction.auto_compact_threshold sets, in tokens, when a history is compacted.",
      "project.toml: search.index_path is read as search.index_dir.",
      "project.toml: search.db_path has no effect: vectors are kept in .rkat/rkat.db, or in search.index_dir.",
      "project.toml: search.vector_dimensions has no effect: the embedder knows them; if not, set embeddings.dimensions.",
      "project.toml: search.full_text_weight has no effect: words and meaning are combined without a weight.",
      "project.toml: search.vector_weight has no effect: words and meaning are combined without a weight.",
      "project.toml: embedding.provider is read as embeddings.provider = "fast".",
      "project.toml: embedding.dimensions is read as embeddings.dimensions = its default.",
      "project.toml: embedding.batch_size is read as embeddings.batch_size.",
      "project.toml: embedding.cache_embeddings has no effect: the vectors of models are always cached.",
      "project.toml: knowledge.min_entries_for_distillation is read as knowledge.min_entries.",
      "project.toml: knowledge.knowledge_path has no effect: knowledge is kept in .rkat/rkat.db.",
      "search.enabled, search.index_dir, search.max_results, embeddings.provider, embeddings.batch_size and knowledge.min_entries have no effect, because capabilities.memory_store = false (project.toml).",
    ]
  `);
});

test.each([
  [
    '[memory]\nindex = "all"\n[knowledge]\nmax_rules = 3\n[capabilities]\nmemory_store = false',
    "memory.index and knowledge.max_rules have no effect, because capabilities.memory_store = false",
  ],
  [
    "[knowledge]\nenabled = false\nmax_rules = 3",
    "knowledge.max_rules has no effect, because knowledge.enabled = false",
  ],
  [
    "[search]\nenabled = false\nmax_results = 3",
    "search.max_results has no effect, because search.enabled = false",
  ],
])("what is configured for something that is off is reported: %s", async (project, said) => {
  expect((await load({ project })).notes).toEqual([expect.stringContaining(said)]);
});

test("where a file gives a setting by both names, ours counts", async () => {
  const project = '[embeddings]\nprovider = "ollama"\n[embedding]\nprovider = "openai"';
  expect((await load({ project })).config.get("embeddings.provider")).toBe("ollama");
});

test("what is wrong in a setting by another name is said of our name", async () => {
  const { said } = await load({ project: "[embedding]\nbatch_size = -1\nfoo = 1" });
  expect(said).toMatchInlineSnapshot(`
    [
      "The configuration is not valid. 2 problems:",
      "project.toml: embeddings.batch_size is -1; it must be a whole number, 1 or more.",
      "project.toml: embedding.foo is not a setting. \`rkat config\` lists them all.",
    ]
  `);
});

test("a byte order mark and Windows line ends do no harm", async () => {
  const { config, problem } = await load({ project: '\uFEFFmodel = "a/b"\r\nmax_tokens = 3\r\n' });
  expect(problem).toBeUndefined();
  expect(config.get("max_tokens")).toBe(3);
});

test("the template of `rkat init` names every setting that a project may have, and is valid with and without its comments", async () => {
  const template = configTemplate();
  expect((await load({ project: template })).problem).toBeUndefined();
  const bare = template.replace(/^# (?=[\w".]+ = |\[)/gm, "");
  const { config, problem } = await load({ project: bare });
  expect(problem).toBeUndefined();
  const notSet = config.effective().filter(({ origin }) => origin === "default");
  const forbidden = SETTING_KEYS.filter((key) => SETTINGS[key].project === "never");
  expect(notSet.map(({ key }) => key)).toEqual(forbidden);
  expect(Object.keys(parse(bare)).length).toBeGreaterThan(0);
});

/** The example of the specification, and what a user would paste from a page. */
const PASTED = `
[memory]
window_size = 12
enable_persistence = true
[search]
index_path = ".rustant/search_index"
max_results = 10
[embeddings]
provider = "local"
dimensions = 384
[compaction]
auto_compact_threshold = 60_000
[providers.ollama]
base_url = "http://127.0.0.1:11434/v1"
[tools.shell]
policy = "ask"
[context_windows]
"ollama/llama3.2" = 8192
`;

test("sections that are pasted below or above the template of `rkat init` are read", async () => {
  const template = configTemplate();
  for (const text of [template + PASTED, `${PASTED}\n${template}`]) {
    const { config, problem } = await load({ project: text });
    expect(problem).toBeUndefined();
    expect(config.get("memory.window_size")).toBe(12);
  }
  // Whatever section it is, and whichever of the template's settings are used with it.
  const sections = [...new Set(SETTING_KEYS.filter((key) => key.includes(".")))].map((key) =>
    key.replaceAll("*", "own").split(".").slice(0, -1),
  );
  for (const path of sections) {
    const { problem } = await load({ project: `${template}\n[${path.join(".")}]\n` });
    expect(problem).toBeUndefined();
  }
});

test("a section that is there twice is an error with the way out", async () => {
  const { problem } = await load({ project: "[memory]\nwindow_size = 3\n[memory]\n" });
  expect(problem?.message).toContain("A section can be there only once, so put its settings under");
});

test("a setting that is there twice is not called a section", async () => {
  const { problem } = await load({ project: "[memory]\nwindow_size = 3\nwindow_size = 4\n" });
  expect(problem?.message).toContain("A setting can be there only once, so remove one of the two");
});

test("docs/configuration.md has the table of all settings", () => {
  const docs = readFileSync("docs/configuration.md", "utf8");
  for (const key of SETTING_KEYS) {
    const { kind, default: value, project, removes, description } = SETTINGS[key];
    const shown =
      value === undefined ? "" : `\`${(kind.write as (value: unknown) => string)(value)}\``;
    expect(docs).toContain(
      `| \`${key}\` | ${kind.allowed} | ${shown} | ${project} | ${removes} | ${description} |`,
    );
  }
});

test("docs/configuration.md has the table of the variables that are no settings", () => {
  const [docs = ""] = readFileSync("docs/configuration.md", "utf8").split("## All settings");
  const rows = docs.matchAll(/^\| `(RKAT_[A-Z]+)` \| (.*) \|$/gm);
  expect(Object.fromEntries(Array.from(rows, ([, name, does]) => [name, does]))).toEqual(
    NOT_SETTINGS,
  );
});

test.each(Object.keys(NOT_SETTINGS))("no file can set %s", async (name) => {
  const text = `${name.slice("RKAT_".length).toLowerCase()} = "/theirs"\n`;
  expect((await load({ project: text })).problem?.message).toContain("is not a setting");
  expect((await load({ user: text })).problem?.message).toContain("is not a setting");
});
