import { basename, join } from "node:path";
import { given } from "../../core/fields.ts";
import type { FoundFile } from "../found-file.ts";
import type { ImportedMessage, ImportedSession, ImportFormat, ReadOn } from "../imported.ts";
import { type Json, nameOf, objectOf, textOf, timeOf } from "../json-fields.ts";
import { importedSession } from "../parts.ts";
import { noteNoSession, readRecords } from "../read-records.ts";
import {
  type Copied,
  ENVELOPES,
  isBareHead,
  isEnvelope,
  type KeyPlace,
  MessageKeys,
  openLine,
  Prompts,
  type PromptsState,
} from "./codex-lines.ts";
import { partOf, unknownName } from "./codex-message-parts.ts";

/**
 * The rollouts of Codex, one file a session:
 *
 *     session_meta                     whose it is; copies of a parent's follow in a fork
 *     turn_context, event_msg          what happens, for its own screen
 *     response_item                    the messages, as the model gets them
 *     compacted                        what the model gets from here on instead
 *
 * The earliest files have the same items without an envelope. The messages are read from the items. An event
 * `user_message` repeats what a person typed, so an item without such an event was injected.
 */
export const codexFormat: ImportFormat = {
  agent: "codex",
  places: ({ env, home }) => {
    const folder = env.CODEX_HOME || join(home, ".codex");
    return [join(folder, "sessions"), join(folder, "archived_sessions")];
  },
  mayBe: (path) => /(?:^|\/)rollout-[^/]*\.jsonl(?:\.zst)?$/.test(path),
  recognises: ({ first }) =>
    first !== undefined &&
    (isEnvelope(first) ? ENVELOPES.has(textOf(first.type)) : isBareHead(first)),
  async *read(file, notes, from) {
    const outline = await outlineOf(file, from);
    if (!outline) return await noteNoSession(file, notes);
    const { id, ...about } = outline.session;
    if (outline.next) notes.readOn(file, outline.next);
    const messages = async function* (): AsyncGenerator<ImportedMessage> {
      const keys = new MessageKeys(id, outline.copied, stateOf(from)?.place);
      for await (const { value, line } of readRecords(file, notes, from)) {
        const { type, payload, time } = openLine(value);
        keys.follow(type, payload);
        const of = { time, line, group: keys.turn };
        const part = partOf(type, payload, outline.typed.get(line), of);
        if (part === "unknown") notes.unknown(unknownName(type, payload));
        if (typeof part === "string") continue;
        const sourceId = keys.next(part.sourceId);
        const dropped = outline.dropped.some(({ from, to }) => line >= from && line < to);
        if (dropped) notes.otherBranch(1);
        else yield { ...part, sourceId };
      }
    };
    const isRest = from && true;
    yield importedSession("codex", id, messages(), { ...about, isRest });
  },
};

/** The outline of a file, from a first reading, so that the second one can stream. */
interface Outline {
  readonly session: Omit<ImportedSession, "id" | "agent" | "nativeId" | "messages"> & {
    readonly id: string;
  };
  /** The typed prompts, by the line of their items. */
  readonly typed: ReadonlyMap<number, string>;
  /** Lines of turns that the user took back. */
  readonly dropped: readonly { readonly from: number; readonly to: number }[];
  readonly copied: Copied | undefined;
  /** The place where the next reading may begin. */
  readonly next: ReadOn | undefined;
}

/** The state that a later reading needs of the lines before a turn. */
interface RestState {
  readonly session: Outline["session"];
  readonly place: KeyPlace;
  readonly prompts: PromptsState;
}

function stateOf(from: ReadOn | undefined): RestState | undefined {
  return from?.state as RestState | undefined;
}

/** Reads the file, or its end, for the first time. Faults are reported by the second reading. */
async function outlineOf(file: FoundFile, from?: ReadOn): Promise<Outline | undefined> {
  const before = stateOf(from);
  let head: Json | undefined;
  let heads = 0;
  let { model, project, updatedAt } = before?.session ?? {};
  let keys: MessageKeys | undefined;
  let turn: (Omit<RestState, "session"> & { readonly at: Omit<ReadOn, "state"> }) | undefined;
  const prompts = new Prompts(before?.prompts);
  let name: string | undefined;
  for await (const { value, line, offset } of readRecords(file, undefined, from)) {
    const { type, payload, time } = openLine(value);
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
    // A fork has the names of its parent, too.
    if (payload.type === "thread_name_updated" && (payload.thread_id ?? own) === own)
      name = nameOf(payload.thread_name) ?? name;
    const { place } = keys;
    keys.follow(type, payload);
    if (keys.place.turn !== place.turn && prompts.isSettled) {
      turn = { at: { line, offset }, place, prompts: prompts.state };
    }
    prompts.follow(type, payload, line, !isEnvelope(value));
  }
  // The event may come when the file goes on.
  prompts.end({ isAnswered: false });
  const about = before?.session ?? aboutIn(head ?? {}, file);
  if (!about) return undefined;
  const untitled = {
    ...about,
    ...given({ model, updatedAt, project: about.project ?? project }),
  };
  const session = {
    ...untitled,
    ...given({ title: name ?? prompts.title }),
  };
  const { parent } = session;
  const parentId = parent?.id.slice("codex:".length);
  const copied =
    parentId !== undefined && !before && heads < 2 ? await copiedFrom(parentId, file) : undefined;
  // The copied part of a fork depends on another file, and positions in a packed file are not those of its bytes.
  const canReadOn = !parent && !file.path.endsWith(".zst");
  const next =
    turn && canReadOn
      ? { ...turn.at, state: { session: untitled, place: turn.place, prompts: turn.prompts } }
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
      const turn = nameOf(openLine(value).payload.turn_id);
      if (turn !== undefined) turns.add(turn);
    }
    return { parent, turns };
  }
  return undefined;
}
