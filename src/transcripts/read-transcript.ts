import { errorText, SessionError } from "../core/errors.ts";
import { isObject } from "../core/fields.ts";
import { issuesOf, issuesText } from "../core/issues.ts";
import { withinNesting } from "../core/json-values.ts";
import { messageSchema } from "../core/message-schema.ts";
import { type Chunks, type Line, lineProblem, readLines } from "../text/read-lines.ts";
import { chatFormat } from "./chat-format.ts";
import type { FoundFile } from "./found-file.ts";
import type { RecordedMessage, Recording, TranscriptFormat } from "./imported.ts";
import { listOf, objectOf, parsedJson, textOf } from "./json-fields.ts";
import { eventsFormat } from "./rkat-format.ts";

const FORMATS: readonly TranscriptFormat[] = [chatFormat, eventsFormat];

const LINE_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Reads a recorded conversation in JSON Lines. The first line decides the format.
 *
 * @throws SessionError `INVALID_PARAMS`, which names the line and the problem.
 */
export async function readTranscript(chunks: Chunks, name: string): Promise<Recording> {
  const messages: RecordedMessage[] = [];
  let read: ReturnType<TranscriptFormat["reader"]> | undefined;
  for await (const line of readLines(chunks, LINE_BYTES_MAX)) {
    try {
      const object = parseObject(line);
      read ??= formatOf(object).reader();
      const recorded = read(object);
      if (!recorded) continue;
      const message = withinNesting(recorded.message);
      const { error } = messageSchema.safeParse(message);
      if (error) throw new Error(issuesText(issuesOf(error)));
      messages.push({ ...recorded, message });
    } catch (error) {
      throw badLine(name, line.number, errorText(error));
    }
  }
  if (!read)
    throw new SessionError("INVALID_PARAMS", {
      message: `${name} is empty.`,
      hint: "Name a file with a conversation.",
    });
  return { name, messages };
}

/**
 * Whether a file of chat messages is as `readTranscript` reads it: a message a line, as OpenAI's API has them. A list of
 * messages, lines with a conversation each, and the blocks of Anthropic's API are not.
 */
export async function hasChatLines(file: FoundFile): Promise<boolean> {
  for await (const line of readLines(file.read(), LINE_BYTES_MAX)) {
    if (line.problem) return true;
    const text = line.text.trim();
    if (text.startsWith("[") || text === "{") return false;
    const { role, messages, content } = objectOf(parsedJson(text));
    if (role === undefined && Array.isArray(messages)) return false;
    if (listOf(content).some((block) => isAnthropics(objectOf(block)))) return false;
  }
  return true;
}

function isAnthropics({ type, source }: Readonly<Record<string, unknown>>): boolean {
  return ANTHROPICS.has(textOf(type)) || (type === "image" && isObject(source));
}

const ANTHROPICS = new Set([
  "tool_use",
  "tool_result",
  "thinking",
  "redacted_thinking",
  "document",
]);

function badLine(name: string, number: number, problem: string): SessionError {
  return new SessionError("INVALID_PARAMS", {
    message: `${name}, line ${number}: ${problem}.`,
    hint: 'A line is {"role", "content", …}, or an event of an events.jsonl file.',
  });
}

function parseObject(line: Line): Readonly<Record<string, unknown>> {
  if (line.problem) throw new Error(`it ${lineProblem(line.problem, LINE_BYTES_MAX)}`);
  // The message of JSON.parse quotes the text, which may be of another file than the user thinks.
  const value = parsedJson(line.text);
  if (isObject(value)) return withinNesting(value);
  throw new Error(value === undefined ? "it is not JSON" : "it is not a JSON object");
}

function formatOf(first: Readonly<Record<string, unknown>>): TranscriptFormat {
  const format = FORMATS.find((candidate) => candidate.recognises(first));
  if (format) return format;
  throw new Error('it has neither a "role" nor an "event", so the format is unknown');
}
