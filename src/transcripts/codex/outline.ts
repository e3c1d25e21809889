import { basename } from "node:path";
import { given } from "../../core/fields.ts";
import type { FoundFile } from "../found-file.ts";
import type { ImportedSession, ReadOn } from "../imported.ts";
import { type Json, nameOf, objectOf, timeOf } from "../json-fields.ts";
import { readRecords } from "../read-records.ts";
import { type Copied, type KeyPlace, MessageKeys } from "./message-keys.ts";
import { isEnvelope, opened } from "./opened-line.ts";
import { Prompts, type PromptsState } from "./typed-prompts.ts";

/** What a first reading finds, so that the second one can stream. */
interface Outline {
  readonly session: Omit<ImportedSession, "id" | "agent" | "nativeId" | "messages"> & {
    readonly id: string;
  };
  /** What a person typed, by the line of its item. */
  readonly typed: ReadonlyMap<number, string>;
  /** Lines of turns that the user took back. */
  readonly dropped: readonly { readonly from: number; readonly to: number }[];
  readonly copied: Copied | undefined;
  /** Where the next reading may begin. */
  readonly next: ReadOn | undefined;
}

/** What a later reading has to know of the lines before a turn. */
interface RestState {
  readonly session: Outline["session"];
  readonly place: KeyPlace;
  readonly prompts: PromptsState;
}

export function stateOf(from: ReadOn | undefined): RestState | undefined {
  return from?.state as RestState | undefined;
}

/** Reads the file, or its end, for the first time. What is wrong with it is told at the second. */
export async function outlineOf(file: FoundFile, from?: ReadOn): Promise<Outline | undefined> {
  const before = stateOf(from);
  let head: Json | undefined;
  let heads = 0;
  let { model, project, updatedAt } = before?.session ?? {};
  let keys: MessageKeys | undefined;
  let turn: (Omit<RestState, "session"> & { readonly at: Omit<ReadOn, "state"> }) | undefined;
  const prompts = new Prompts(before?.prompts);
  for await (const { value, line, offset } of readRecords(file, undefined, from)) {
    const { type, payload, time } = opened(value);
    updatedAt = time ?? updatedAt;
    if (type === "session_meta") {
      heads += 1;
      head ??= payload;
    }
    if (type === "turn_context") {
      model ??= nameOf(payload.model);
      project ??= nameOf(payload.cwd);
    }
    const own = before?.session.id ?? nameOf(head?.id) ?? idInName(file.path) ?? "";
    keys ??= new MessageKeys(own, undefined, before?.place);
    const { place } = keys;
    keys.follow(type, payload);
    if (keys.place.turn !== place.turn && prompts.isSettled) {
      turn = { at: { line, offset }, place, prompts: prompts.state };
    }
    prompts.follow(type, payload, line, !isEnvelope(value));
  }
  prompts.end();
  const about = before?.session ?? aboutIn(head ?? {}, file);
  if (!about) return undefined;
  const found = { title: about.title ?? prompts.title, model, updatedAt };
  const session = { ...about, ...given({ ...found, project: about.project ?? project }) };
  const { parent } = session;
  const parentId = parent?.id.slice("codex:".length);
  const copied =
    parentId !== undefined && !before && heads < 2 ? await copiedFrom(parentId, file) : undefined;
  // What a fork copies depends on another file, and places in a packed file are not those of its bytes.
  const canReadOn = !parent && !file.path.endsWith(".zst");
  const next =
    turn && canReadOn
      ? { ...turn.at, state: { session, place: turn.place, prompts: turn.prompts } }
      : from;
  return { session, typed: prompts.typed, dropped: prompts.dropped, copied, next };
}

function aboutIn(head: Json, file: FoundFile): Outline["session"] | undefined {
  const id = nameOf(head.id) ?? idInName(file.path);
  if (id === undefined) return undefined;
  const parent = parentOf(head);
  return {
    id,
    ...given({
      parent: parent && { id: `codex:${parent.id}`, relation: parent.relation },
      project: nameOf(head.cwd),
      branch: nameOf(objectOf(head.git).branch),
      startedAt: timeOf(head.timestamp),
    }),
  };
}

function parentOf(
  head: Json,
): { readonly id: string; readonly relation: "fork" | "subagent" } | undefined {
  // `{ thread_spawn: { parent_thread_id } }`, or a name such as "review"
  const { subagent } = objectOf(head.source);
  const spawn = objectOf(objectOf(subagent).thread_spawn);
  const forked = nameOf(head.forked_from_id);
  const spawnedBy = nameOf(spawn.parent_thread_id) ?? (subagent === undefined ? undefined : forked);
  if (spawnedBy !== undefined) return { id: spawnedBy, relation: "subagent" };
  return forked === undefined ? undefined : { id: forked, relation: "fork" };
}

function idInName(path: string): string | undefined {
  return /([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl(?:\.zst)?$/.exec(
    basename(path),
  )?.[1];
}

/** The parent is looked for among the files of the import, by the id at the end of its name. */
async function copiedFrom(parent: string, child: FoundFile): Promise<Copied | undefined> {
  for (const file of child.others()) {
    if (file.path === child.path || idInName(file.path) !== parent) continue;
    const turns = new Set<string>();
    for await (const { value } of readRecords(file)) {
      const turn = nameOf(opened(value).payload.turn_id);
      if (turn !== undefined) turns.add(turn);
    }
    return { parent, turns };
  }
  return undefined;
}
