import { given } from "../../core/fields.ts";
import type { FoundFile } from "../found-file.ts";
import {
  type ImportedMessage,
  type ImportedSession,
  type ImportNotes,
  messagesFor,
} from "../imported.ts";
import { contentText, nameOf, objectOf, timeOf, titleOf } from "../json-fields.ts";
import { readRecords } from "../read-records.ts";
import { messageParts } from "./claude-code-message-parts.ts";

/** A subagent whose lines stand between those of its session. */
interface SideChain {
  readonly name: string;
  title?: string;
  startedAt?: string;
  updatedAt?: string;
}

const SILENT: ImportNotes = {
  skip: () => {},
  unknown: () => {},
  otherBranch: () => {},
  unfinished: () => {},
  readOn: () => {},
};

/**
 * The work of a session's subagents, as earlier versions wrote it: lines with `isSidechain` in the session's own file. Each chain
 * begins at a line without a parent. Later lines may have an `agentId`, and name that.
 */
export async function* sideChains(
  file: FoundFile,
  session: Omit<ImportedSession, "messages">,
): AsyncGenerator<ImportedSession> {
  const chains = new Map<string, SideChain>();
  const chainOf = new Map<string, string>();
  for await (const { value } of readRecords(file)) {
    const uuid = nameOf(value.uuid);
    if (value.isSidechain !== true || uuid === undefined) continue;
    const above = chainOf.get(nameOf(value.parentUuid) ?? "");
    const name = nameOf(value.agentId) ?? above ?? uuid;
    chainOf.set(uuid, name);
    const chain = chains.get(name) ?? { name };
    chains.set(name, chain);
    const time = timeOf(value.timestamp);
    if (time !== undefined) {
      chain.startedAt ??= time;
      chain.updatedAt = time;
    }
    const title = value.type === "user" && titleOf(contentText(objectOf(value.message).content));
    if (title) chain.title ??= title;
  }
  const parent = { id: session.id, relation: "subagent" } as const;
  for (const { name, ...about } of chains.values()) {
    const nativeId = `${session.nativeId}.agent-${name}`;
    yield {
      id: `claude-code:${nativeId}`,
      agent: "claude-code",
      nativeId,
      parent,
      ...given({ project: session.project, branch: session.branch }),
      ...about,
      messages: messagesFor(parent, linesOf(file, name, chainOf)),
    };
  }
}

/** The lines of one chain. The main reading of the file reports what is wrong with lines. */
async function* linesOf(
  file: FoundFile,
  name: string,
  chainOf: ReadonlyMap<string, string>,
): AsyncGenerator<ImportedMessage> {
  const blocks = new Map<string, number>();
  for await (const { value, line } of readRecords(file)) {
    if (value.isSidechain !== true || chainOf.get(nameOf(value.uuid) ?? "") !== name) continue;
    const answer = value.type === "assistant" ? nameOf(objectOf(value.message).id) : undefined;
    const ordinal = answer === undefined ? 0 : (blocks.get(answer) ?? 0);
    if (answer !== undefined) blocks.set(answer, ordinal + 1);
    const place = { answer, ordinal, isOpen: false, answeredBy: undefined };
    yield* messageParts({ value, line, place }, SILENT);
  }
}
