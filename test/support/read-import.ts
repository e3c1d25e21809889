import { type FoundFile, fileOfBytes } from "../../src/transcripts/found-file.ts";
import type {
  ImportedMessage,
  ImportedSession,
  ImportFormat,
  ReadOn,
} from "../../src/transcripts/imported.ts";

/** A session with its messages, and what the reader told of the file. */
export interface ReadImport {
  readonly sessions: readonly (Omit<ImportedSession, "messages"> & {
    readonly messages: readonly ImportedMessage[];
  })[];
  readonly skipped: readonly string[];
  readonly unknown: readonly string[];
  readonly otherBranch: number;
  readonly unfinished: boolean;
  /** Where the next reading can begin. */
  readonly readOn: ReadOn | undefined;
}

/** Reads all that a file has, or what follows the place where an earlier reading ended. */
export async function readImport(
  format: ImportFormat,
  file: FoundFile,
  from?: ReadOn,
): Promise<ReadImport> {
  const skipped: string[] = [];
  const unknown: string[] = [];
  let otherBranch = 0;
  let unfinished = false;
  let readOn: ReadOn | undefined;
  const sessions: ReadImport["sessions"][number][] = [];
  const notes = {
    skip: (_: FoundFile, line: number | undefined, reason: string) =>
      void skipped.push(`${line ?? "-"}: ${reason}`),
    unknown: (type: string) => void unknown.push(type),
    otherBranch: (messages: number) => {
      otherBranch += messages;
    },
    unfinished: () => {
      unfinished = true;
    },
    readOn: (_: FoundFile, place: ReadOn) => {
      readOn = JSON.parse(JSON.stringify(place));
    },
  };
  for await (const session of format.read(file, notes, from)) {
    sessions.push({ ...session, messages: await Array.fromAsync(session.messages) });
  }
  return { sessions, skipped, unknown, otherBranch, unfinished, readOn };
}

/**
 * Reads a file that grows, after each piece both whole and from where the reading before ended. Returns what each of
 * the two would add to what was read before, and how often the end alone was read.
 */
export async function readGrowing(
  format: ImportFormat,
  path: string,
  pieces: readonly Uint8Array[],
): Promise<{
  readonly whole: readonly ImportedMessage[];
  readonly goneOn: readonly ImportedMessage[];
  readonly rests: number;
}> {
  const known = new Set<string>();
  const whole: ImportedMessage[] = [];
  const goneOn: ImportedMessage[] = [];
  let from: ReadOn | undefined;
  let rests = 0;
  for (const [index] of pieces.entries()) {
    const file = fileOfBytes(path, Buffer.concat(pieces.slice(0, index + 1)));
    const all = await readImport(format, file);
    const rest = await readImport(format, file, from);
    if (from && rest.sessions.some(({ isRest }) => isRest)) rests += 1;
    const idsOf = ({ sourceId, alias }: ImportedMessage) => [sourceId, ...(alias ? [alias] : [])];
    const isNew = (message: ImportedMessage) => !idsOf(message).some((id) => known.has(id));
    whole.push(...messagesOf(all).filter(isNew));
    goneOn.push(...messagesOf(rest).filter(isNew));
    for (const id of messagesOf(all).flatMap(idsOf)) known.add(id);
    from = rest.readOn;
  }
  return { whole, goneOn, rests };
}

/** The bytes, cut at these places. */
export function piecesOf(bytes: Uint8Array, cuts: readonly number[]): readonly Uint8Array[] {
  const ends = cuts.map((cut) => cut % Math.max(1, bytes.length)).sort((one, two) => one - two);
  return [...ends, bytes.length].map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}

function messagesOf({ sessions }: ReadImport): readonly ImportedMessage[] {
  return sessions.flatMap(({ messages }) => messages);
}

/** A file of JSON Lines. */
export function linesFile(
  path: string,
  values: readonly unknown[],
  others: () => Iterable<FoundFile> = () => [],
): FoundFile {
  const text = values.map((value) => `${JSON.stringify(value)}\n`).join("");
  return fileOfBytes(path, Buffer.from(text), others);
}

/** What is said in a message, briefly: `user: Hi`, `call: shell {"command":"ls"}`. */
export function brief({ message, origin, memory }: ImportedMessage): string {
  const mark = memory === false ? "-" : "";
  switch (message.role) {
    case "user": {
      const text = typeof message.content === "string" ? message.content : "[parts]";
      const who = message.kind ? "summary" : (origin.author ?? "nobody");
      return `${mark}${who}: ${text}`;
    }
    case "block_assistant":
      return message.blocks
        .map((block) =>
          block.block_type === "tool_use"
            ? `${mark}call: ${block.data.name} ${JSON.stringify(block.data.args)}`
            : `${mark}${block.block_type}: ${block.data.text}`,
        )
        .join(" | ");
    case "tool_results":
      return message.results
        .map((result) => `${mark}${result.is_error ? "failed" : "result"}: ${result.content}`)
        .join(" | ");
    default:
      return `${mark}${message.role}: ${message.content}`;
  }
}
