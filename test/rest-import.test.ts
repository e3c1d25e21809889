import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createSessionService, type SessionService } from "../src/index.ts";
import { connectRest, createRestApp, type RestLimits } from "../src/rest.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { serviceOver } from "../src/surfaces/service-client.ts";
import { scriptedModel } from "../src/testing.ts";
import { temporaryFolder } from "./support/obey.ts";

const talk = (index: number, text: string) =>
  `${JSON.stringify({
    messages: [
      { role: "user", content: `Question ${index}: ${text}` },
      { role: "assistant", content: "Noted." },
    ],
  })}\n`;

async function served(limits: Partial<RestLimits> = {}) {
  const stores = sqliteStores({ path: join(await temporaryFolder(), "rkat.db") });
  const service = createSessionService({ model: scriptedModel([]), stores });
  onTestFinished(async () => {
    await service.close();
    await stores.close();
  });
  const app = createRestApp({ service, limits });
  const send = async (body: RequestInit["body"], type = "application/x-ndjson") => {
    const url = "http://localhost/import?name=talk.jsonl";
    const init = { method: "POST", body, headers: { "content-type": type }, duplex: "half" };
    return await app.fetch(new Request(url, init as RequestInit));
  };
  return { app, service, send };
}

async function* lines(count: number): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < count; index += 1) {
    yield Buffer.from(talk(index, "x".repeat(1_000)));
  }
}

test("a file is imported that is larger than a body of JSON may be", async () => {
  const { service, send } = await served({ bodyBytesMax: 100_000 });
  const response = await send(ReadableStream.from(lines(200)) as never);
  expect(await response.json()).toMatchObject({ sessions: 200, added: 400, skipped: [] });
  expect(await service.list({ limit: 1000 })).toHaveLength(200);
});

test("the client of REST sends a stream as it comes, with its name", async () => {
  const { app } = await served({ bodyBytesMax: 100_000 });
  const client = connectRest({
    url: "http://localhost",
    fetch: async (address, init) => await app.fetch(new Request(address, init)),
  });
  const report = await client.importTranscripts({ bytes: lines(200), name: "talk.jsonl" });
  expect(report).toMatchObject({ sessions: 200, added: 400, stillWritten: [] });
  const bad = Buffer.from(`${talk(1, "whole")}{"messages":`);
  const torn = await client.importTranscripts({ bytes: piece(bad), name: "my talk.jsonl" });
  expect(torn).toMatchObject({ added: 2, stillWritten: ["my talk.jsonl"] });
});

test("any name is one that a file can have", async () => {
  const { service } = await served();
  for (const name of ["x".repeat(500), "..", ".", "/", "../../talk.jsonl", "a\u0000b", "日本"]) {
    const report = await service.importTranscripts({ name, text: talk(1, "the same") });
    expect(report, name).toMatchObject({ messages: 2, skipped: [] });
  }
});

test("a file of too many bytes is 413, and nothing of it is stored", async () => {
  const { service, send } = await served({ importBytesMax: 10_000 });
  const response = await send(ReadableStream.from(lines(50)) as never);
  expect(response.status).toBe(413);
  expect(await response.json()).toMatchObject({ message: "The body has more than 10000 bytes." });
  expect(await service.list({})).toEqual([]);
});

const JSON_TYPE = { "content-type": "application/json" };

test("a body that is encoded, or has an unknown field in the query, is refused", async () => {
  const { app, send } = await served();
  const init = { method: "POST", body: talk(1, "hi"), headers: { "content-encoding": "gzip" } };
  const encoded = await app.fetch(new Request("http://localhost/import", init));
  expect([encoded.status, await encoded.json()]).toMatchObject([
    415,
    { message: "The body must not be encoded; it is sent as gzip." },
  ]);
  const { headers: _, ...plain } = init;
  const unknown = await app.fetch(new Request("http://localhost/import?colour=red", plain));
  expect([unknown.status, await unknown.text()]).toEqual([400, expect.stringContaining("colour")]);
  expect((await send('{"text":""}', "application/json")).status).toBe(400);
  const json = { method: "POST", body: '{"name":"a","text":"b"}', headers: JSON_TYPE };
  const long = new Request(`http://localhost/import?name=${"n".repeat(501)}`, json);
  expect((await app.fetch(long)).status).toBe(400);
});

test("a request without a body is refused", async () => {
  const { app } = await served();
  for (const init of [{ method: "POST" }, { method: "POST", body: "" }]) {
    const answer = await app.fetch(new Request("http://localhost/import?name=a.jsonl", init));
    expect([answer.status, await answer.json()]).toMatchObject([
      400,
      { message: "The request has no body: send the file as the body." },
    ]);
  }
});

test("imports beyond the limit are told to come later", async () => {
  const { send } = await served({ importsMax: 1 });
  const begun = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  async function* slowly() {
    yield Buffer.from(talk(1, "first"));
    begun.resolve();
    await held.promise;
    yield Buffer.from(talk(2, "second"));
  }
  const first = send(ReadableStream.from(slowly()) as never);
  await begun.promise;
  const second = await send(talk(3, "third"));
  expect(second.status).toBe(503);
  expect(await second.json()).toMatchObject({
    code: "SERVICE_UNAVAILABLE",
    message: "The server is busy with other imports.",
  });
  held.resolve();
  expect(await (await first).json()).toMatchObject({ added: 4 });
  expect((await send(talk(3, "third"))).status).toBe(200);
});

test("a connection that cannot stream says how much it takes, and what to use instead", async () => {
  const called: string[] = [];
  const service: SessionService = serviceOver({
    async call(name) {
      called.push(name);
      return {};
    },
    async *subscribe() {},
    async close() {},
  });
  const large = service.importTranscripts({ bytes: piece(Buffer.alloc(12_000_000)) });
  await expect(large).rejects.toMatchObject({
    code: "INVALID_PARAMS",
    hint: "Send it over REST, or run `rkat import` where the server runs.",
  });
  expect(called).toEqual([]);
});

test("a stream with a text beside it, or that is none, is refused by every service", async () => {
  const { app, service } = await served();
  const client = connectRest({
    url: "http://localhost",
    fetch: async (address, init) => await app.fetch(new Request(address, init)),
  });
  for (const asked of [service, client]) {
    for (const request of [{ bytes: 5 }, { bytes: piece(Buffer.alloc(1)), text: "hi" }]) {
      await expect(asked.importTranscripts(request as never)).rejects.toMatchObject({
        code: "INVALID_PARAMS",
      });
    }
  }
});

async function* piece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
