import { isObject } from "../../core/fields.ts";
import { WRAPPED_NESTING_MAX } from "../../core/json-values.ts";
import { notValid } from "./error-response.ts";
import { FairShare, type Holder } from "./fair-share.ts";

export interface BodyLimits {
  /** Bytes of one body. Default 8 MiB. */
  readonly bodyBytesMax: number;
  /** Bytes of all bodies that are being received at once. Default 128 MiB. */
  readonly allBodiesBytesMax: number;
}

const JSON_LIMITS: JsonLimits = { depth: WRAPPED_NESTING_MAX, values: 500_000 };

/** Reads request bodies as JSON objects, within limits. */
export class BodyReader {
  readonly #bodyBytesMax: number;
  /** Bytes of the bodies that are being received. */
  readonly #receiving: FairShare;

  constructor({ bodyBytesMax, allBodiesBytesMax }: BodyLimits) {
    this.#bodyBytesMax = bodyBytesMax;
    this.#receiving = new FairShare(allBodiesBytesMax);
  }

  /** An empty body reads as an empty object. `user` is who sends it. */
  async read(request: Request, user: Holder): Promise<Record<string, unknown>> {
    const bytes = await this.#receive(request, user);
    if (bytes.length === 0) return {};
    requireJson(request.headers);
    requireSmallJson(bytes);
    const value = parse(bytes);
    if (!isObject(value)) throw notValid(400, "The body must be a JSON object.");
    return value;
  }

  /** A body of any type, piece by piece, as fast as it is read. */
  async *stream({ body, headers }: Request, bytesMax: number): AsyncGenerator<Uint8Array> {
    requireUnencoded(headers);
    const tooLarge = () => notValid(413, `The body has more than ${bytesMax} bytes.`);
    if (Number(headers.get("content-length")) > bytesMax) throw tooLarge();
    let size = 0;
    for await (const chunk of chunksOf(body)) {
      size += chunk.length;
      if (size > bytesMax) throw tooLarge();
      yield chunk;
    }
    if (size === 0) throw notValid(400, "The request has no body: send the file as the body.");
  }

  async #receive({ body, headers }: Request, user: Holder): Promise<Uint8Array> {
    const bodyBytesMax = this.#bodyBytesMax;
    const tooLarge = () => notValid(413, `The body has more than ${bodyBytesMax} bytes.`);
    if (Number(headers.get("content-length")) > bodyBytesMax) throw tooLarge();
    // One array, because a body can arrive byte by byte, and a chunk takes more memory than its byte.
    let bytes = new Uint8Array();
    let size = 0;
    try {
      for await (const chunk of chunksOf(body)) {
        if (size + chunk.length > bodyBytesMax) throw tooLarge();
        this.#receiving.take(user, RECEIVING, chunk.length);
        size += chunk.length;
        if (size > bytes.length) bytes = withRoom(bytes, size);
        bytes.set(chunk, size - chunk.length);
      }
      return bytes.subarray(0, size);
    } finally {
      this.#receiving.add(user, -size);
    }
  }
}

const RECEIVING = {
  free: "The server is receiving too much data at once.",
  share: "This user is sending too much data at once.",
};

function withRoom(bytes: Uint8Array, size: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(Math.max(size, 2 * bytes.length));
  larger.set(bytes);
  return larger;
}

/** The chunks of a body. Leaving the loop cancels the rest. */
async function* chunksOf(body: Request["body"]): AsyncGenerator<Uint8Array> {
  try {
    if (body) yield* body;
  } catch {
    throw notValid(400, "The body broke off.");
  }
}

export function isJson(headers: Headers): boolean {
  return /^application\/json *(;|$)/i.test(headers.get("content-type") ?? "");
}

function requireJson(headers: Headers): void {
  if (!isJson(headers)) {
    throw notValid(415, "The body must be sent as Content-Type: application/json.");
  }
  requireUnencoded(headers);
}

function requireUnencoded(headers: Headers): void {
  const encoding = headers.get("content-encoding") ?? "identity";
  if (encoding !== "identity") {
    throw notValid(415, `The body must not be encoded; it is sent as ${encoding}.`);
  }
}

const decoder = new TextDecoder("utf-8", { fatal: true });

/** Before it is parsed: what is parsed takes many times the memory of the bytes. */
function requireSmallJson(bytes: Uint8Array): void {
  const broken = brokenLimit(bytes, JSON_LIMITS);
  if (broken === undefined) return;
  const { depth, values } = JSON_LIMITS;
  throw broken === "depth"
    ? notValid(400, `The body is nested more than ${depth} levels deep.`)
    : notValid(413, `The body has more than ${values} values.`);
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(bytes));
  } catch (error) {
    throw notValid(400, `The body is not JSON: ${(error as Error).message}`);
  }
}

interface JsonLimits {
  /** Deeper JSON would exhaust the stack of recursive functions. */
  readonly depth: number;
  /** Every value takes memory, and an empty list is two bytes: 30 MB of them would be a gigabyte. */
  readonly values: number;
}

const codeOf = (character: string) => character.charCodeAt(0);
const QUOTE = codeOf('"');
const BACKSLASH = codeOf("\\");
const COMMA = codeOf(",");
const COLON = codeOf(":");
const LIST = codeOf("[");
const LIST_END = codeOf("]");
const OBJECT = codeOf("{");
const OBJECT_END = codeOf("}");

/**
 * Which limit a JSON text breaks, found in one pass over its bytes, before it is parsed. A text that
 * is not JSON breaks none, or any.
 */
export function brokenLimit(json: Uint8Array, limits: JsonLimits): keyof JsonLimits | undefined {
  let depth = 0;
  let values = 1;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at] ?? 0;
    if (byte === QUOTE) at = endOfString(json, at + 1);
    else if (byte === COMMA || byte === COLON) values += 1;
    else if (byte === LIST || byte === OBJECT) {
      depth += 1;
      values += 1;
    } else if (byte === LIST_END || byte === OBJECT_END) depth -= 1;
    if (depth > limits.depth) return "depth";
    if (values > limits.values) return "values";
  }
  return undefined;
}

function endOfString(json: Uint8Array, start: number): number {
  let at = start;
  while (at < json.length && json[at] !== QUOTE) at += json[at] === BACKSLASH ? 2 : 1;
  return at;
}
