import { isObject } from "../core/fields.ts";

export { parsedJson } from "../core/json-values.ts";

/** Reads fields of JSON that another program wrote. A field that is missing or odd reads as empty. */
export type Json = Readonly<Record<string, unknown>>;

export function objectOf(value: unknown): Json {
  return isObject(value) ? value : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** A text that is not empty. */
export function nameOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** A time as ISO 8601, from a text, or from seconds or milliseconds since 1970. */
export function timeOf(value: unknown): string | undefined {
  if (typeof value !== "number" && typeof value !== "string") return undefined;
  const ms = typeof value === "number" && Math.abs(value) < SECONDS_MAX ? value * 1000 : value;
  const date = new Date(ms);
  const year = Number.isNaN(date.getTime()) ? -1 : date.getUTCFullYear();
  return year >= 0 && year <= 9999 ? date.toISOString() : undefined;
}

/** The number is in the year 5138 as seconds, and in 1973 as milliseconds. */
const SECONDS_MAX = 1e11;

const TITLE_MAX = 100;

/** The title of a session that has none: the first line of its first prompt. */
export function titleOf(prompt: string): string | undefined {
  const [line = ""] = prompt.trim().split("\n", 1);
  return nameOf(line.slice(0, TITLE_MAX).toWellFormed());
}

/**
 * The text of a content in parts, `[{"type":"text","text":"Hi"}, {"type":"image", …}]`, or of a plain one. Images and
 * files leave their name or kind: `[image]`.
 */
export function contentText(content: unknown): string {
  if (typeof content === "string") return content;
  const parts = Array.isArray(content) ? content : isObject(content) ? [content] : [];
  return parts
    .map(partText)
    .filter((text) => text !== "")
    .join("\n");
}

function partText(part: unknown): string {
  if (typeof part === "string") return part;
  const {
    text,
    refusal,
    transcript,
    name,
    filename,
    file_name,
    type,
    content_type,
    inlineData,
    fileData,
  } = objectOf(part);
  const said = [text, refusal, transcript].find((value) => typeof value === "string");
  if (said !== undefined) return textOf(said);
  const kind = [type, content_type].map(nameOf).find((value) => value !== undefined);
  const file = [filename, file_name, name].map(nameOf).find((value) => value !== undefined);
  const media = nameOf(objectOf(inlineData ?? fileData).mimeType);
  if (media !== undefined) return `[${media}]`;
  if (kind === undefined) return "";
  // ChatGPT's pointer to a recording is an audio, and `input_image` is an image.
  const shown = ["image", "audio", "video"].find((medium) => kind.includes(medium)) ?? kind;
  return file === undefined ? `[${shown}]` : `[${shown}: ${file}]`;
}
