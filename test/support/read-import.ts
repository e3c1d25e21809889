import { type FoundFile, fileOfBytes } from "../../src/transcripts/found-file.ts";
import type {
  ImportedMessage,
  ImportedSession,
  ImportFormat,
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
}

/** Reads all that a file has. */
export async function readImport(format: ImportFormat, file: FoundFile): Promise<ReadImport> {
  const skipped: string[] = [];
  const unknown: string[] = [];
  let otherBranch = 0;
  let unfinished = false;
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
    readOn() {},
  };
  for await (const session of format.read(file, notes)) {
    sessions.push({ ...session, messages: await Array.fromAsync(session.messages) });
  }
  return { sessions, skipped, unknown, otherBranch, unfinished };
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
