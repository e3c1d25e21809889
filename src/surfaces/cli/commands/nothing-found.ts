import { SessionError } from "../../../core/errors.ts";
import { findTranscripts } from "../../../import/find-transcripts.ts";
import { IMPORT_FORMATS } from "../../../transcripts/import-formats.ts";
import type { AgentName, Machine } from "../../../transcripts/imported.ts";

interface Source {
  readonly agent?: AgentName;
  readonly path?: string;
}

/** Why there is nothing to import: no permission, an agent that keeps nothing here, or no files. */
export function nothingFound(source: Source, machine: Machine): SessionError {
  const { agent, path } = source;
  const unreadable: string[] = [];
  findTranscripts(
    { formats: IMPORT_FORMATS, machine, ...source },
    { skip: (folder, _, reason) => unreadable.push(`${folder}: ${reason}`) },
  );
  if (unreadable.length > 0) {
    return new SessionError("NOT_POSSIBLE", {
      message: `No transcripts could be read. ${unreadable.join(". ")}.`,
      hint: "Import as the user whose transcripts they are, or check the folder's permissions.",
    });
  }
  const format = IMPORT_FORMATS.find((each) => each.agent === agent);
  const places = format?.places(machine) ?? [];
  if (path === undefined && format && places.length === 0) {
    return new SessionError("NOT_POSSIBLE", {
      message: `${agent} keeps no transcripts on this machine.`,
      hint: `Ask for an export of your data in its settings, and name the file: \`rkat import ${agent} ~/Downloads/export.zip\`.`,
    });
  }
  const of = agent === undefined ? "" : ` of ${agent}`;
  const where = path ?? places.join(" or ");
  return new SessionError("NOT_POSSIBLE", {
    message: `No transcripts${of} were found ${where === "" ? "on this machine" : `in ${where}`}.`,
    hint: "Name a file or a folder: `rkat import ~/Downloads/conversations.json`.",
  });
}
