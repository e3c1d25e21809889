import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { Validator } from "@seriousme/openapi-schema-validator";
import createClient, { type FetchResponse } from "openapi-fetch";
import { expect, onTestFinished, test } from "vitest";
import { OPERATIONS } from "../src/core/operations.ts";
import { createRestApp, serveRest } from "../src/rest.ts";
import { openApiDocument } from "../src/surfaces/rest/openapi-document.ts";
import { BUILDS } from "../src/testing.ts";
import type { operations, paths } from "./fixtures/rest-api.d.ts";
import { temporaryFolder } from "./support/obey.ts";
import { documentText } from "./support/print-openapi.ts";
import { scriptedService } from "./support/scripted-service.ts";

test.each([true, false])("the document is valid OpenAPI 3.1 (with a token: %s)", async (token) => {
  const document = openApiDocument({ version: "1.2.3", token });
  const { valid, errors } = await new Validator().validate(structuredClone(document));
  expect(errors).toBeUndefined();
  expect(valid).toBe(true);
});

test("the document names every operation, and the server has every route of it", async () => {
  const { service } = await open([]);
  const app = createRestApp({ service, metrics: () => [] });
  const document = openApiDocument({ version: "1.2.3", token: false });
  const names: string[] = [];
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      names.push((operation as { readonly operationId: string }).operationId);
      const url = `http://localhost${path.replaceAll(/\{\w+\}/g, "nobody")}`;
      const response = await app.fetch(new Request(url, { method: method.toUpperCase() }));
      expect(await response.text(), `${method} ${path}`).not.toMatch(/No route|does not take/);
    }
  }
  expect(names.sort()).toEqual(
    [...Object.keys(OPERATIONS), "subscribe", "health", "ready", "metrics", "openApi"].sort(),
  );
});

test("a label without a value is refused with the way to write it", async () => {
  const { service } = await open([]);
  const app = createRestApp({ service });
  const response = await app.fetch(new Request("http://localhost/sessions?label=x"));
  expect([response.status, await response.json()]).toMatchObject([
    400,
    {
      code: "INVALID_PARAMS",
      issues: [{ path: ["label"], message: 'write it as label=name=value; "x" has no value' }],
    },
  ]);
});

test("the generated client is of this document", () => {
  const generated = readFileSync(new URL("./fixtures/rest-api.d.ts", import.meta.url), "utf8");
  const hash = createHash("sha256").update(documentText).digest("hex");
  expect(generated, "its first lines say how to generate it again").toContain(hash);
});

/** What a generated client gives for an operation, as its types say. */
type Answer<Op> =
  Op extends Record<string | number, unknown>
    ? NonNullable<FetchResponse<Op, object, `${string}/${string}`>["data"]>
    : never;

/** The operations whose answer is not an object with known fields: untyped, or one of several types. */
type Untyped = {
  [Name in Exclude<keyof operations, Text>]: [Answer<operations[Name]>] extends [never]
    ? Name
    : unknown extends Answer<operations[Name]>
      ? Name
      : Answer<operations[Name]> extends object
        ? string extends keyof Answer<operations[Name]>
          ? Name
          : never
        : Name;
}[Exclude<keyof operations, Text>];

/** Operations that answer with text. */
type Text = "subscribe" | "metrics";

test("a generated client knows the type of every answer", () => {
  // Checked by the compiler.
  const untyped: Untyped extends never ? "none" : Untyped = "none";
  const stream: Answer<operations["subscribe"]> = "a stream of events is text";
  const numbers: Answer<operations["metrics"]> = "numbers are text in Prometheus' form";
  expect([untyped, typeof stream, typeof numbers]).toEqual(["none", "string", "string"]);
});

test("a client that was generated from the document works", async () => {
  const { url } = await open(["hello"]);
  const client = createClient<paths>({ baseUrl: url });
  const { data: created } = await client.POST("/sessions", {
    body: { labels: { env: "test" }, compaction: { recent_turn_budget: 2 } },
  });
  const params = { path: { session_id: created?.session_id ?? "" } };
  const { data: turn } = await client.POST("/sessions/{session_id}/messages", {
    params,
    body: { prompt: "hi" },
  });
  // Both have a type: the answer has no second form.
  expect([turn?.text, turn?.stop_reason]).toEqual(["hello", "end_turn"]);
  const { data: view } = await client.GET("/sessions/{session_id}", { params });
  expect(view?.history.map(({ message }) => message.role)).toEqual([
    "system",
    "user",
    "block_assistant",
  ]);
  const query = { label: ["env=test"], limit: 5, include_archived: false };
  const { data: listed } = await client.GET("/sessions", { params: { query } });
  expect(listed?.sessions.map((session) => session.session_id)).toEqual([created?.session_id]);
  const found = await client.GET("/history/search", { params: { query: { query: "hello" } } });
  expect(found.data?.results[0]?.content).toContain("hello");
  const { data: deleted } = await client.DELETE("/sessions/{session_id}", { params });
  expect(deleted).toEqual({ deleted: true });
  const { error } = await client.GET("/sessions/{session_id}", { params });
  expect(error?.code).toBe("SESSION_NOT_FOUND");
});

async function open(replies: readonly string[]) {
  const { service, close } = scriptedService(await temporaryFolder(), {
    capabilities: BUILDS.F ?? [],
    replies,
  });
  const server = await serveRest({ service, port: 0 });
  onTestFinished(async () => {
    await server.close({ graceMs: 0 });
    await close();
  });
  return { service, url: server.url };
}
