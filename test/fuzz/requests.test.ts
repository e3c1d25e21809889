import fc from "fast-check";
import { expect } from "vitest";
import type { Operation } from "../../src/core/operations/operation.ts";
import { parseRequest } from "../../src/core/operations/operation.ts";
import { OPERATIONS } from "../../src/core/operations.ts";
import { errorToWire, fromWire, toWire } from "../../src/core/wire.ts";
import { brokenLimit } from "../../src/surfaces/http/body-reader.ts";
import { readQuery, writeQuery } from "../../src/surfaces/rest/query-params.ts";
import { damagedBytes, damagedJson, damagedText, fuzz, readOrRefused } from "../support/fuzz.ts";

const BODIES = [
  {
    prompt: "Hi",
    model: "a/b",
    max_tokens: 100,
    labels: { env: "test" },
    system_prompt: "Be brief.",
  },
  { messages: [{ role: "user", content: "Hi" }], compaction: { auto_compact_threshold: 5000 } },
  { session_id: "s", query: ["port", "host"], limit: 5, kinds: ["message"], neighbours: 1 },
  { session_id: "s", goal: "Ship", plan: ["a", "b"], decisions: [], files: ["a.ts"] },
  { approval_id: "a", decision: "deny", reason: "No.", after_seq: 3, include_archived: true },
  { knowledge_id: "k", kind: "preference", text: "Always tabs.", forget: { text: "secret" } },
];
const operation = fc.constantFrom(...(Object.keys(OPERATIONS) as (keyof typeof OPERATIONS)[]));
const requestOf = (name: keyof typeof OPERATIONS): Operation["request"] => OPERATIONS[name].request;

fuzz(
  "a damaged request is refused with its fields, or goes over the wire and back unchanged",
  fc.tuple(operation, damagedJson(BODIES)),
  { short: 40, long: 1_000_000 },
  async ([name, body]) => {
    const request = requestOf(name);
    const read = await readOrRefused(() => parseRequest(request, fromWire(request, body)));
    if ("refused" in read) {
      expect(read.refused.code).toBe("INVALID_PARAMS");
      expect(read.refused.issues?.length).toBeGreaterThan(0);
      expect(errorToWire(request, read.refused).message).not.toBe("");
      return;
    }
    const sent = JSON.parse(JSON.stringify(toWire(request, read.value)));
    expect(parseRequest(request, fromWire(request, sent))).toEqual(read.value);
  },
);

const QUERIES = [
  "limit=5&include_archived=true&label=env=test",
  'labels={"env":"test"}&query=port&query=host&after_seq=3',
  "session_id=s&query=%F0%9F%8E%82&limit=-0.5&explain=false",
];

fuzz(
  "a damaged query of an address is refused, or means what it means when it is written again",
  fc.tuple(operation, damagedText(QUERIES)),
  { short: 40, long: 1_000_000 },
  async ([name, text]) => {
    const request = requestOf(name);
    const read = await readOrRefused(() => {
      const fields = readQuery(request, new URLSearchParams(text));
      return parseRequest(request, fromWire(request, fields));
    });
    if ("refused" in read) {
      expect(read.refused.code).toBe("INVALID_PARAMS");
      return;
    }
    const wire = toWire(request, read.value) as Readonly<Record<string, unknown>>;
    const again = readQuery(request, new URLSearchParams(writeQuery(wire).toString()));
    // JSON has one zero.
    const [first, second] = [read.value, parseRequest(request, fromWire(request, again))];
    expect(JSON.parse(JSON.stringify(second))).toEqual(JSON.parse(JSON.stringify(first)));
  },
);

const LIMITS = { depth: 20, values: 60 };

fuzz(
  "no JSON that passes the limits is deeper or has more values than they say",
  damagedBytes(BODIES.map((body) => new TextEncoder().encode(JSON.stringify(body)))),
  { short: 40, long: 1_000_000 },
  (bytes) => {
    const broken = brokenLimit(bytes, LIMITS);
    let value: unknown;
    try {
      value = JSON.parse(new TextDecoder().decode(bytes));
    } catch {
      return;
    }
    const { depth, values } = sizeOf(value);
    if (broken === undefined) {
      expect(depth).toBeLessThanOrEqual(LIMITS.depth);
      expect(values).toBeLessThanOrEqual(LIMITS.values);
    }
  },
);

function sizeOf(value: unknown): { readonly depth: number; readonly values: number } {
  if (typeof value !== "object" || value === null) return { depth: 0, values: 1 };
  const inner = Object.values(value).map(sizeOf);
  return {
    depth: 1 + Math.max(0, ...inner.map(({ depth }) => depth)),
    values: 1 + inner.reduce((sum, { values }) => sum + values, 0),
  };
}
