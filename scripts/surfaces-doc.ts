import type { z } from "zod";
import { ERRORS } from "../src/core/errors.ts";
import { snakeCase } from "../src/core/fields.ts";
import type { Operation } from "../src/core/operations/operation.ts";
import { subscribe as subscribeRequest } from "../src/core/operations/sessions.ts";
import { OPERATIONS } from "../src/core/operations.ts";
import { wireSchema } from "../src/surfaces/wire-schema.ts";

/** The text of `docs/surfaces.md`, made from the table of operations. */
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

You can use a session service in five ways. All of them have the same operations, with the same
requests and results. In TypeScript, names are camelCase (\`sessionId\`). On every wire they are
snake_case (\`session_id\`), as below. Your own names, such as labels and the arguments of tools,
are never changed.`;

const EVENTS = `## Events

A turn streams events in order: \`run_started\`, \`turn_started\`, \`text_delta\`, \`text_complete\`,
\`tool_call_requested\` and so on, until \`run_completed\` or \`run_failed\`. Every event but the deltas is
stored in the session's log before it is sent. Its \`seq\` is its place in the log, from 1 without gaps. Subscribe
after the last \`seq\` that you received, and you get every later event. [sdk.md](sdk.md#streaming) says what the most
useful ones mean. An event looks like this:

\`\`\`json
{"event_id":"019…","source_id":"session:019…","seq":7,"timestamp_ms":1772000000000,"payload":{"type":"text_delta","delta":"Hel"}}
\`\`\``;

const JSON_RPC = `## JSON-RPC

\`\`\`sh
echo '{"jsonrpc":"2.0","id":1,"method":"memory/search","params":{"query":"staging port"}}' | rkat rpc
\`\`\`

\`rkat rpc\` speaks JSON-RPC 2.0 over its standard input and output, one message a line. From TypeScript, \`connectJsonRpc()\`
of \`rkat/json-rpc\` starts it, and is a session service like any other. Requests run
concurrently, so answers may come in another order. Batches and notifications work as in the protocol.
Besides the operations there are these methods:

${table(
  ["method", "params", "result"],
  [
    ["`initialize`", "", "`server_info` with `name` and `version`, `contract_version`, `methods`"],
    ["`config/get`", "", "`files` and `settings`: the values in force, and where each comes from"],
    ["`session/subscribe`", "see below", "`subscription_id`, `after_seq`"],
    ["`session/unsubscribe`", "`subscription_id`", "`unsubscribed`"],
    ["`$/cancelRequest`", "`id` of a request", "`cancelled`; usually sent as a notification"],
  ],
)}

The params of an operation, and of \`session/subscribe\`, can also have a \`user\`. The request then acts for that
[user](many-users.md).

The server sends these notifications:

${table(
  ["method", "params", "when"],
  [
    [
      "`session/event`",
      "`session_id`, `request_id`, `event`",
      "during a turn or a compaction that this connection started, always before its answer; when the reader is too slow, deltas are dropped and an event `stream_truncated` counts them",
    ],
    [
      "`session/event`",
      "`session_id`, `subscription_id`, `event`",
      "for a subscription: the events of the log after `after_seq`, then new ones, of any process",
    ],
    [
      "`session/subscription_ended`",
      "`session_id`, `subscription_id`, `error`",
      "the subscription has ended or failed; to continue, subscribe again after the last `seq`",
    ],
  ],
)}

\`session/subscribe\` takes:`;

const JSON_RPC_LIMITS = `A prompt of a program is not a person's word, so the project learns nothing from it. If a person typed the
prompt, say so in \`turn/start\` and \`session/resume\`: \`"origin": {"author": "user"}\`.
[Whose words teach](knowledge.md#whose-words-teach) has the details.

A line may have 16 MiB, a batch 100 requests, and a connection 100 turns and 1000 subscriptions at once.
Anything above a limit is answered with an error. The server stops reading requests while you do not read its
answers. When the input ends, running turns get up to 30 seconds to finish, and \`rkat rpc\` ends. On SIGINT and
SIGTERM it interrupts the running turns, answers them, and ends.

An error has the number of the table below as its \`code\`. Its \`data\` has \`code\`, \`message\`, \`hint\`,
\`issues\` when fields are wrong, \`retry_after_ms\` when that is known, and \`archived\` as below. A line that is not a valid request gets
an error of the protocol: -32700 (not JSON), -32600 (not a request) or -32601 (no such method).`;

const ERRORS_INTRODUCTION = `## Errors

Every surface reports a failure with the same code and the same message. The hint says what to do.
\`INVALID_PARAMS\` also has \`issues\`, one for each wrong field: \`{ "path": ["budget", "max_tool_calls"], "message": "…" }\`.
\`SESSION_NOT_FOUND\` has \`"archived": true\` when the session is there, and archived: its log can be read, and \`session/unarchive\` lets it go on.`;

function operationDoc(name: string, operation: Operation): string[] {
  const { description, request, result, resultKey, beside } = operation;
  const [same] = Object.entries(OPERATIONS).find(
    ([, other]) => other.request === request && other.result === result,
  ) ?? [name];
  if (same !== name && !resultKey) {
    const link = `[${same}](#${same.toLowerCase()})`;
    return [
      `### ${name}`,
      description,
      `The request and the result are the same as those of ${link}.`,
    ];
  }
  return [
    `### ${name}`,
    description,
    Object.keys(request.shape).length === 0
      ? "The request has no fields."
      : `Request:\n\n${fieldsTable(request, "input")}`,
    `Result:\n\n${table(["field", "type"], [...resultRows(result, resultKey), ...(beside ? resultRows(beside, undefined) : [])])}`,
  ];
}

function fieldsTable(schema: z.ZodObject, io: "input" | "output"): string {
  const { properties = {}, required = [] } = wireSchema(schema, io);
  return table(["field", "type", ""], rowsOf(properties, required));
}

/** The rows of a result on the wire, wrapped where `resultKey` says so. */
function resultRows(result: z.ZodType, resultKey: string | undefined): string[][] {
  if (resultKey !== undefined && result.type === "undefined") return [[code(resultKey), "`true`"]];
  const schema = wireSchema(result, "output") as Schema;
  const rows = resultKey
    ? fieldRows(snakeCase(resultKey), schema, true)
    : rowsOf(schema.properties ?? {}, schema.required ?? []);
  return rows.map(([field = "", type = "", need]) => [
    field,
    need === "required" ? type : `${type}, optional`,
  ]);
}

/** The part of JSON Schema that these schemas use. */
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
  readonly description?: string;
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
  const row = [code(path), typeText(schema), required ? "required" : (schema.description ?? "")];
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
  const filled = minLength === undefined ? "string" : "non-empty string";
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
