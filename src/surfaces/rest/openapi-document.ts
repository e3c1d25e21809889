import type { z } from "zod";
import { ERRORS } from "../../core/errors.ts";
import { snakeCase } from "../../core/fields.ts";
import { subscribe as subscribeRequest } from "../../core/requests.ts";
import { OPERATIONS, type Operation } from "../operations.ts";
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
        parameters: [
          ...pathParameters(path),
          ...(method === "POST" ? [] : queryParameters(operation.request, path)),
        ],
        ...(body
          ? {
              requestBody: {
                required: (body.required ?? []).length > 0,
                content: json(`${title}Request`),
              },
            }
          : {}),
        responses: {
          200: {
            description: "Done.",
            content: {
              ...json(`${title}Result`),
              ...(operation.streams ? { "text/event-stream": TURN_STREAM } : {}),
            },
          },
          ...FAILURE,
        },
      },
    };
  }
  paths["/sessions/{session_id}/events"] = { get: EVENTS };
  paths["/health"] = { get: HEALTH };
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

const TURN_STREAM = {
  schema: {
    type: "string",
    description:
      "Server-sent events, with `Accept: text/event-stream`: each event of the turn as an EventEnvelope, then `event: result` with the JSON result, or `event: error` with an Error.",
  },
};

const FAILURE = { default: { description: "The request failed.", content: json("Error") } };

const EVENTS = {
  operationId: "subscribe",
  summary:
    "Stream a session's events: those after a place in its log, then new ones as they happen.",
  parameters: [
    ...pathParameters("/sessions/{session_id}/events"),
    ...queryParameters(subscribeRequest, "/sessions/{session_id}/events"),
    {
      name: "Last-Event-ID",
      in: "header",
      description: "The last id that the client received. Overrides after_seq.",
      schema: { type: "integer", minimum: 0 },
    },
  ],
  responses: {
    200: {
      description: "Server-sent events.",
      content: {
        "text/event-stream": {
          schema: {
            type: "string",
            description:
              "Each event is an EventEnvelope. Its `id` is its seq; deltas have no id. The server ends the stream with `event: done`.",
          },
        },
      },
    },
    ...FAILURE,
  },
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
            required: ["status", "version"],
            properties: { status: { const: "ok" }, version: { type: "string" } },
          },
        },
      },
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
      content: { "application/json": { schema: { type: "object" } } },
    },
    ...FAILURE,
  },
};

function json(schema: string) {
  return { "application/json": { schema: { $ref: `#/components/schemas/${schema}` } } };
}

/** The request without the fields in the path; undefined when there are no others. */
function bodySchema({ request, http }: Operation): ObjectSchema | undefined {
  const { properties = {}, required = [], ...rest } = wireSchema(request, "input");
  const inBody = (name: string) => !http.path.includes(`{${name}}`);
  const names = Object.keys(properties).filter(inBody);
  if (names.length === 0) return undefined;
  return {
    ...rest,
    properties: Object.fromEntries(names.map((name) => [name, properties[name] ?? {}])),
    required: required.filter(inBody),
  };
}

function pathParameters(path: string) {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
}

function queryParameters(request: z.ZodObject, path: string) {
  const { properties = {}, required = [] } = wireSchema(request, "input");
  return Object.entries(request.shape)
    .map(([field, kind]) => [snakeCase(field), kindOf(kind)] as const)
    .filter(([name]) => !path.includes(`{${name}}`))
    .map(([name, kind]) =>
      kind === "record"
        ? {
            name: name.replace(/s$/, ""),
            in: "query",
            description: "name=value. Repeat it for more.",
            schema: { type: "array", items: { type: "string", pattern: "^[^=]+=" } },
          }
        : { name, in: "query", required: required.includes(name), schema: properties[name] },
    );
}
