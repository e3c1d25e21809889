import { fileTokens, imageTokens } from "../text/image-tokens.ts";
import { textWeight } from "../text/text-weight.ts";
import { jsonText } from "./json-values.ts";
import { type ContentBlock, type Message, toolResults } from "./message.ts";

export { countsImagesAlike } from "../text/image-tokens.ts";

const encoder = new TextEncoder();

/** UTF-8 bytes of a value's JSON. */
export function jsonBytes(value: unknown): number {
  return utf8Bytes(jsonText(value));
}

/** UTF-8 bytes of a text. Only for ASCII this is its length. */
export function utf8Bytes(text: string): number {
  if (text.length < 64 && isAscii(text)) return text.length;
  let bytes = 0;
  for (let at = 0; at < text.length; ) {
    let end = Math.min(at + PIECE, text.length);
    if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end -= 1;
    bytes += encoder.encode(text.slice(at, end)).length;
    at = end;
  }
  return bytes;
}

/** A long text is not copied whole to be measured. */
const PIECE = 64 * 1024;

const isHighSurrogate = (unit: number) => unit >= 0xd800 && unit <= 0xdbff;

/**
 * The size of a message in quarter tokens. JSON counts its bytes, as the specification says. Texts
 * count by their kind, images by their pixels, and files by their pages.
 */
export function messageWeight(message: Message, model?: string): number {
  return Math.ceil(jsonWeight(message, model));
}

/** The weight of a value as JSON; `undefined` has none. */
function jsonWeight(root: unknown, model: string | undefined): number {
  let weight = 0;
  const left = [root];
  while (left.length > 0) {
    const value = left.pop();
    if (typeof value === "string") weight += QUOTES + textWeight(value);
    else if (typeof value !== "object" || value === null) weight += jsonBytes(value);
    else if (Array.isArray(value)) {
      weight += BRACKETS - 1 + value.length;
      for (const item of value) left.push(item);
    } else if (isFile(value)) weight += fileWeight(value, model);
    else {
      weight += BRACKETS - 1;
      for (const [key, field] of Object.entries(value)) {
        if (field === undefined) continue;
        weight += key.length + QUOTES + 2;
        // A model is sent the keys of tool arguments, but not those of messages.
        if (key === "args") weight += textWeight(jsonText(field));
        // OpenAI is sent an error as JSON, in which its quotes and line ends are two characters each.
        else if (key === "content" && "is_error" in value && value.is_error === true) {
          weight += QUOTES + textWeight(jsonText(field));
        } else left.push(field);
      }
    }
  }
  return weight;
}

const QUOTES = 2;
const BRACKETS = 2;

type FileBlock = Exclude<ContentBlock, { type: "text" }>;

function isFile(value: object): value is FileBlock {
  return (
    "type" in value &&
    (value.type === "image" || value.type === "file") &&
    "data" in value &&
    typeof value.data === "string"
  );
}

function fileWeight({ type, media_type, data }: FileBlock, model: string | undefined): number {
  return 4 * (type === "image" ? imageTokens(data, model) : fileTokens(media_type, data, model));
}

/** Estimated tokens of messages of this total weight. The array adds its brackets and commas. */
export function tokensOfWeight(weight: number, messageCount: number): number {
  return Math.floor((weight + messageCount + 1) / 4);
}

/**
 * Estimated tokens of a history. Texts count by their kind, and images by their pixels, with the rules
 * of the `provider/model` if it is given. For a growing history, keep a running sum of weights.
 */
export function estimateTokens(messages: readonly Message[], model?: string): number {
  const weight = messages.reduce((sum, message) => sum + messageWeight(message, model), 0);
  return tokensOfWeight(weight, messages.length);
}

/** The longest start of `text` that fits `bytesMax` UTF-8 bytes, without splitting a character. */
export function headWithin(text: string, bytesMax: number): string {
  let end = Math.max(0, bytesMax);
  // Each character takes a byte or more, so what comes later cannot fit.
  const bytes = encoder.encode(text.slice(0, end + 1));
  if (bytes.length <= bytesMax) return text;
  while (end > 0 && isContinuation(bytes[end])) end -= 1;
  return decoder.decode(bytes.subarray(0, end));
}

/** The longest end of `text` that fits `bytesMax` UTF-8 bytes, without splitting a character. */
function tailWithin(text: string, bytesMax: number): string {
  const bytes = encoder.encode(text.slice(-Math.max(0, bytesMax) - 1));
  if (bytes.length <= bytesMax) return text;
  let start = bytes.length - Math.max(0, bytesMax);
  while (start < bytes.length && isContinuation(bytes[start])) start += 1;
  return decoder.decode(bytes.subarray(start));
}

// A byte order mark at the start of a piece belongs to the user's text, so keep it.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0b1100_0000) === 0b1000_0000;
}

function isAscii(text: string): boolean {
  for (let index = 0; index < text.length; index += 1) {
    if (text.charCodeAt(index) > 127) return false;
  }
  return true;
}

/** Ends a text that was cut. */
const CUT_MARK = " […]";

interface Passage {
  readonly content: string;
}

/** A search result. Its neighbours are what was said right before and after it. */
interface Result extends Passage {
  readonly neighbours?: { readonly before: readonly Passage[]; readonly after: readonly Passage[] };
}

/**
 * The first results whose texts, neighbours included, take at most `maxTokens`
 * together (UTF-8 bytes / 4). With `maxTokensEach`, longer texts are cut first.
 *
 * The best result always comes: without neighbours when they do not fit, and cut
 * when it alone is too long. Results that were changed are new objects.
 */
export function withinTokens<Hit extends Result>(
  hits: readonly Hit[],
  maxTokens: number,
  maxTokensEach = Number.POSITIVE_INFINITY,
): readonly Hit[] {
  const bytesMax = maxTokens * 4;
  const kept: Hit[] = [];
  let bytes = 0;
  for (const hit of hits) {
    const short = cut(hit, maxTokensEach * 4);
    bytes += bytesOf(short);
    if (bytes > bytesMax) break;
    kept.push(short);
  }
  const [best] = hits;
  if (kept.length > 0 || !best) return kept;
  const { neighbours: _, ...alone } = best;
  return [cut(alone as Hit, Math.min(maxTokens, maxTokensEach) * 4)];
}

function bytesOf({ content, neighbours }: Result): number {
  const around = neighbours ? [...neighbours.before, ...neighbours.after] : [];
  return around.reduce((sum, passage) => sum + utf8Bytes(passage.content), utf8Bytes(content));
}

function cut<Hit extends Result>(hit: Hit, bytesMax: number): Hit {
  const { content } = hit;
  if (content.length <= bytesMax && utf8Bytes(content) <= bytesMax) return hit;
  return { ...hit, content: headWithin(content, bytesMax - utf8Bytes(CUT_MARK)) + CUT_MARK };
}

/**
 * Shortens a tool's output to about `keptBytes`: half from its start and half from its end, with a
 * note in between that says what is missing, now and from before. The same input always gives the
 * same text.
 */
function shortenToolOutput(
  output: string,
  { keptBytes, turn }: Omit<KeptOutput, "toolUseId">,
): string {
  const head = headWithin(output, Math.ceil(keptBytes / 2));
  const tail = tailWithin(output, Math.floor(keptBytes / 2));
  const left = output.slice(head.length, output.length - tail.length);
  if (left === "") return output;
  const before = PRUNED.exec(left);
  const missing = utf8Bytes(left) + (before ? Number(before[1]) - utf8Bytes(before[0]) : 0);
  const place = turn === undefined ? "" : ` of turn ${turn}`;
  const note = `[${missing} bytes of old tool output${place} pruned]`;
  return [head, note, tail].filter((part) => part !== "").join("\n");
}

/** Whether output was shortened before. */
export function isShortened(output: string): boolean {
  return PRUNED.test(output);
}

/** The note of an earlier shortening. */
const PRUNED = /\n?\[(\d{1,12}) bytes of old tool output(?: of turn \d{1,12})? pruned\]\n?/;

/** A shortened tool output. */
export interface KeptOutput {
  readonly toolUseId: string;
  readonly keptBytes: number;
  /** The turn that its note names, from 0: a search of the session's history in that turn finds the whole output. */
  readonly turn?: number;
}

/** The message with one of its tool outputs shortened. */
export function withShortenedOutput(message: Message, kept: KeptOutput): Message {
  if (message.role !== "tool_results") return message;
  const results = toolResults(message).map((result) =>
    result.tool_use_id === kept.toolUseId
      ? { ...result, content: shortenToolOutput(result.content, kept) }
      : result,
  );
  return { ...message, results };
}
