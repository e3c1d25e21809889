import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { MemoryEntry } from "rkat";
import { UsageError } from "../bench.ts";
import { type Conversation, conversation, type Question } from "./conversation.ts";

/** Conversations with questions about them. */
export interface Dataset {
  readonly name: string;
  readonly conversations: readonly Conversation[];
}

const SEED = 1;

/** Always the same conversations. */
export function madeUpDataset(conversations: number): Dataset {
  return {
    name: "made up",
    conversations: Array.from({ length: conversations }, (_, number) => conversation(number, SEED)),
  };
}

/**
 * The sets in a folder: the folder is one, or has one in each of its folders. A
 * set is a `docs.jsonl` of `{id, conv, session, turn, speaker?, time?, text}` and
 * a `queries.jsonl` of `{conv, text, relevant: [ids]}`.
 *
 * @throws UsageError, which names the file and the line.
 */
export function readDatasets(folder: string): Dataset[] {
  const names = existsSync(join(folder, DOCS)) ? [""] : namesIn(folder);
  const sets = names.filter((name) => existsSync(join(folder, name, DOCS)));
  if (sets.length === 0)
    throw new UsageError(`There is no ${DOCS} in ${folder}, nor in a folder in it.`);
  return sets.map((name) => readDataset(name || "data", join(folder, name)));
}

const DOCS = "docs.jsonl";
const QUERIES = "queries.jsonl";

function readDataset(name: string, folder: string): Dataset {
  const entries = groupByConversation(readLines(join(folder, DOCS), readEntry));
  const questions = groupByConversation(readLines(join(folder, QUERIES), readQuestion));
  const conversations = [...questions].map(([id, asked]) => ({
    id,
    entries: entries.get(id) ?? [],
    questions: asked,
  }));
  return { name, conversations };
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch (error) {
    throw new UsageError(`${folder} cannot be read: ${(error as Error).message}.`);
  }
}

interface OfConversation<Thing> {
  readonly conversation: string;
  readonly it: Thing;
}

function groupByConversation<Thing>(
  things: readonly OfConversation<Thing>[],
): Map<string, readonly Thing[]> {
  const groups = Map.groupBy(things, ({ conversation }) => conversation);
  return new Map([...groups].map(([id, group]) => [id, group.map(({ it }) => it)]));
}

function readLines<Thing>(file: string, read: (line: Fields) => Thing): Thing[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${(error as Error).message}.`);
  }
  return text.split("\n").flatMap((line, index) => {
    if (line.trim() === "") return [];
    try {
      return [read(new Fields(JSON.parse(line)))];
    } catch (error) {
      throw new UsageError(`${file}, line ${index + 1}: ${(error as Error).message}`);
    }
  });
}

function readEntry(line: Fields): OfConversation<MemoryEntry> {
  const conversation = line.text("conv");
  const speaker = line.optionalText("speaker");
  const time = line.optionalText("time");
  const role = speaker === "user" || speaker === "assistant" ? { role: speaker } : {};
  const entry: MemoryEntry = {
    id: line.text("id"),
    content: line.text("text"),
    sessionId: `${conversation}/${line.text("session")}`,
    turn: line.number("turn"),
    kind: "message",
    ...(speaker === undefined ? {} : { speaker }),
    ...(time === undefined ? {} : { time }),
    ...role,
  };
  return { conversation, it: entry };
}

function readQuestion(line: Fields): OfConversation<Question> {
  const question = { text: line.text("text"), relevant: line.texts("relevant") };
  return { conversation: line.text("conv"), it: question };
}

/** Reads the fields of a line, and checks their types. */
class Fields {
  readonly #fields: Readonly<Record<string, unknown>>;

  constructor(line: unknown) {
    if (typeof line !== "object" || line === null) throw new Error("It must be an object.");
    this.#fields = line as Record<string, unknown>;
  }

  text(name: string): string {
    const value = this.#fields[name];
    if (typeof value !== "string") throw new Error(`${name} must be a text.`);
    return value;
  }

  optionalText(name: string): string | undefined {
    return this.#fields[name] == null ? undefined : this.text(name);
  }

  number(name: string): number {
    const value = this.#fields[name];
    if (typeof value !== "number") throw new Error(`${name} must be a number.`);
    return value;
  }

  texts(name: string): readonly string[] {
    const value = this.#fields[name];
    if (Array.isArray(value) && value.every((text) => typeof text === "string")) return value;
    throw new Error(`${name} must be a list of texts.`);
  }
}
