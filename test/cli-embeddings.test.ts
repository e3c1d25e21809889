import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openEmbedder } from "../src/index.ts";
import { providerForTest } from "./support/provider-for-test.ts";
import type { ProviderServer } from "./support/provider-server/provider-server.ts";
import { Project } from "./support/rkat-process.ts";
import { writeTinySentenceModel } from "./support/tiny-sentence-model.ts";
import { float32, safetensors, vectors, writeTinyTable } from "./support/tiny-static-table.ts";
import { sampled } from "./support/trials.ts";

const ENTRIES = [
  "The deploy of the billing service failed on Friday.",
  "Oranges grow well near warm seas.",
  "The tests pass on Node 24.",
]
  .map((content, index) => JSON.stringify({ id: `${index}`, content, session_id: "s" }))
  .join("\n");

async function projectWith(config: string, options: Parameters<typeof Project.open>[0] = {}) {
  const project = await Project.open({ config, ...options });
  project.write("entries.jsonl", ENTRIES);
  return project;
}

/** The same, with settings of the user's own, which alone may say where a key goes. */
async function projectOf(config: string, provider: ProviderServer) {
  const project = await projectWith("", { provider });
  project.writeOwnConfig(config);
  return project;
}

async function found(project: Project, ...args: string[]) {
  const { stdout, stderr, code } = await project.rkat(["memory", "search", "--json", ...args]);
  expect(stderr.includes("warning") ? stderr : "").toBe("");
  expect(code).toBe(0);
  return (JSON.parse(stdout) as { content: string }[]).map(({ content }) => content.split(" ")[0]);
}

test("[memory] store chooses the HNSW store, which keeps its index in [search] index_dir", async () => {
  const project = await projectWith('[memory]\nstore = "hnsw"\n[search]\nindex_dir = "my/index"');
  expect((await project.rkat(["memory", "add", "--jsonl", "entries.jsonl"])).code).toBe(0);
  expect((await found(project, "warm oranges"))[0]).toBe("Oranges");
  expect(existsSync(join(project.folder, "my/index/memory.hnsw"))).toBe(true);
  const { stdout } = await project.rkat(["memory", "stats"]);
  expect(stdout).toContain("HNSW, cosine, M 16, efConstruction 200");
  // The entries are in the database, where the other store finds them.
  project.write(".rkat/config.toml", "");
  expect((await found(project, "warm oranges"))[0]).toBe("Oranges");
});

test.each(["openai", "ollama"] as const)(
  "vectors come from %s when the settings say so",
  async (name) => {
    const provider = await providerForTest();
    const project = await projectOf(
      `[memory]\nstore = "hnsw"\n[embeddings]\nprovider = "${name}"\nbatch_size = 2\nbase_url = "${provider.urls[name]}"`,
      provider,
    );
    expect((await project.rkat(["memory", "add", "--jsonl", "entries.jsonl"])).code).toBe(0);
    expect((await found(project, "deploy billing"))[0]).toBe("The");
    const asked = provider.requests.map(({ body }) => (body.input as string[]).length);
    expect(asked).toEqual([2, 1, 1]);
    expect(provider.problems).toEqual([]);
  },
);

test("the database has the vectors of new entries before the command that adds them ends", async () => {
  const provider = await providerForTest();
  const project = await projectOf(
    `[embeddings]\nprovider = "openai"\nbase_url = "${provider.urls.openai}"`,
    provider,
  );
  expect((await project.rkat(["memory", "add", "--jsonl", "entries.jsonl"])).code).toBe(0);
  const { stdout } = await project.rkat(["memory", "stats"]);
  expect(stdout).toMatch(/vectors +3 of openai\/text-embedding-3-small\/1536/);
});

test("a server that starts with another embedder makes vectors before the first search", async () => {
  const provider = await providerForTest();
  const from = (model: string) =>
    `[embeddings]\nprovider = "openai"\nmodel = "${model}"\nbase_url = "${provider.urls.openai}"`;
  const project = await projectOf(from("text-embedding-3-small"), provider);
  expect((await project.rkat(["memory", "add", "--jsonl", "entries.jsonl"])).code).toBe(0);
  project.writeOwnConfig(from("text-embedding-3-large"));
  project.start(["serve", "--port", "0"]);
  await expect
    .poll(async () => (await project.rkat(["memory", "stats"])).stdout)
    .toMatch(/vectors +3 of openai\/text-embedding-3-large\/3072$/m);
});

test("the settings can name an embedding model on this machine", async () => {
  const project = await projectWith(
    '[memory]\nstore = "hnsw"\n[embeddings]\nprovider = "fast"\nmodel = "model"',
  );
  writeTinySentenceModel(join(project.folder, "model"));
  expect((await project.rkat(["memory", "add", "--jsonl", "entries.jsonl"])).code).toBe(0);
  expect((await found(project, "oranges near warm seas"))[0]).toBe("Oranges");
});

test("without the configured model, search uses words, and a warning says what to do", async () => {
  const project = await projectWith('[embeddings]\nprovider = "fast"');
  const added = await project.rkat(["memory", "add", "--jsonl", "entries.jsonl"]);
  expect([added.code, added.stderr]).toEqual([
    0,
    expect.stringMatching(/^warning: Memory uses words only\. .*hf download/),
  ]);
  const doctor = await project.rkat(["doctor"]);
  expect([doctor.code, doctor.stdout]).toEqual([
    1,
    expect.stringMatching(/✗ embeddings +.*hf download/),
  ]);
  const { code, stdout } = await project.rkat(["memory", "search", "warm oranges"]);
  expect([code, stdout]).toEqual([0, expect.stringContaining("Oranges grow")]);
});

test("`doctor` tries the embedder, and reports when it does not answer", async () => {
  const provider = await providerForTest();
  const at = (url: string) => `[embeddings]\nprovider = "openai"\nbase_url = "${url}"`;
  const project = await projectOf(at(provider.urls.openai), provider);
  const embeddings = async () => {
    const { findings } = (await JSON.parse((await project.rkat(["doctor", "--json"])).stdout)) as {
      findings: { name: string; state: string; detail: string }[];
    };
    return findings.find(({ name }) => name === "embeddings");
  };
  expect(await embeddings()).toMatchObject({ state: "good" });
  // Nobody listens on port 9.
  project.writeOwnConfig(at("http://127.0.0.1:9/v1"));
  expect(await embeddings()).toMatchObject({ state: "wrong", detail: expect.stringMatching(/\S/) });
});

test("`doctor` asks an embedder that fails once, and does not wait to try again", async () => {
  const provider = await providerForTest(() => ({ status: 503, message: "Out of GPUs" }));
  const project = await projectOf(
    `[embeddings]\nprovider = "openai"\nbase_url = "${provider.urls.openai}"`,
    provider,
  );
  const { code, stdout } = await project.rkat(["doctor"]);
  expect([code, stdout]).toEqual([1, expect.stringMatching(/✗ embeddings/)]);
  expect(provider.requests).toHaveLength(1);
});

test("`embeddings install` copies a model that you have, uses it, and `remove` takes it back", async () => {
  const project = await projectWith("");
  await project.rkat(["memory", "add", "--jsonl", "entries.jsonl"]);
  project.write("entries.jsonl", '{"id":"none","content":"Zzz qqq","session_id":"s"}');
  const model = join(project.folder, "potion");
  writeTinyTable(model);
  const installed = await project.rkat(["embeddings", "install", "potion", "--json"]);
  expect([installed.stderr, installed.code]).toEqual(["", 0]);
  const { name, folder, settings, ...about } = JSON.parse(installed.stdout);
  expect(name).toMatch(/^potion-[0-9a-f]{16}$/);
  expect(about).toMatchObject({ kind: "static table", dimensions: 8 });
  // The copy is what is used.
  rmSync(model, { recursive: true });
  const doctor = await project.rkat(["doctor"]);
  expect(doctor.stdout).toContain(
    `fast/${name}/8. a static table of 0.0 MB, 8 dimensions. Searches use words and meaning together. 3 of 3 passages are still to be embedded`,
  );
  // Of what the table knows no word, words find it, and nothing waits for it.
  const added = await project.rkat(["memory", "add", "--jsonl", "entries.jsonl"]);
  expect([added.stderr, added.code]).toEqual(["", 0]);
  expect((await project.rkat(["memory", "stats"])).stdout).toMatch(
    new RegExp(`vectors +4 of fast/${name}/8$`, "m"),
  );
  expect(await found(project, "zzz")).toEqual(["Zzz"]);
  const meant = await found(project, "near seas grow");
  expect([meant[0], meant.includes("Zzz")]).toEqual(["Oranges", false]);
  // A process that was killed left its copy.
  const left = `.install.${hostname()}.${2 ** 30}.x.unfinished`;
  writeTinyTable(join(folder, "..", left));
  const again = await project.rkat(["embeddings", "install", folder]);
  expect([again.code, readdirSync(join(folder, ".."))]).toEqual([0, [name]]);
  // Another one takes its place in the settings.
  writeTinySentenceModel(join(project.folder, "onnx-model"));
  await project.rkat(["embeddings", "install", "onnx-model/onnx/model.onnx"]);
  expect(readFileSync(settings, "utf8").match(/model = .*/g)).toEqual([
    expect.stringMatching(/onnx-model-[0-9a-f]{16}"$/),
  ]);
  const other = readdirSync(join(folder, "..")).find((each) => each !== name) ?? "";
  expect(await project.json(["embeddings", "remove", other, "--json"])).toEqual({ removed: true });
  expect(readFileSync(settings, "utf8")).not.toContain("embeddings");
  expect((await project.rkat(["embeddings", "remove", "../config"])).stderr).toContain(
    `No model called "../config" is installed.`,
  );
  expect(readdirSync(join(folder, ".."))).toEqual([name]);
});

test("`embeddings install` refuses what rkat cannot use with a sentence, and leaves nothing", async () => {
  const project = await projectWith("");
  const home = project.env.HOME ?? "";
  const nan = vectors("F32", (number) => float32(number === 63 ? Number.NaN : number));
  writeTinyTable(join(project.folder, "broken"), safetensors({ embeddings: nan }));
  project.write("gguf/model-q4.GGUF", "GGUF");
  project.write("empty/config.json", "{}");
  writeTinyTable(join(project.folder, "list"));
  project.write("list/tokenizer.json", "[");
  writeTinySentenceModel(join(project.folder, "dimensions"));
  project.write("dimensions/config.json", '{"hidden_size": 17}');
  for (const [given, said] of [
    ["gguf", "cannot use GGUF"],
    ["gguf/model-q4.GGUF", "cannot use GGUF"],
    ["empty", "is no model that rkat can use"],
    ["empty/config.json", "is no model that rkat can use"],
    ["nowhere", "neither a folder nor in"],
    ["broken", "vectors that are no numbers"],
    ["list", "tokenizer.json"],
    ["dimensions", "16 dimensions, and its config.json says 17"],
  ] as const) {
    const { code, stderr } = await project.rkat(["embeddings", "install", given]);
    expect([given, code === 0, stderr]).toEqual([given, false, expect.stringContaining(said)]);
  }
  writeTinyTable(join(project.folder, "good"));
  project.writeOwnConfig('[embeddings]\nprovider = "ollama"');
  const { stderr } = await project.rkat(["embeddings", "install", "good"]);
  expect(stderr).toContain("has [embeddings] of its own, so nothing was installed");
  expect(readdirSync(join(home, ".rkat/models"))).toEqual([]);
});

test("with memory off, an embedder is not missed, but a warning names both settings", async () => {
  const project = await projectWith(
    '[embeddings]\nprovider = "fast"\n[capabilities]\nmemory_store = false',
    { provider: await providerForTest() },
  );
  const { code, stderr } = await project.rkat(["run", "hello"]);
  expect(code).toBe(0);
  expect(stderr).not.toContain("hf download");
  expect(stderr).toContain(
    "embeddings.provider has no effect, because capabilities.memory_store = false",
  );
});

test("what is configured for a capability that is off is reported, with both settings", async () => {
  const provider = await providerForTest();
  const config = `[compaction]
auto_compact_threshold = 9000
[memory]
window_size = 12
[capabilities]
session_compaction = false`;
  const project = await projectWith(config, { provider });
  const said =
    /compaction\.auto_compact_threshold and memory\.window_size have no effect, because capabilities\.session_compaction = false \(.*config\.toml\)\./;
  const run = await project.rkat(["run", "hello"]);
  expect([run.code, run.stderr]).toEqual([0, expect.stringMatching(said)]);
  expect((await project.rkat(["doctor"])).stdout).toMatch(said);
  expect((await project.rkat(["config"])).stderr).toMatch(said);
  const asked = await project.rkat(["run", "--window-size", "12", "hello"]);
  expect([asked.code, asked.stderr]).toEqual([40, expect.stringContaining("session_compaction")]);
});

test("a key that the settings name but that is not set is reported, and no other is sent", async () => {
  const provider = await providerForTest();
  const project = await projectWith(
    '[embeddings]\nprovider = "openai"\napi_key_env = "MY_EMBEDDING_KEY"',
    { provider },
  );
  const { code, stderr } = await project.rkat(["memory", "add", "--jsonl", "entries.jsonl"]);
  expect([code, stderr]).toEqual([0, expect.stringContaining("Set MY_EMBEDDING_KEY")]);
  expect(provider.requests).toEqual([]);
});

test("[search] max_results is the default limit of results", async () => {
  const project = await projectWith("[search]\nmax_results = 1");
  await project.rkat(["memory", "add", "--jsonl", "entries.jsonl"]);
  const question = ["the tests of the billing deploy", "--min-score", "0"];
  expect(await found(project, ...question)).toHaveLength(1);
  expect((await found(project, ...question, "-n", "3")).length).toBeGreaterThan(1);
});

test("[memory] min_score is the default floor", async () => {
  const project = await projectWith("[memory]\nmin_score = 0.99");
  await project.rkat(["memory", "add", "--jsonl", "entries.jsonl"]);
  expect(await found(project, "warm oranges")).toEqual([]);
  expect(await found(project, "Oranges grow well near warm seas.")).toEqual(["Oranges"]);
  expect((await found(project, "warm oranges", "--min-score", "0.1"))[0]).toBe("Oranges");
});

test("with [search] off memory is kept but not searched, and no model is offered it", async () => {
  const provider = await providerForTest();
  const project = await projectWith("[search]\nenabled = false", {
    provider,
  });
  expect((await project.rkat(["memory", "add", "--jsonl", "entries.jsonl"])).code).toBe(0);
  const search = await project.rkat(["memory", "search", "oranges"]);
  expect([search.code, search.stderr]).toEqual([
    40,
    expect.stringContaining("enabled = true under [search]"),
  ]);
  expect((await project.rkat(["memory", "stats"])).stdout).toMatch(/entries\s+3/);
  const refused = await project.rkat(["run", "--memory", "hello"]);
  expect([refused.code, refused.stderr]).toEqual([
    40,
    expect.stringContaining("enabled = true under [search]"),
  ]);
  expect((await project.rkat(["run", "hello"])).code).toBe(0);
  const asked = JSON.stringify(provider.requests[0]?.body);
  expect(asked).toContain("search_project_history");
  expect(asked).not.toContain("memory_search");
  expect(asked).not.toContain("memory-retrieval");
});

test("the HNSW store without its package fails with the way out in every command, and `doctor` sees it", async () => {
  const hide = `
    import { registerHooks } from "node:module";
    registerHooks({
      resolve(specifier, context, next) {
        if (specifier === "usearch") throw Object.assign(new Error("gone"), { code: "ERR_MODULE_NOT_FOUND" });
        return next(specifier, context);
      },
    });`;
  const provider = await providerForTest();
  const config = '[memory]\nstore = "hnsw"';
  const project = await projectWith(config, { provider, ownProcesses: true });
  await project.rkat(["memory", "add", "--jsonl", "entries.jsonl"]);
  const env = {
    NODE_OPTIONS: `--import "data:text/javascript,${encodeURIComponent(hide)}"`,
  };
  const commands = [
    ["run", "hello"],
    ["memory", "search", "oranges"],
    ["memory", "add", "--jsonl", "entries.jsonl"],
  ];
  for (const command of sampled(commands, { of: 3, at: 1 }, "cases")) {
    const { code, stderr } = await project.rkat(command, "", env);
    expect([command, code, stderr]).toEqual([
      command,
      1,
      expect.stringContaining("npm install usearch"),
    ]);
  }
  const { code, stdout } = await project.rkat(["doctor"], "", env);
  expect([code, stdout]).toEqual([1, expect.stringMatching(/✗ memory +.*npm install usearch/)]);
});

test("an unknown embedder is refused by every command, and `doctor` names what there is", async () => {
  const project = await projectWith('[embeddings]\nprovider = "bogus"');
  const said = /embeddings\.provider is "bogus"; it must be "local" or "fast"/;
  for (const command of [
    ["run", "hello"],
    ["memory", "search", "oranges"],
    ["sessions", "list"],
  ]) {
    const { code, stderr } = await project.rkat(command);
    expect([command, code, stderr]).toEqual([command, 3, expect.stringMatching(said)]);
  }
  const { code, stdout } = await project.rkat(["doctor"]);
  expect([code, stdout]).toEqual([1, expect.stringMatching(said)]);
  await expect(openEmbedder({ provider: "bogus" as never })).rejects.toMatchObject({
    code: "MODEL_UNAVAILABLE",
    message: 'No embedder has the provider "bogus".',
  });
});

/** As it is in the specification, word for word. */
const SPECIFIED = `[memory]
window_size = 12            # Max messages in working memory
enable_persistence = true   # Enable persistent long-term memory

[search]
enabled = true
index_dir = ".rustant/search_index"
max_results = 20

[embeddings]
provider = "local"          # local, fast, openai, ollama
`;

test("the specification's TOML works word for word, and says which lines it reads differently", async () => {
  const project = await projectWith(SPECIFIED);
  const { stdout } = await project.rkat(["config", "--json"]);
  const { notes } = JSON.parse(stdout);
  const folder = join(project.folder, ".rkat/config.toml");
  expect(notes).toEqual([
    `${folder}: memory.enable_persistence is read as capabilities.memory_store.`,
    'search.index_dir has no effect, because memory.store = "sqlite" (default).',
  ]);
  await project.rkat(["memory", "add", "--jsonl", "entries.jsonl"]);
  expect((await found(project, "the billing deploy"))[0]).toBe("The");
  // Words and counted vectors together.
  expect((await project.rkat(["memory", "stats"])).stdout).toMatch(/local\/djb2\/128/);
  // With vectors of a model, one search combines words and meaning.
  const provider = await providerForTest();
  const hybrid = await projectWith(
    SPECIFIED.replace('"local"', `"ollama"\nbase_url = "${provider.urls.ollama}"`),
    { provider },
  );
  await hybrid.rkat(["memory", "add", "--jsonl", "entries.jsonl"]);
  expect((await found(hybrid, "the billing deploy"))[0]).toBe("The");
  expect((await hybrid.rkat(["memory", "stats"])).stdout).toMatch(/3 of 3|vectors/);
  // With the specification's store, the folder is the index's.
  const hnsw = await projectWith(SPECIFIED.replace("[memory]", '[memory]\nstore = "hnsw"'));
  await hnsw.rkat(["memory", "add", "--jsonl", "entries.jsonl"]);
  expect(existsSync(join(hnsw.folder, ".rustant/search_index/memory.hnsw"))).toBe(true);
});
