import type { z } from "zod";
import { ERRORS } from "../core/errors.ts";
import { subscribe as subscribeRequest } from "../core/requests.ts";
import { snakeCase } from "../core/wire.ts";
import { OPERATIONS, type Operation } from "./operations.ts";
import { wireSchema } from "./wire-schema.ts";

/** What the tables of this program say of its surfaces, as `docs/surfaces.md`. */
export function surfacesDoc(): string {
  return [
    INTRODUCTION,
    table(
      ["operation", "JSON-RPC method", "HTTP", "MCP tool", "command"],
      Object.entries(OPERATIONS).map(([name, { rpc, http, tool, command }]) => [
        `[${name}](#${name.toLowerCase()})`,
        code(rpc),
        code(`${http.method} ${http.path}`),
        code(tool),
        command.startsWith("(") ? command : code(`rkat ${command}`),
      ]),
    ),
    "## Operations",
    ...Object.entries(OPERATIONS).flatMap(([name, operation]) => operationDoc(name, operation)),
    EVENTS,
    JSON_RPC,
    fieldsTable(subscribeRequest, "input"),
    JSON_RPC_LIMITS,
    ERRORS_INTRODUCTION,
    table(
      ["code", "message", "HTTP status", "JSON-RPC number", "exit code"],
      Object.entries(ERRORS).map(([name, { message, httpStatus, jsonRpcCode, exitCode }]) => [
        code(name),
        message,
        String(httpStatus),
        String(jsonRpcCode),
        String(exitCode),
      ]),
    ),
  ]
    .join("\n\n")
    .concat("\n");
}

const INTRODUCTION = `<!-- Generated from the code by \`npm run docs\`. -->
# Surfaces

A session service can be reached in five ways, and each does the same with the same requests:
they are one table in the code, and this page is made from it. In TypeScript, names are in
camelCase (\`sessionId\`); on every wire they are in snake_case (\`session_id\`), as below. What is
your own, such as labels and the arguments of tools, keeps its names.`;

const EVENTS = `## Events

A turn tells of what happens in it, in order: \`run_started\`, \`turn_started\`, \`text_delta\`,
\`text_complete\`, \`tool_call_requested\` and so on, to \`run_completed\` or \`run_failed\`. All but the
deltas are in the session's log before anybody sees them, each with a place in it, its \`seq\`: from 1,
without gaps. Whoever knows the last \`seq\` they had can have all that came after it again. An event comes as

\`\`\`json
{"event_id":"019…","source_id":"session:019…","seq":7,"timestamp_ms":1772000000000,"payload":{"type":"text_delta","delta":"Hel"}}
\`\`\``;

const JSON_RPC = `## JSON-RPC

\`rkat rpc\` speaks JSON-RPC 2.0 over its standard input and output, one message a line. Requests are
worked on side by side and answered when they are done, so answers come in another order than
requests; batches and notifications work as the protocol says. Besides the operations there are:

${table(
  ["method", "params", "result"],
  [
    ["`initialize`", "", "`server_info` with `name` and `version`, `contract_version`, `methods`"],
    ["`config/get`", "", "`files` and `settings`: what is in force, and who says so"],
    ["`session/subscribe`", "see below", "`subscription_id`, `after_seq`"],
    ["`session/unsubscribe`", "`subscription_id`", "`unsubscribed`"],
    ["`$/cancelRequest`", "`id` of a request", "`cancelled`; usually sent as a notification"],
  ],
)}

The server sends these notifications:

${table(
  ["method", "params", "when"],
  [
    [
      "`session/event`",
      "`session_id`, `request_id`, `event`",
      "during a turn or a compaction that this connection started; all of them come before its answer; of deltas that the reader was too slow for, an event `stream_truncated` says how many",
    ],
    [
      "`session/event`",
      "`session_id`, `subscription_id`, `event`",
      "for a subscription: what the log has after `after_seq`, and then what happens, in any process",
    ],
    [
      "`session/subscription_ended`",
      "`session_id`, `subscription_id`, `error`",
      "a subscription failed; subscribe again after the last `seq` to go on",
    ],
  ],
)}

\`session/subscribe\` takes:`;

const JSON_RPC_LIMITS = `A line may have 16 MiB and a batch 100 requests; a connection may have 100 turns and 1000
subscriptions at once. What is longer or more is answered with an error. Nothing more is read from who does
not read answers. When its input ends, \`rkat rpc\` lets what runs finish for up to 30 seconds, and ends; on
SIGINT and SIGTERM it interrupts what runs, answers, and ends.

An error has the number of the table below as its \`code\`, and the rest as its \`data\`: \`code\`, \`message\`,
\`hint\`, \`issues\` where fields are wrong, and \`retry_after_ms\` where that is known. A line that is no request
gets the protocol's own -32700 (not JSON), -32600 (not a request) or -32601 (no such method).`;

const ERRORS_INTRODUCTION = `## Errors

Every surface reports a failure with the same code and the same message; the hint says what to do. An
\`INVALID_PARAMS\` also has \`issues\`, one for each wrong field: \`{ "path": ["budget", "max_tool_calls"], "message": "…" }\`.`;

function operationDoc(name: string, operation: Operation): string[] {
  const { description, request, result, resultKey } = operation;
  const [same] = Object.entries(OPERATIONS).find(
    ([, other]) => other.request === request && other.result === result,
  ) ?? [name];
  if (same !== name && !resultKey) {
    const link = `[${same}](#${same.toLowerCase()})`;
    return [`### ${name}`, description, `Request and result are those of ${link}.`];
  }
  return [
    `### ${name}`,
    description,
    Object.keys(request.shape).length === 0
      ? "The request has no fields."
      : `Request:\n\n${fieldsTable(request, "input")}`,
    `Result:\n\n${table(["field", "type"], resultRows(result, resultKey))}`,
  ];
}

function fieldsTable(schema: z.ZodObject, io: "input" | "output"): string {
  const { properties = {}, required = [] } = wireSchema(schema, io);
  return table(["field", "type", ""], rowsOf(properties, required));
}

/** A result as it travels: a list under its name, nothing as `true`. */
function resultRows(result: z.ZodType, resultKey: string | undefined): string[][] {
  if (resultKey !== undefined && result.type === "undefined") return [[code(resultKey), "`true`"]];
  const schema = wireSchema(result, "output") as Schema;
  const rows = resultKey
    ? fieldRows(snakeCase(resultKey), schema, true)
    : rowsOf(schema.properties ?? {}, schema.required ?? []);
  return rows.map(([field = "", type = "", need]) => [
    field,
    need === "required" ? type : `${type}, if there is one`,
  ]);
}

/** As much of JSON Schema as these schemas use. */
interface Schema {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly required?: readonly string[];
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
}

function rowsOf(
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[],
  prefix = "",
): string[][] {
  return Object.entries(properties).flatMap(([name, schema]) =>
    fieldRows(`${prefix}${name}`, schema, required.includes(name)),
  );
}

function fieldRows(path: string, schema: Schema, required: boolean): string[][] {
  const row = [code(path), typeText(schema), required ? "required" : ""];
  const inner = schema.items ?? schema;
  const prefix = schema.items ? `${path}[].` : `${path}.`;
  return [row, ...rowsOf(inner.properties ?? {}, inner.required ?? [], prefix)];
}

function typeText(schema: Schema): string {
  const { type, items, additionalProperties } = schema;
  const either = schema.anyOf ?? schema.oneOf;
  if (either) return eitherText(either);
  if (schema.const !== undefined) return code(JSON.stringify(schema.const));
  if (schema.enum) return schema.enum.map((value) => code(JSON.stringify(value))).join(" or ");
  if (type === "array") return `list of ${items ? typeText(items) : "anything"}`;
  if (type === "object" && typeof additionalProperties === "object") {
    return `object of ${typeText(additionalProperties)}`;
  }
  if (type === "string") return stringText(schema);
  if (type === "integer" || type === "number") return numberText(type, schema);
  return typeof type === "string" ? type : (type?.join(" or ") ?? "any JSON");
}

function eitherText(either: readonly Schema[]): string {
  if (either.every(({ properties }) => properties?.role)) return "message";
  if (either.every(({ properties }) => properties?.type)) return "content block";
  return either.map(typeText).join(" or ");
}

function stringText({ minLength, maxLength }: Schema): string {
  const filled = minLength === undefined ? "string" : "string that is not empty";
  return maxLength === undefined ? filled : `${filled}, up to ${maxLength} characters`;
}

function numberText(type: string, { minimum, exclusiveMinimum, maximum }: Schema): string {
  const from = exclusiveMinimum === 0 ? 1 : minimum;
  if (maximum !== undefined) return `${type} from ${from} to ${maximum}`;
  return from ? `${type} from ${from}` : type;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

function code(text: string): string {
  return `\`${text}\``;
}
