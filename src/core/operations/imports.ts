import { z } from "zod";
import { SessionError } from "../errors.ts";
import { isObject } from "../fields.ts";
import type { Operation } from "./operation.ts";
import { type Given, parseRequest } from "./operation.ts";
import { count, eitherOf, type Result, shape } from "./request-fields.ts";

/** The size that fits in one message of every surface. A longer transcript is sent as `bytes`. */
export const UPLOAD_CHARACTERS_MAX = 15_000_000;

/** The name of a file: some formats are known by it. */
const fileName = z.string().min(1).max(500).optional();

export const importTranscripts = eitherOf(
  ["text", "base64"],
  z.strictObject({
    name: fileName,
    text: z.string().min(1).max(UPLOAD_CHARACTERS_MAX).optional(),
    /** The bytes of a file that is no text, such as a ZIP archive. */
    base64: z
      .string()
      .max(UPLOAD_CHARACTERS_MAX)
      .regex(/^[A-Za-z0-9+/]+={0,2}$/, "must be Base64")
      .optional(),
  }),
);

export type ImportTranscripts = z.infer<typeof importTranscripts>;

/** The same with a stream instead. No surface's message carries one. */
export const streamedImport = z.strictObject({ name: fileName });

/** A transcript of any size, as a stream. */
export interface ImportStream {
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly name?: string;
}

/** The request, if it has a stream. */
export function streamOf(request: unknown): ImportStream | undefined {
  if (!isObject(request) || !("bytes" in request)) return undefined;
  const { bytes, ...rest } = request;
  if (!isObject(bytes) || typeof Reflect.get(bytes, Symbol.asyncIterator) !== "function") {
    const message = "must be an async iterable of bytes";
    throw new SessionError("INVALID_PARAMS", { issues: [{ path: ["bytes"], message }] });
  }
  return {
    ...parseRequest(streamedImport, rest),
    bytes: bytes as unknown as ImportStream["bytes"],
  };
}

/** The result of an import. */
export interface ImportReport {
  readonly sessions: number;
  /** Messages that were read: those that were added, and those that were there already. */
  readonly messages: number;
  readonly added: number;
  readonly alreadyThere: number;
  /** The files and parts that could not be read. */
  readonly skipped: readonly Skipped[];
  /** Records of types that are not known, by type. */
  readonly unknownTypes: Readonly<Record<string, number>>;
  /** Credentials that were replaced before anything was stored, by kind. */
  readonly redacted: Readonly<Record<string, number>>;
  /** Messages of branches that the conversations left. */
  readonly otherBranches: number;
  /** Sessions that were left out: rkat's own, and those of other memory tools. */
  readonly leftOut: number;
  /** Files whose last line is still being written. The next import reads it. */
  readonly stillWritten: readonly string[];
}

const skipped = z.object({ file: z.string(), line: z.int().optional(), reason: z.string() });

/** Something of a transcript that could not be read. */
export type Skipped = Given<Result<typeof skipped>>;

const countsByName = z.record(z.string(), count);

const importReport = shape<ImportReport>()({
  sessions: count,
  messages: count,
  added: count,
  alreadyThere: count,
  skipped: z.array(skipped),
  unknownTypes: countsByName,
  redacted: countsByName,
  otherBranches: count,
  leftOut: count,
  stillWritten: z.array(z.string()),
});

/** Transcripts of other programs. */
export interface ImportOperations {
  /**
   * Imports the conversations of a file that another program wrote: a text, bytes in Base64, or a stream.
   * A client of JSON-RPC or MCP sends a stream in one message, so it takes at most 11 MB. Needs `session-store`.
   */
  importTranscripts(request: ImportTranscripts | ImportStream): Promise<ImportReport>;
}

export const IMPORT_OPERATIONS = {
  importTranscripts: {
    description:
      "Import the conversations of a transcript that another program wrote. Importing it again adds nothing.",
    request: importTranscripts,
    result: importReport,
    rpc: "transcripts/import",
    http: { method: "POST", path: "/import" },
    tool: "transcripts_import",
    toolText:
      "Import the conversations of a transcript that another agent wrote (Claude Code, Codex, Gemini, ChatGPT and others), as text or Base64, at most 11 MB. Importing it again adds nothing. Credentials are replaced. For the transcripts on this machine, ask the user to run `rkat import`.",
    command: "import",
    effect: "adds",
    uploads: true,
    needs: "session-store",
  },
} as const satisfies Record<keyof ImportOperations, Operation>;
