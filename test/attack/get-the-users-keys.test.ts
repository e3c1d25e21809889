import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { aiSdkModels } from "../../src/ai-sdk.ts";
import { embedderSettings, providerSettings } from "../../src/config/config.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { openEmbedder, SessionError } from "../../src/index.ts";
import { providerFailure } from "../../src/models/provider-failure.ts";
import { connectRest } from "../../src/rest.ts";
import { temporaryFolder } from "../support/obey.ts";
import { sampled } from "../support/trials.ts";

const KEY = "sk-test-0123456789abcdef";
const KEYS = {
  ANTHROPIC_API_KEY: KEY,
  OPENAI_API_KEY: KEY,
  GEMINI_API_KEY: KEY,
  OLLAMA_API_KEY: KEY,
  OPENAI_COMPATIBLE_API_KEY: KEY,
  MINE_API_KEY: KEY,
};

/** A server that remembers what it was sent, and may redirect elsewhere. */
async function server(redirect?: { readonly status: number; readonly to: string }) {
  const requests: IncomingHttpHeaders[] = [];
  const listening = createServer((request, response) => {
    requests.push(request.headers);
    request.resume();
    if (redirect) response.writeHead(redirect.status, { location: redirect.to });
    response.end("{}");
  });
  listening.listen(0, "127.0.0.1");
  await once(listening, "listening");
  onTestFinished(() => {
    listening.closeAllConnections();
    listening.close();
  });
  return { url: `http://127.0.0.1:${(listening.address() as AddressInfo).port}`, requests };
}

/** Asks a model for one answer, and returns how that failed. */
async function failureOf(name: string, options: Parameters<typeof aiSdkModels>[0]) {
  try {
    const model = await aiSdkModels(options)(name);
    const signal = new AbortController().signal;
    const messages = [{ role: "user", content: "Hi" } as const];
    for await (const _ of model.stream({ messages, tools: [], signal }));
  } catch (error) {
    return SessionError.from(error);
  }
  throw new Error("The model answered.");
}

const MODELS = ["anthropic/a", "openai/a", "google/a", "ollama/a", "openai-compatible/a", "mine/a"];

describe.each([301, 302, 303, 307, 308])("a redirect with %i", (status) => {
  test.each(sampled(MODELS, { of: 3, at: status % 3 }, "attacks"))(
    "is never followed: %s",
    async (name) => {
      const thief = await server();
      const moved = await server({ status, to: `${thief.url}/v1?key=${KEY}` });
      const baseUrls = { [name.split("/")[0] ?? ""]: `${moved.url}/v1` };
      const failure = await failureOf(name, { env: KEYS, baseUrls });
      expect(failure).toMatchObject({ code: "PROVIDER_ERROR", retry: undefined });
      expect(failure.message).toContain(`${moved.url} redirects to ${thief.url} (HTTP ${status})`);
      expect(failure.message).not.toContain(KEY);
      expect(moved.requests).toHaveLength(1);
      expect(thief.requests).toEqual([]);
    },
  );

  test("is never followed: an embedder", async () => {
    const thief = await server();
    const moved = await server({ status, to: thief.url });
    const embedder = await openEmbedder({ provider: "openai", baseUrl: moved.url, env: KEYS });
    await expect(embedder.embed(["a text"])).rejects.toMatchObject({ code: "PROVIDER_ERROR" });
    expect([moved.requests.length, thief.requests.length]).toEqual([1, 0]);
  });

  test("is never followed: the client of a server", async () => {
    const thief = await server();
    const moved = await server({ status, to: thief.url });
    const client = connectRest({ url: moved.url, token: KEY });
    await expect(client.list({})).rejects.toMatchObject({ code: "SERVICE_UNAVAILABLE" });
    expect(thief.requests).toEqual([]);
  });
});

async function settings(files: { readonly user?: string; readonly project?: string }) {
  const folder = await temporaryFolder();
  mkdirSync(join(folder, ".rkat"));
  const [userFile, projectFile] = [join(folder, "user.toml"), join(folder, ".rkat", "config.toml")];
  if (files.user) writeFileSync(userFile, files.user);
  if (files.project) writeFileSync(projectFile, files.project);
  const { config, problem } = await loadConfig({ userFile, projectFile, isTrusted: true, env: {} });
  expect(problem).toBeUndefined();
  return config;
}

test.each(MODELS)("a trusted project gets no key to an address that it names: %s", async (name) => {
  const port = await server();
  const provider = name.split("/")[0] ?? "";
  const address = `[providers.${provider}]\nbase_url = "${port.url}/v1"\n`;
  const config = await settings({ project: `${address}api_key_env = "OPENAI_API_KEY"` });
  await failureOf(name, { ...providerSettings(config, KEYS), env: KEYS });
  expect(JSON.stringify(port.requests)).not.toContain(KEY);
  // The same address in the user's own file gets it.
  const own = await settings({ user: address });
  await failureOf(name, { ...providerSettings(own, KEYS), env: KEYS });
  expect(JSON.stringify(port.requests)).toContain(KEY);
});

test("a trusted project gets no key for embeddings to an address that it names", async () => {
  const port = await server();
  const section = `[embeddings]\nprovider = "openai"\nbase_url = "${port.url}"\n`;
  const config = await settings({ project: `${section}api_key_env = "MINE_API_KEY"` });
  const opened = openEmbedder({ ...embedderSettings(config, KEYS), env: KEYS });
  await expect(opened).rejects.toMatchObject({
    code: "MODEL_UNAVAILABLE",
    message: /not sent to an address that a project's file chose/,
    hint: /your own config\.toml/,
  });
  const own = await settings({ user: section });
  const embedder = await openEmbedder({ ...embedderSettings(own, KEYS), env: KEYS });
  const stop = new AbortController();
  const asked = embedder.embed(["a text"], { signal: stop.signal }).catch(() => {});
  await expect.poll(() => port.requests.at(-1)?.authorization).toBe(`Bearer ${KEY}`);
  stop.abort();
  await asked;
});

describe.each([
  "https://me:hunter2@host.example/v1",
  "https://hunter2@host.example/v1",
  "https://host.example/v1?key=hunter2",
  "https://me:hun/ter2@host.example/v1?api_key=hunter2",
  "htp://me:hunter2@host",
  "me:hunter2@host:80/v1",
])("the password in %s", (address) => {
  test.each(MODELS)("is in no error of a model: %s", async (name) => {
    const provider = name.split("/")[0] ?? "";
    const failure = await failureOf(name, { env: KEYS, baseUrls: { [provider]: address } });
    expect(failure.code).toBe("MODEL_UNAVAILABLE");
    expect(failure.message + failure.hint + failure.cause).not.toMatch(/hunter2|ter2@/);
  });

  test("is in no error of the client of a server", async () => {
    const list = async () => await connectRest({ url: address }).list({});
    const failure = await list().catch(SessionError.from);
    expect((failure as SessionError).message).not.toMatch(/hunter2|ter2@/);
  });

  test.each(["providers.any.base_url", "embeddings.base_url"])(
    "is not shown of %s",
    async (key) => {
      const folder = await temporaryFolder();
      const userFile = join(folder, "user.toml");
      writeFileSync(userFile, `${key} = "${address}"\n`);
      const projectFile = join(folder, ".rkat", "config.toml");
      for (const env of [{}, { RKAT_EMBEDDINGS__BASE_URL: address }]) {
        const { config, problem } = await loadConfig({
          userFile,
          projectFile,
          isTrusted: true,
          env,
        });
        const shown = JSON.stringify(config.effective()) + problem?.message;
        expect(shown).not.toMatch(/hunter2|ter2@/);
      }
    },
  );
});

test.each([
  "request to https://me:hunter2@host.example/v1 failed",
  "GET https://host.example/v1/models?key=hunter2&alt=sse failed",
  "https://host.example/?alt=sse&access_token=hunter2 was refused",
  'see "https://host.example/a?X-Amz-Signature=hunter2"',
])("what a provider says of an address is shown without its key: %s", (said) => {
  const cause = new Error(said);
  const failure = providerFailure(new TypeError("fetch failed", { cause }), { id: "mine/a" });
  expect(failure.message).toMatch(/host\.example/);
  expect(failure.message + failure.hint + String(failure.cause)).not.toContain("hunter2");
});
