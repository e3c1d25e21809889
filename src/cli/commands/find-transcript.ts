import { SessionError } from "../../core/errors.ts";
import { given } from "../../core/fields.ts";
import { systemHome } from "../../files/make-folders.ts";
import type { DiskFile } from "../../import/disk-file.ts";
import { findTranscripts } from "../../import/find-transcripts.ts";
import { type FoundSession, findSessions } from "../../import/read-sessions.ts";
import { IMPORT_FORMATS } from "../../transcripts/import-formats.ts";
import type { AgentName } from "../../transcripts/imported.ts";
import { plural } from "../render/amounts.ts";
import { oneLine } from "../render/printable.ts";
import type { Terminal } from "../terminal/terminal.ts";

/** The number of files, the largest ones, that are read to find the longest session. */
const FILES_READ = 8;
const SHOWN_MAX = 5;

/** The transcripts that a command reads. Without a path, those of the agents on this machine. */
export interface TranscriptPlace {
  readonly path?: string;
  readonly agent?: AgentName;
}

/** The longest session of a file, of a folder, or of this machine, and how many others were looked at. */
export async function longestSession(
  place: TranscriptPlace,
  terminal: Pick<Terminal, "env">,
  signal?: AbortSignal,
): Promise<FoundSession & { readonly others: number }> {
  let longest: FoundSession | undefined;
  let sessions = 0;
  for await (const found of findSessions(filesAt(place, terminal), formatsOf(place), signal)) {
    sessions += 1;
    const isSubagent = found.session.parent?.relation === "subagent";
    if (!longest || (!isSubagent && found.characters > longest.characters)) longest = found;
  }
  if (longest) return { ...longest, others: sessions - 1 };
  throw noTranscript(place);
}

/**
 * The session of a transcript file: the only one, or the one whose id begins with `id`.
 *
 * @throws SessionError `INVALID_PARAMS` when there are several, or none
 */
export async function sessionIn(
  path: string,
  id: string | undefined,
  terminal: Pick<Terminal, "env">,
): Promise<FoundSession> {
  const found = await Array.fromAsync(
    findSessions(filesAt({ path }, terminal), formatsOf({ path })),
  );
  if (found.length === 0) throw noTranscript({ path });
  const named = found.filter(({ session }) => session.nativeId.startsWith(id ?? ""));
  const [only] = named;
  if (only && (named.length === 1 || only.session.nativeId === id)) return only;
  const list = (named.length > 0 ? named : found)
    .slice(0, SHOWN_MAX)
    .map(({ session }) => `  ${session.nativeId}  ${oneLine(session.title ?? "", 60)}`.trimEnd())
    .join("\n");
  const what =
    named.length > 0
      ? `${path} has ${plural(named.length, "session")} of ${named.length === found.length ? "all kinds" : "that name"}`
      : `No session in ${path} begins with "${id}"`;
  throw new SessionError("INVALID_PARAMS", {
    message: `${what}:\n${list}`,
    hint: "Pass --session with the beginning of one id.",
  });
}

function filesAt(
  { path, agent }: TranscriptPlace,
  { env }: Pick<Terminal, "env">,
): readonly DiskFile[] {
  const machine = { env, home: systemHome(env) };
  const found = findTranscripts({ formats: IMPORT_FORMATS, machine, ...given({ path, agent }) });
  const files = found.flatMap((each) => each.files);
  return files.toSorted((one, other) => other.size - one.size).slice(0, FILES_READ);
}

const formatsOf = ({ agent }: TranscriptPlace) =>
  IMPORT_FORMATS.filter((format) => agent === undefined || format.agent === agent);

function noTranscript({ path, agent }: TranscriptPlace): SessionError {
  const of = agent === undefined ? "" : ` of ${agent}`;
  return new SessionError("NOT_POSSIBLE", {
    message: `No transcript${of} was found ${path === undefined ? "on this machine" : `in ${path}`}.`,
    hint: "Name a file or a folder, such as ~/.claude/projects.",
  });
}
