import fc from "fast-check";
import { afterAll, beforeAll, expect } from "vitest";
import { z } from "zod";
import { issuesOfBatch } from "../src/core/operations/turns.ts";
import { createSessionService, type Message } from "../src/index.ts";
import { createRestApp, type RestApp } from "../src/rest.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { openApiDocument } from "../src/surfaces/rest/openapi-document.ts";
import { scriptedModel } from "../src/testing.ts";
import { damagedJson, fuzz } from "./support/fuzz.ts";
import { type Schema, valuesOf } from "./support/schema-values.ts";

const DOCUMENT = JSON.parse(JSON.stringify(openApiDocument({ version: "1.2.3", token: false })));

interface Operation {
  readonly operationId: string;
  readonly path: string;
  readonly method: string;
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: "path" | "query" | "header";
    readonly required?: boolean;
    readonly schema: Schema;
  }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content: Content }>>;
}

type Content = Readonly<Record<string, { readonly schema: { readonly $ref?: string } & Schema }>>;

/** All but the event stream, which does not end. */
const OPERATIONS: readonly Operation[] = Object.entries(DOCUMENT.paths)
  .flatMap(([path, methods]) =>
    Object.entries(methods as Record<string, object>).map(
      ([method, operation]) => ({ ...operation, path, method: method.toUpperCase() }) as Operation,
    ),
  )
  .filter(({ operationId }) => operationId !== "subscribe");

interface Sent {
  readonly operation: Operation;
  readonly path: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
}

let app: RestApp;
let close: () => Promise<void>;

beforeAll(() => {
  const stores = sqliteStores({ path: ":memory:" });
  const service = createSessionService({
    stores,
    model: scriptedModel(() => "ok"),
    models: async (name) => scriptedModel(() => "ok", { id: name }),
    compaction: {},
  });
  app = createRestApp({ service });
  close = async () => {
    await service.close();
    await stores.close();
  };
});
afterAll(() => close());

fuzz(
  "the server accepts every request that the OpenAPI document allows, and answers as it says",
  fc.oneof(...OPERATIONS.map(requestsOf)),
  { short: 100, long: 20_000 },
  async (sent) => {
    const { status, body } = await answerTo(sent);
    if (breaksRuleInWords(sent)) {
      expect(status).toBe(400);
      return;
    }
    // It may ask for what is not there, or for what the session cannot do now.
    expect([200, 404, 409, 422, 429], JSON.stringify(body)).toContain(status);
    const { responses } = sent.operation;
    const { content } = responses[status] ??
      responses[`${Math.floor(status / 100)}XX`] ?? { content: {} };
    expectFits(content["application/json"]?.schema ?? {}, body);
  },
);

const WITH_BODY = OPERATIONS.filter(({ requestBody }) => requestBody);

fuzz(
  "the server refuses every body that the OpenAPI document does not allow",
  fc.oneof(
    ...WITH_BODY.map((operation) =>
      fc.tuple(
        requestsOf(operation),
        damagedJson(fc.sample(bodiesOf(operation), { numRuns: 5, seed: 1 })),
      ),
    ),
  ),
  { short: 100, long: 20_000 },
  async ([sent, body]) => {
    const schema = resolved(sent.operation.requestBody?.content["application/json"]?.schema ?? {});
    fc.pre(!fits(schema, body));
    expect((await answerTo({ ...sent, body })).status, JSON.stringify(body)).toBe(400);
  },
);

/** What no schema can say, so that the document says it in words: each call of a batch has its result. */
function breaksRuleInWords({ operation, body }: Sent): boolean {
  if (operation.operationId !== "appendMessages") return false;
  return issuesOfBatch((body as { readonly messages: readonly Message[] }).messages).length > 0;
}

function requestsOf(operation: Operation): fc.Arbitrary<Sent> {
  const { parameters = [] } = operation;
  const inPlace = (place: string) => {
    const there = parameters.filter((parameter) => parameter.in === place);
    const values = there.map(({ name, schema }) => [name, valuesOf(schema)] as const);
    const requiredKeys = there.filter(({ required }) => required).map(({ name }) => name);
    return fc.record(Object.fromEntries(values), { requiredKeys, noNullPrototype: true });
  };
  return fc.record({
    operation: fc.constant(operation),
    path: fc.oneof(fc.constant({}), inPlace("path")),
    query: inPlace("query"),
    body: bodiesOf(operation),
  }) as fc.Arbitrary<Sent>;
}

function bodiesOf({ requestBody }: Operation): fc.Arbitrary<unknown> {
  const schema = requestBody?.content["application/json"]?.schema;
  return schema ? valuesOf(resolved(schema)) : fc.constant(undefined);
}

async function answerTo({ operation, path, query, body }: Sent) {
  const real: Record<string, unknown> = { session_id: await newSession(), ...path };
  // A URL cannot have the segments . and .., and no id is one.
  const segment = (name: string) =>
    encodeURIComponent(String(real[name] ?? "a")).replace(/^\.+$/, "a");
  const url = operation.path.replaceAll(/\{(\w+)\}/g, (_, name) => segment(name));
  const search = new URLSearchParams(
    Object.entries(query).flatMap(([name, value]) =>
      (Array.isArray(value) ? value : [value]).map((item): [string, string] => [name, `${item}`]),
    ),
  );
  const response = await app.fetch(
    new Request(`http://localhost${url}?${operation.method === "POST" ? "" : search}`, {
      method: operation.method,
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    }),
  );
  return { status: response.status, body: await response.json() };
}

async function newSession(): Promise<string> {
  const headers = { "content-type": "application/json" };
  const init = { method: "POST", headers, body: "{}" };
  const response = await app.fetch(new Request("http://localhost/sessions", init));
  return ((await response.json()) as { readonly session_id: string }).session_id;
}

function resolved(schema: { readonly $ref?: string } & Schema): Schema {
  const name = schema.$ref?.split("/").at(-1);
  return name === undefined ? schema : DOCUMENT.components.schemas[name];
}

const validators = new Map<Schema, z.ZodType>();

function fits(schema: Schema, value: unknown): boolean {
  return validatorOf(schema).safeParse(value).success;
}

function expectFits(schema: Schema, value: unknown): void {
  const { error } = validatorOf(resolved(schema)).safeParse(value);
  expect(error, JSON.stringify(value)).toBeUndefined();
}

function validatorOf(schema: Schema): z.ZodType {
  const known = validators.get(schema) ?? z.fromJSONSchema(schema as never);
  validators.set(schema, known);
  return known;
}
