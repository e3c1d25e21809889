import type { DurableEvent, StoredEvent } from "../core/event.ts";
import type { EventStore } from "../core/event-store.ts";
import { jsonText } from "../core/json-values.ts";
import { indexableText, type Message } from "../core/message.ts";
import { MessageAssembler } from "../core/message-assembler.ts";
import { encodedParts, unescaped } from "./encoded-copies.ts";
import { quotesMemory } from "./forget-event.ts";
import type { ForgottenPhrases } from "./forgotten-phrases.ts";
import { type IdentifyingName, NameFinder } from "./identifying-names.ts";
import { logRedactor, type TextsToForget } from "./redact-log.ts";
import { NO_SOURCE, type Sources } from "./sources.ts";

const PAGE = 500;

/** The places of one name, besides the forgotten texts. */
interface Mentions {
  /** Messages of people, models and tools, by the ids that their memory entries have or would have. */
  readonly messages: Set<string>;
  /** Sessions where something derived has it: a summary, reasoning, arguments, a task record. */
  readonly sessions: Set<string>;
  /** A system prompt has it, so it is no secret of the forgotten text. */
  isKnown: boolean;
}

export interface Copies {
  /** Sessions whose logs have copies. */
  readonly sessions: ReadonlySet<string>;
  /** Other messages that say the same, by the ids that their memory entries have or would have. */
  readonly messages: ReadonlySet<string>;
  readonly mentions: ReadonlyMap<string, Mentions>;
}

/**
 * Reads all logs for copies of the forgotten texts, for other messages that say one of `said`, and for those
 * that have one of the names.
 */
export async function findCopies(
  what: TextsToForget,
  said: ForgottenPhrases,
  names: readonly IdentifyingName[],
  sources: Sources,
  events: EventStore,
): Promise<Copies> {
  const sessions = new Set<string>();
  const messages = new Set<string>();
  const mentions = new Map<string, Mentions>();
  const finder = new NameFinder(names.flatMap(spellings));
  const readers = new Map<string, SessionReader>();
  const mentionsIn = (text: string) =>
    names.length === 0
      ? []
      : [...finder.namesIn(withDecoded(text))].map((name) => {
          const known = mentions.get(name) ?? NO_MENTIONS();
          mentions.set(name, known);
          return known;
        });
  for (let position = 0; ; ) {
    const page = await events.readAll(position, PAGE);
    for (const { sessionId, stored } of page) {
      const source = sources.get(sessionId) ?? NO_SOURCE;
      const reader = readers.get(sessionId) ?? new SessionReader(logRedactor(source, what));
      readers.set(sessionId, reader);
      const { rest, completed } = reader.push(stored);
      if (rest !== stored.event && !source.events.has(stored.seq)) sessions.add(sessionId);
      for (const mention of mentionsIn(derivedText(rest))) mention.sessions.add(sessionId);
      if (!completed) continue;
      const { id, message, text } = completed;
      const name = `${sessionId}:${id}`;
      if (!source.messages.includes(id) && said.isIn(indexableText(message))) messages.add(name);
      for (const mention of mentionsIn(text)) {
        if (message.role === "system") mention.isKnown = true;
        else mention.messages.add(name);
      }
    }
    const last = page.at(-1);
    if (!last) return { sessions, messages, mentions };
    position = last.position;
  }
}

/** The text, and what its encoded parts say. */
function withDecoded(text: string, levels = 2): string {
  const plain = levels > 0 ? unescaped(text)?.text : undefined;
  const inside = plain === undefined ? [] : [withDecoded(plain, levels - 1)];
  const parts = Array.from(encodedParts(text), (part) => part.text);
  // A name in camel case has two words.
  const words = text.replace(/(?<=\p{Ll})(?=\p{Lu})/gu, " ");
  const others = words === text ? [] : [words];
  return [text, ...others, ...inside, ...parts].join("\n");
}

const NO_MENTIONS = (): Mentions => ({
  messages: new Set(),
  sessions: new Set(),
  isKnown: false,
});

/** Reads one session's log without the forgotten texts, message by message. */
class SessionReader {
  readonly #redact: (stored: StoredEvent) => DurableEvent;
  readonly #assembler = new MessageAssembler();
  /** Tool results that are not quotations from memory. */
  #results: string[] = [];

  constructor(redact: (stored: StoredEvent) => DurableEvent) {
    this.#redact = redact;
  }

  push(stored: StoredEvent): {
    readonly rest: DurableEvent;
    readonly completed?: { readonly id: number; readonly message: Message; readonly text: string };
  } {
    const rest = this.#redact(stored);
    if (rest.type === "turn_started") this.#results = [];
    if (rest.type === "tool_execution_completed" && !quotesMemory(rest.name)) {
      this.#results.push(rest.result);
    }
    const logged = this.#assembler.push({ ...stored, event: rest });
    if (!logged) return { rest };
    const { id, message } = logged;
    return { rest, completed: { id, message, text: this.#textOf(message) } };
  }

  #textOf(message: Message): string {
    if (message.role === "tool_results") return this.#results.join("\n");
    return message.role === "system" ? message.content : indexableText(message);
  }
}

/** The text of an event that was made of other texts. */
function derivedText(event: DurableEvent): string {
  switch (event.type) {
    case "run_started":
    case "text_complete":
    case "session_created":
      return "";
    default:
      return jsonText(event);
  }
}

/** A name at the beginning of a sentence may be a word that is written small elsewhere. In a file's name, a name may be small. */
function spellings({ text }: IdentifyingName): readonly string[] {
  return [...new Set([text, text.toLowerCase()])];
}

/** A word that more messages than this have in small letters is no name. */
const SMALL_MAX = 5;

/** Where a name is, also in small letters. */
function mentionsOf(
  { text, begins, isReported }: IdentifyingName,
  mentions: ReadonlyMap<string, Mentions>,
): Mentions & { readonly spelled: readonly string[]; readonly isOnlySmall?: boolean } {
  const found = mentions.get(text) ?? NO_MENTIONS();
  const small = text.toLowerCase();
  const inSmall = mentions.get(small);
  const isWord = begins || !isReported || small === text || !inSmall || inSmall.isKnown;
  if (isWord || inSmall.messages.size > SMALL_MAX) return { ...found, spelled: [text] };
  return {
    messages: new Set([...found.messages, ...inSmall.messages]),
    sessions: new Set([...found.sessions, ...inSmall.sessions]),
    isKnown: found.isKnown,
    spelled: [text, small],
    isOnlySmall: found.messages.size === 0,
  };
}

/** The names of forgotten texts, by the action for each. */
interface NamesFound {
  /** No other message has them: they are cut out wherever they still are. */
  readonly lone: readonly string[];
  /** Sessions where these still are. */
  readonly sessions: ReadonlySet<string>;
  /** Ids of other messages and entries that have one of the names. Those with the rarest name come first. */
  readonly entries: ReadonlySet<string>;
}

/** `elsewhere` has the entries of knowledge and memory with each name. Those in `deleted` go. */
export function namesFound(
  names: readonly IdentifyingName[],
  { mentions }: Pick<Copies, "mentions">,
  elsewhere: ReadonlyMap<string, readonly string[]>,
  deleted: ReadonlySet<string>,
): NamesFound {
  const lone: string[] = [];
  const sessions = new Set<string>();
  const entries = new Set<string>();
  const reported: (readonly string[])[] = [];
  for (const name of names) {
    const { text, isReported, begins } = name;
    if (begins && mentions.has(text.toLowerCase())) continue;
    const found = mentionsOf(name, mentions);
    if (found.isKnown) continue;
    const ids = [...found.messages, ...(elsewhere.get(text) ?? [])].filter(
      (id) => !deleted.has(id),
    );
    if (ids.length === 0 || found.isOnlySmall) {
      lone.push(...found.spelled);
      for (const sessionId of found.sessions) sessions.add(sessionId);
    }
    if (ids.length > 0 && isReported) reported.push(ids);
  }
  for (const ids of reported.sort((one, other) => one.length - other.length)) {
    for (const id of ids) entries.add(id);
  }
  return { lone, sessions, entries };
}
