// pi, as its own program runs, with what `rkat install pi` writes. It works in a folder and a home of its own, and
// its model is a program on this machine.
//
//   npm run test:hosts              (once, to install what is in this folder)
//   npx node examples/hosts/pi.ts   (no key)
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { execFile } from "../../test/support/start-process.ts";
import { findAgain } from "./find-again.ts";
import { startLocalProvider } from "./local-provider.ts";

const MODULES = join(import.meta.dirname, "node_modules");
const PI = join(MODULES, "@earendil-works/pi-coding-agent/dist/bundle/cli.js");
const RKAT = join(MODULES, "rkat/bin/rkat.js");
const FILES = 12;

const home = await mkdtemp(join(tmpdir(), "rkat-pi-"));
const project = join(home, "project");
const settings = join(home, ".pi", "agent");
const env = { HOME: home, PI_OFFLINE: "1" };
const run = promisify(execFile);

await mkdir(project);
await mkdir(settings, { recursive: true });
for (let file = 0; file < FILES; file += 1) {
  const text = `service-${file} listens on port ${4300 + file}.\n${"It has no limits.\n".repeat(120)}`;
  await writeFile(join(project, `service-${file}.txt`), text);
}

// A model that reads the files, one after the other.
const provider = await startLocalProvider({
  call: (step) =>
    step < FILES ? { name: "read", args: { path: `service-${step}.txt` } } : undefined,
});

// The one line. It writes the extension.
await run(process.execPath, [RKAT, "install", "pi", "--scope", "user"], { env, cwd: project });

// The model, with a small window.
const local = {
  baseUrl: provider.urls.openai,
  api: "openai-completions",
  apiKey: "none",
  models: [{ id: "local", contextWindow: 16_000, maxTokens: 2_000 }],
};
await writeFile(join(settings, "models.json"), JSON.stringify({ providers: { local } }));
const compaction = { enabled: true, reserveTokens: 10_000, keepRecentTokens: 1_500 };
await writeFile(join(settings, "settings.json"), JSON.stringify({ compaction }));

const prompt = "Never use the network. Which port does each service listen on?";
const args = [PI, "--print", "--provider", "local", "--model", "local", prompt];
const pi = run(process.execPath, args, { env, cwd: project });
pi.child.stdin?.end();
console.log((await pi).stdout.trim());

// In the place of pi's summary is rkat's, with the user's own words.
const last = JSON.stringify(provider.billed.at(-1)?.body);
assert(last.includes("- Never use the network."));
const summaries = provider.billed.filter(({ kind }) => kind === "summary");
console.log(`${provider.billed.length} requests, ${summaries.length} of them for a summary.`);

// What left the window is in the project's memory.
const found = await findAgain(
  project,
  "service-3 listens on port",
  /service-3 listens on port \d+/,
);
console.log(`Found again: ${found}`);

await provider.close();
await rm(home, { recursive: true, force: true, maxRetries: 5 });
