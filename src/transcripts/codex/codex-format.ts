import { join } from "node:path";
import { given } from "../../core/fields.ts";
import { isSummary } from "../../core/message.ts";
import type { ImportedMessage, ImportFormat } from "../imported.ts";
import { textOf } from "../json-fields.ts";
import { messagesFor } from "../messages-for.ts";
import { noteNoSession, readRecords } from "../read-records.ts";
import { MessageKeys } from "./message-keys.ts";
import { type Part, partOf, unknownName } from "./message-parts.ts";
import { ENVELOPES, isBareHead, isEnvelope, opened } from "./opened-line.ts";
import { outlineOf, stateOf } from "./outline.ts";

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
        const { type, payload, time } = opened(value);
        keys.follow(type, payload);
        const part = partOf(type, payload, outline.typed.get(line));
        if (part === "unknown") notes.unknown(unknownName(type, payload));
        if (typeof part === "string") continue;
        const sourceId = keys.next(part.key);
        const dropped = outline.dropped.some(({ from, to }) => line >= from && line < to);
        if (dropped) notes.otherBranch(1);
        else
          yield {
            ...messageOf(part, keys.turn),
            sourceId,
            origin: originOf(part, time),
            line,
          };
      }
    };
    yield {
      id: `codex:${id}`,
      agent: "codex",
      nativeId: id,
      ...about,
      ...(from ? { isRest: true } : {}),
      messages: messagesFor(about.parent, messages()),
    };
  },
};

function messageOf(
  { message, memory, boundary }: Part,
  turn: string,
): Omit<ImportedMessage, "sourceId" | "origin"> {
  const isPart = message.role === "block_assistant" || message.role === "tool_results";
  return { message, ...given({ memory, boundary }), ...(isPart ? { group: turn } : {}) };
}

function originOf({ message }: Part, time: string | undefined): ImportedMessage["origin"] {
  const isPrompt = message.role === "user" && !isSummary(message);
  return given({ author: isPrompt ? ("user" as const) : undefined, time });
}
