import type { z } from "zod";
import { ERRORS } from "../../core/errors.ts";
import { snakeCase } from "../../core/fields.ts";
import type { Operation } from "../../core/operations/operation.ts";
import { EITHER_OF } from "../../core/operations/request-fields.ts";
import { subscribe as subscribeRequest } from "../../core/operations/sessions.ts";
import { OPERATIONS } from "../../core/operations.ts";
import { type ObjectSchema, resultSchema, wireSchema } from "../wire-schema.ts";
import { kindOf } from "./query-params.ts";

/** The REST surface as an OpenAPI 3.1 document, made from the table of operations. */
export function openApiDocument(about: { readonly version: string; readonly token: boolean }) {
  const paths: Record<string, Record<string, unknown>> = {};
  const schemas: Record<string, unknown> = { Error: ERROR, EventEnvelope: EVENT_ENVELOPE };
  for (const [name, operation] of Object.entries(OPERATIONS) as [string, Operation][]) {
    const { method, path } = operation.http;
    const title = name[0]?.toUpperCase() + name.slice(1);
    schemas[`${title}Result`] = resultSchema(operation);
    const body = method === "POST" ? bodySchema(operation) : undefined;
    if (body) schemas[`${title}Request`] = body;
    paths[path] = {
      ...paths[path],
      [method.toLowerCase()]: {
        operationId: name,
        summary: operation.description,
        ...(operation.streams ? { description: STREAMS } : {}),
        parameters: [
          ...pathParameters(operation.request, path),
          ...(method === "POST" ? [] : queryParameters(operation.request, path)),
          ...(operation.uploads ? [FILE_NAME] : []),
          ...(operation.streams ? [IDEMPOTENCY_KEY] : []),
        ],
        ...(body
          ? {
              requestBody: {
                required: body.oneOf !== undefined || (body.required ?? []).length > 0,
                content: { ...json(`${title}Request`), ...(operation.uploads ? FILE : {}) },
              },
            }
          : {}),
        responses: {
          200: {
            description: "Done.",
            content: json(`${title}Result`),
          },
          ...FAILURE,
        },
      },
    };
  }
  paths["/sessions/{session_id}/events"] = { get: EVENTS };
  paths["/health"] = { get: HEALTH };
  paths["/ready"] = { get: READY };
  paths["/metrics"] = { get: METRICS };
  paths["/openapi.json"] = { get: DOCUMENT };
  return {
    openapi: "3.1.0",
    info: {
      title: "rkat",
      description: "Sessions that remember: context compaction and semantic memory for agents.",
      version: about.version,
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    paths,
    components: {
      schemas,
      ...(about.token ? { securitySchemes: { token: { type: "http", scheme: "bearer" } } } : {}),
    },
    ...(about.token ? { security: [{ token: [] }] } : {}),
  };
}

const ERROR = {
  type: "object",
  required: ["code", "message", "hint"],
  properties: {
    code: { type: "string", enum: Object.keys(ERRORS) },
    message: { type: "string" },
    hint: { type: "string", description: "What to do about it." },
    issues: {
      type: "array",
      description: "The wrong fields of an INVALID_PARAMS.",
      items: {
        type: "object",
        required: ["path", "message"],
        properties: {
          path: {
            type: "array",
            description: 'The way to the field, such as ["budget", "max_tool_calls"].',
            items: { type: ["string", "integer"] },
          },
          message: { type: "string" },
        },
      },
    },
    retry_after_ms: { type: "number", description: "How long to wait before a retry." },
    archived: {
      type: "boolean",
      const: true,
      description: "A SESSION_NOT_FOUND only: the session is archived. Unarchive it to go on.",
    },
  },
};

const EVENT_ENVELOPE = {
  type: "object",
  required: ["event_id", "source_id", "seq", "timestamp_ms", "payload"],
  properties: {
    event_id: { type: "string", format: "uuid" },
    source_id: { type: "string", description: "session:<id>" },
    seq: {
      type: "integer",
      minimum: 0,
      description: "Its place in the log. A delta has the seq of the last event before it.",
    },
    timestamp_ms: { type: "integer" },
    payload: {
      type: "object",
      required: ["type"],
      properties: { type: { type: "string" } },
      additionalProperties: true,
    },
  },
};

/** Said in words: a second type of the same answer would make clients type it as a union. */
const STREAMS =
  "With `Accept: text/event-stream` the answer is a stream of server-sent events: each event of the turn as an EventEnvelope, then `event: result` with the JSON result, or `event: error` with an Error.";

const IDEMPOTENCY_KEY = {
  name: "Idempotency-Key",
  in: "header",
  description:
    "A name of the request, for a day and until the server restarts. Sent again with the same request, it runs nothing, and gets the first one's result. With another request it is refused (422).",
  schema: { type: "string", pattern: "^[\\x21-\\x7e]{1,255}$" },
};

/** The name of a body that is a file. */
const FILE_NAME = {
  name: "name",
  in: "query",
  description: "The name of the file, if the body is one. Some formats are known by it.",
  schema: { type: "string", minLength: 1, maxLength: 500 },
};

const FILE = {
  "application/octet-stream": {
    schema: {
      type: "string",
      format: "binary",
      minLength: 1,
      description: "The file itself, of any size up to 1 GiB.",
    },
  },
};

const FAILURE = {
  "4XX": { description: "The request was refused.", content: json("Error") },
  "5XX": { description: "The server failed, or lacks a capability.", content: json("Error") },
};

const EVENTS = {
  operationId: "subscribe",
  summary:
    "Stream a session's events: those after a place in its log, then new ones as they happen.",
  parameters: [
    ...pathParameters(subscribeRequest, "/sessions/{session_id}/events"),
    ...queryParameters(subscribeRequest, "/sessions/{session_id}/events"),
    {
      name: "named",
      in: "query",
      description:
        "With `false` the events have no `event:` line, so that the `onmessage` of an EventSource gets all of them. Default: `event:` is the event's type, for `addEventListener`.",
      schema: { type: "boolean" },
    },
    {
      name: "Last-Event-ID",
      in: "header",
      description: "The last id that the client received. Overrides after_seq.",
      schema: { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
    },
  ],
  responses: {
    200: {
      description: "Server-sent events.",
      content: {
        "text/event-stream": {
          schema: {
            type: "string",
            contentMediaType: "application/json",
            contentSchema: { $ref: "#/components/schemas/EventEnvelope" },
            description:
              "The data of each event is an EventEnvelope. Its `id` is its seq; deltas have no id. The server ends the stream with `event: done`.",
          },
        },
      },
    },
    ...FAILURE,
  },
};

const VERSION = {
  type: "string",
  description: "Missing when the server requires a token and the request has none.",
};

const HEALTH = {
  operationId: "health",
  summary: "Check that the server is up. Needs no token.",
  security: [],
  responses: {
    200: {
      description: "The server is up.",
      content: {
        "application/json": {
          schema: {
            type: "object",
            required: ["status"],
            properties: { status: { const: "ok" }, version: VERSION },
          },
        },
      },
    },
    ...FAILURE,
  },
};

const status = (name: string, description: string) => ({
  description,
  content: {
    "application/json": {
      schema: { type: "object", required: ["status"], properties: { status: { const: name } } },
    },
  },
});

const READY = {
  operationId: "ready",
  summary: "Check that the server can work: its store answers. Needs no token.",
  security: [],
  responses: {
    200: status("ready", "The store answers."),
    503: status("unavailable", "The store does not answer in time, or the server is stopping."),
    ...FAILURE,
  },
};

const METRICS = {
  operationId: "metrics",
  summary: "Numbers of the server, in Prometheus' text format. Not for the token of a user.",
  responses: {
    200: {
      description: "The numbers. A server that was started without them has no such route.",
      content: { "text/plain": { schema: { type: "string" } } },
    },
    ...FAILURE,
  },
};

const DOCUMENT = {
  operationId: "openApi",
  summary: "This document.",
  responses: {
    200: {
      description: "An OpenAPI 3.1 document.",
      content: {
        "application/json": {
          schema: {
            type: "object",
            required: ["openapi", "info", "paths"],
            properties: {
              openapi: { type: "string" },
              info: { type: "object", additionalProperties: true },
              paths: { type: "object", additionalProperties: true },
            },
          },
        },
      },
    },
    ...FAILURE,
  },
};

function json(schema: string) {
  return { "application/json": { schema: { $ref: `#/components/schemas/${schema}` } } };
}

/** The request without the fields in the path; undefined when there are no others. */
function bodySchema({ request, http }: Operation): ObjectSchema | undefined {
  const { properties = {}, required = [], ...rest } = requestSchema(request);
  const inBody = (name: string) => !http.path.includes(`{${name}}`);
  const names = Object.keys(properties).filter(inBody);
  if (names.length === 0) return undefined;
  const withFields = (fields: readonly string[], needed: readonly string[]): ObjectSchema => ({
    ...rest,
    properties: Object.fromEntries(fields.map((name) => [name, properties[name] ?? {}])),
    ...(needed.length > 0 ? { required: needed } : {}),
  });
  const needed = required.filter(inBody);
  const either = EITHER_OF.get(request)?.fields.map(snakeCase);
  if (!either) return withFields(names, needed);
  const alternatives = either.map((one) =>
    withFields(
      names.filter((name) => name === one || !either.includes(name)),
      [...needed, one],
    ),
  );
  return { type: "object", oneOf: alternatives };
}

/** The requests that the server accepts, no more and no less. */
function requestSchema(request: z.ZodObject): ObjectSchema {
  return wireSchema(request, "input", { exact: true });
}

function pathParameters(request: z.ZodObject, path: string) {
  const { properties = {} } = requestSchema(request);
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => ({
    name,
    in: "path",
    required: true,
    schema: properties[name] ?? { type: "string" },
  }));
}

/** The limits of a label's name and value. */
const PAIR = "^[^=]{1,100}=[\\s\\S]{0,500}$";

function queryParameters(request: z.ZodObject, path: string) {
  const { properties = {}, required = [] } = requestSchema(request);
  return Object.entries(request.shape)
    .map(([field, kind]) => [snakeCase(field), kindOf(kind)] as const)
    .filter(([name]) => !path.includes(`{${name}}`))
    .map(([name, kind]) =>
      kind === "record"
        ? {
            name: name.replace(/s$/, ""),
            in: "query",
            description: "name=value. Repeat it for more.",
            schema: { type: "array", items: { type: "string", pattern: PAIR } },
          }
        : { name, in: "query", required: required.includes(name), schema: properties[name] },
    );
}
