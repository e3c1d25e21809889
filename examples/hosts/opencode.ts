// opencode, as its own program runs, with what `rkat install opencode` writes. It works in a folder and a home of
// its own, and its model is a program on this machine.
//
//   npm run test:hosts                      (once, to install what is in this folder)
//   npx node examples/hosts/opencode.ts     (no key; 64-bit Linux only)
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { execFile } from "../../test/support/start-process.ts";
import { findAgain } from "./find-again.ts";
import { startLocalProvider } from "./local-provider.ts";

const OPENCODE = join(import.meta.dirname, "opencode/node_modules/opencode-linux-x64/bin/opencode");
const RKAT = join(import.meta.dirname, "node_modules/rkat/bin/rkat.js");
const FILES = 8;

if (!existsSync(OPENCODE)) {
  console.log("opencode's program is installed here on 64-bit Linux only.");
  process.exit();
}

const home = await mkdtemp(join(tmpdir(), "rkat-opencode-"));
const project = join(home, "project");
const folder = join(home, "config", "opencode");
const settings = join(folder, "opencode.json");
const env = {
  HOME: home,
  XDG_CONFIG_HOME: join(home, "config"),
  XDG_DATA_HOME: join(home, "data"),
  XDG_CACHE_HOME: join(home, "cache"),
  XDG_STATE_HOME: join(home, "state"),
  OPENCODE_DISABLE_MODELS_FETCH: "1",
  OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
};
const run = promisify(execFile);

await mkdir(project);
for (let file = 0; file < FILES; file += 1) {
  const text = `service-${file} listens on port ${4300 + file}.\n${"It has no limits.\n".repeat(220)}`;
  await writeFile(join(project, `service-${file}.txt`), text);
}

// A model that reads the files, one after the other.
const provider = await startLocalProvider({
  call: (step) =>
    step < FILES
      ? { name: "read", args: { filePath: join(project, `service-${step}.txt`) } }
      : undefined,
});

// The one line. It writes the plugin and adds the memory tools to the settings.
await run(process.execPath, [RKAT, "install", "opencode", "--scope", "user"], {
  env,
  cwd: project,
});

// Without these, opencode asks the registry for the types of its plugins.
const types = { dependencies: { "@opencode-ai/plugin": "1.18.33" } };
const lock = { lockfileVersion: 3, packages: { "": types } };
await mkdir(join(folder, "node_modules"));
await writeFile(join(folder, "package.json"), JSON.stringify(types));
await writeFile(join(folder, "package-lock.json"), JSON.stringify(lock));

// The model, with a small window.
const installed = JSON.parse(await readFile(settings, "utf8"));
const models = { local: { name: "Local", limit: { context: 16_000, output: 2_000 } } };
const options = { baseURL: provider.urls.openai, apiKey: "none" };
const changed = {
  ...installed,
  autoupdate: false,
  share: "disabled",
  model: "local/local",
  provider: { local: { npm: "@ai-sdk/openai", name: "Local", options, models } },
};
await writeFile(settings, JSON.stringify(changed));

const prompt = "Never use the network. Which port does each service listen on?";
const args = ["run", "--format", "json", ...prompt.split(" ")];
const opencode = run(OPENCODE, args, { env, cwd: project });
opencode.child.stdin?.end();
const events = (await opencode).stdout.trim().split("\n");
const texts = events.map((line) => JSON.parse(line)).filter(({ type }) => type === "text");
console.log(texts.at(-1)?.part.text);

// What opencode goes on with is its model's summary, with what that lost, and with the user's own words.
const last = JSON.stringify(provider.billed.at(-1)?.body);
assert(last.includes("Also mentioned, word for word"));
assert(last.includes("- Never use the network."));
console.log(`${provider.billed.length} requests. The user's words outlived the compaction.`);

// What left the window is in the project's memory.
const found = await findAgain(
  project,
  "service-3 listens on port",
  /service-3 listens on port \d+/,
);
console.log(`Found again: ${found}`);

await provider.close();
await rm(home, { recursive: true, force: true, maxRetries: 5 });
