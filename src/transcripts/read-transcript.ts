import { errorText, SessionError } from "../core/errors.ts";
import { chatFormat } from "./chat-format.ts";
import { eventsFormat } from "./events-format.ts";
import { type Line, readLines } from "./read-lines.ts";
import type { RecordedMessage, Recording, TranscriptFormat } from "./recording.ts";

const FORMATS: readonly TranscriptFormat[] = [chatFormat, eventsFormat];

/**
 * Reads a recorded conversation: JSON Lines, in the format that the first line
 * shows.
 *
 * @throws SessionError `INVALID_PARAMS`, which names the line and what is wrong with it.
 */
export async function readTranscript(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  name: string,
): Promise<Recording> {
  const messages: RecordedMessage[] = [];
  let read: ReturnType<TranscriptFormat["reader"]> | undefined;
  for await (const line of linesOf(chunks, name)) {
    try {
      const object = parseObject(line);
      read ??= formatOf(object).reader();
      const message = read(object);
      if (message) messages.push(message);
    } catch (error) {
      throw badLine(name, line.number, errorText(error));
    }
  }
  if (!read) throw new SessionError("INVALID_PARAMS", { detail: `${name} is empty.` });
  return { name, messages };
}

async function* linesOf(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>, name: string) {
  try {
    yield* readLines(chunks);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new SessionError("INVALID_PARAMS", { detail: `${name}, ${error.message}.` });
  }
}

function badLine(name: string, number: number, problem: string): SessionError {
  return new SessionError("INVALID_PARAMS", {
    detail: `${name}, line ${number}: ${problem}.`,
    hint: 'A line is {"role", "content", …}, or an event of an events.jsonl file.',
  });
}

function parseObject({ text }: Line): Readonly<Record<string, unknown>> {
  if (text === null) throw new Error("it is not UTF-8 text");
  const value: unknown = JSON.parse(text);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as Readonly<Record<string, unknown>>;
  }
  throw new Error("it is not a JSON object");
}

function formatOf(first: Readonly<Record<string, unknown>>): TranscriptFormat {
  const format = FORMATS.find((candidate) => candidate.recognises(first));
  if (format) return format;
  throw new Error('it has neither a "role" nor an "event", so its format is not known');
}
