import { basename, dirname, join } from "node:path";
import { given } from "../../core/fields.ts";
import type { AssistantBlock } from "../../core/message.ts";
import { wordSet } from "../../text/word-set.ts";
import type { FoundFile } from "../found-file.ts";
import {
  type ImportedMessage,
  type ImportedSession,
  type ImportFormat,
  type ImportNotes,
  messagesFor,
  type ReadOn,
} from "../imported.ts";
import {
  contentText,
  type Json,
  listOf,
  nameOf,
  objectOf,
  textOf,
  timeOf,
} from "../json-fields.ts";
import { type FileRecord, readRecords, TwiceReadRecords } from "../read-records.ts";
import { messageParts } from "./claude-code-message-parts.ts";
import { LineGraph } from "./line-graph.ts";
import { promptText } from "./prompt-text.ts";
import { sideChains } from "./side-chains.ts";

/**
 * The transcripts of Claude Code, one file a session:
 *
 *     projects/-home-ada-app/0f3c….jsonl                      a session
 *     projects/-home-ada-app/0f3c…/subagents/agent-1a2b….jsonl   what a subagent did in it
 *
 * Each line names the one before it. The file is read twice: the first time to find the lines that are the
 * conversation (`LineGraph`), the second time to stream them.
 */
export const claudeCodeFormat: ImportFormat = {
  agent: "claude-code",
  places: ({ env, home }) => [join(env.CLAUDE_CONFIG_DIR || join(home, ".claude"), "projects")],
  mayBe: (path) => /\.jsonl$/.test(path),
  recognises: ({ first, head, path }) =>
    first === undefined
      ? LOOKS_LIKE_IT.test(latin1.decode(head)) && !QWEN_FILE.test(path)
      : isLine(first),
  async *read(file, notes, from) {
    const rest = from && (await outlineOf(file, from));
    // Lines of a subagent hang below lines that are not in the rest.
    const outline = rest && !rest.hasSideChains ? rest : await outlineOf(file);
    if (!outline) {
      // Reports the bad lines.
      for await (const { value } of readRecords(file, notes)) noteUnknown(value, notes);
      return;
    }
    if (outline.others > 0) notes.otherBranch(outline.others);
    const next = outline.next();
    if (next) notes.readOn(file, next);
    const session = outline.session();
    const messages = inOrder(linesOf(notes, outline));
    yield { ...session, messages: messagesFor(session.parent, messages) };
    if (outline.hasSideChains) yield* sideChains(file, session);
  },
};

/** Reads the file, or its end, for the first time. Undefined if it has no message, or the end alone is not enough. */
async function outlineOf(file: FoundFile, from?: ReadOn): Promise<Outline | undefined> {
  const outline = new Outline(file, from);
  for await (const record of outline.records.first()) outline.add(record);
  return outline.follow() ? outline : undefined;
}

const latin1 = new TextDecoder("latin1");
const QWEN_FILE = /(?:^|[/\\])chats[/\\][^/\\]+\.jsonl$/;

/** A line that is longer than the head. A chat of Copilot may be one line, too. */
const LOOKS_LIKE_IT = /^(?![^\n]{0,2000}"requests":\[)\{[^\n]{0,400}"(?:parentUuid|sessionId)":/;

/** Types of records, and whether they have messages. */
const RECORDS =
  wordSet(`user assistant system attachment progress summary custom-title ai-title tag last-prompt mode relocated agent-name
  agent-color agent-setting pr-link worktree-state tools-used history-suppression content-replacement
  file-history-snapshot attribution-snapshot queue-operation permission-mode speculation-accept
  marble-origami-commit marble-origami-snapshot`);

function isLine(first: Json): boolean {
  if (!RECORDS.has(textOf(first.type)) || "payload" in first) return false;
  // Qwen Code has the same lines, with Gemini's messages.
  if ("parts" in objectOf(first.message) || "systemPayload" in first) return false;
  // iFlow has them, too, but hangs all answers below the prompt.
  if (textOf(first.sessionId).startsWith("session-")) return false;
  // Lines that `--output-format stream-json` prints.
  if ("session_id" in first && !("sessionId" in first)) return false;
  return ["sessionId", "uuid", "leafUuid", "messageId", "snapshot"].some((name) => name in first);
}

function noteUnknown({ type }: Json, notes: ImportNotes): void {
  if (!RECORDS.has(textOf(type))) notes.unknown(nameOf(type) ?? "?");
}

const TITLE_MAX = 100;

/** The titles of a session, the best first. */
const TITLES = ["customTitle", "aiTitle", "summary"] as const;

/** The metadata of a session. */
interface About {
  sessionId?: string;
  forkedFrom?: string;
  project?: string;
  branch?: string;
  model?: string;
  customTitle?: string;
  aiTitle?: string;
  summary?: string;
  prompt?: string;
  startedAt?: string;
  updatedAt?: string;
}

/** The outline of a file, from its first reading. */
class Outline {
  readonly graph: LineGraph;
  readonly isSubagents: boolean;
  /** It has what subagents did between its own lines, as earlier versions wrote it. */
  hasSideChains = false;
  readonly records: TwiceReadRecords;
  /** Messages on other branches. */
  others = 0;
  #isEmpty = true;
  readonly #isRest: boolean;
  /** The kind of the title that it had before: a later one is of this kind, or of one before it. */
  readonly #titledBy: number;
  readonly #stem: string;
  readonly #folder: string;
  readonly #about: About;

  constructor(file: FoundFile, from: ReadOn | undefined) {
    const { path } = file;
    this.#stem = basename(path).replace(/\.jsonl$/, "");
    this.#folder = dirname(path);
    this.isSubagents = this.#stem.startsWith("agent-");
    const { above, about, titledBy } = objectOf(from?.state);
    this.#titledBy = typeof titledBy === "number" ? titledBy : TITLES.length;
    this.#isRest = from !== undefined;
    this.records = new TwiceReadRecords(file, from ?? { offset: 0, line: 1 });
    this.graph = new LineGraph(from && textOf(above));
    this.#about = { ...objectOf(about) };
  }

  add(record: FileRecord): void {
    const { value } = record;
    const about = this.#about;
    const type = textOf(value.type);
    if (type === "custom-title") setName(about, "customTitle", value.customTitle);
    if (type === "ai-title") setName(about, "aiTitle", value.aiTitle);
    if (type === "summary" && this.graph.has(textOf(value.leafUuid))) {
      setName(about, "summary", value.summary);
    }
    if (about.sessionId === undefined) setName(about, "sessionId", value.sessionId);
    if (about.forkedFrom === undefined) {
      setName(about, "forkedFrom", objectOf(value.forkedFrom).sessionId);
    }
    this.graph.add(record, this.isSubagents);
    if (type !== "user" && type !== "assistant" && type !== "attachment") return;
    if (value.isSidechain === true && !this.isSubagents) {
      this.hasSideChains = true;
      return;
    }
    this.#isEmpty = false;
    if (about.project === undefined) setName(about, "project", value.cwd);
    setName(about, "branch", value.gitBranch);
    const time = timeOf(value.timestamp);
    if (about.startedAt === undefined) setName(about, "startedAt", time);
    setName(about, "updatedAt", time);
    const { model } = objectOf(value.message);
    if (model !== "<synthetic>") setName(about, "model", model);
    if (type === "assistant" || value.isMeta === true || about.prompt !== undefined) return;
    setName(about, "prompt", this.#promptIn(value));
  }

  /** Finds the conversation. False if there is none, or the end of the file alone does not say it. */
  follow(): boolean {
    const others = this.#isEmpty ? undefined : this.graph.follow();
    this.others = others ?? 0;
    return others !== undefined;
  }

  /** The place where the next reading may begin, after the file has grown. */
  next(): ReadOn | undefined {
    const found = this.graph.restart();
    if (!found) return undefined;
    const { line, offset, above } = found;
    // A title may be what was said, and that may be forgotten: only where it is from is kept.
    const { customTitle, aiTitle, summary, prompt, ...about } = this.#about;
    const titles = TITLES.map((title) => this.#about[title]);
    const own = titles.findIndex(Boolean);
    const titledBy = own < 0 ? this.#titledBy : Math.min(own, this.#titledBy);
    return { line, offset, state: { above, about, titledBy } };
  }

  #promptIn(value: Json): string | undefined {
    if (value.isCompactSummary === true) return undefined;
    const { type, prompt, commandMode = "prompt" } = objectOf(value.attachment);
    const isQueued = type === "queued_command" && commandMode === "prompt";
    const content = isQueued ? prompt : objectOf(value.message).content;
    const blocks = typeof content === "string" ? [content] : listOf(content);
    for (const block of blocks) {
      if (objectOf(block).type === "tool_result") continue;
      const read = promptText(contentText(block));
      if (read?.isForMemory) return read.text.split("\n", 1)[0]?.slice(0, TITLE_MAX);
    }
    return undefined;
  }

  session(): Omit<ImportedSession, "messages"> {
    const { sessionId, forkedFrom, customTitle, aiTitle, summary, prompt, ...about } = this.#about;
    // A name that a person gave it holds, whatever a program calls it later.
    const titles = [customTitle, aiTitle, summary].slice(0, this.#titledBy + 1);
    const caller = this.isSubagents ? (sessionId ?? this.#folderSession()) : undefined;
    const nativeId = caller === undefined ? this.#stem : `${caller}.${this.#stem}`;
    const parent = caller ?? (forkedFrom === this.#stem ? undefined : forkedFrom);
    const relation = caller === undefined ? "fork" : "subagent";
    return {
      id: `claude-code:${nativeId}`,
      agent: "claude-code",
      nativeId,
      ...given({
        parent:
          parent === undefined ? undefined : ({ id: `claude-code:${parent}`, relation } as const),
        isRest: this.#isRest ? (true as const) : undefined,
        title: titles.find(Boolean) ?? (this.#isRest ? undefined : prompt),
      }),
      ...about,
    };
  }

  /** `…/0f3c…/subagents/agent-1a2b….jsonl` */
  #folderSession(): string | undefined {
    const parts = this.#folder.split(/[/\\]/);
    const at = parts.lastIndexOf("subagents");
    return at > 0 ? parts[at - 1] : undefined;
  }
}

function setName(about: About, name: keyof About, value: unknown): void {
  const text = nameOf(value);
  if (text !== undefined) about[name] = text;
}

/** The parts of a line, and whether more of the same answer follow. */
interface LineParts {
  readonly parts: readonly ImportedMessage[];
  readonly answer: string | undefined;
  readonly isAnswer: boolean;
  readonly isOpen: boolean;
}

async function* linesOf(notes: ImportNotes, outline: Outline): AsyncGenerator<LineParts> {
  const placeOf = outline.graph.places();
  const added = new AddedBlocks();
  for await (const { value, line } of outline.records.again(notes)) {
    noteUnknown(value, notes);
    const place = nameOf(value.uuid) === undefined ? queuedWithoutUuid(value) : placeOf(line);
    if (!place) continue;
    const { answer, isOpen } = place;
    const parts = messageParts({ value, line, place }, notes).flatMap((part) => {
      const { message } = part;
      if (message.role !== "block_assistant" || answer === undefined) return [part];
      const { blocks, continues } = added.next(answer, message.blocks);
      if (blocks.length === 0) return [];
      return [
        {
          ...part,
          message: { ...message, blocks },
          ...given({ continues: continues || undefined }),
        },
      ];
    });
    if (answer !== undefined && !isOpen) added.end(answer);
    yield { parts, answer, isOpen, isAnswer: value.type === "assistant" };
  }
}

/** Some versions give prompts that were typed while a tool ran no place in the graph. */
function queuedWithoutUuid(value: Json) {
  return value.type === "attachment" && value.isSidechain !== true
    ? { answer: undefined, ordinal: 0, isOpen: false, answeredBy: undefined }
    : undefined;
}

/**
 * The messages in their order: an answer, the results of its calls, and the prompts typed meanwhile. A tool may be done
 * before the answer that calls it is. A result that comes after the next answer began stays where it is.
 */
async function* inOrder(lines: AsyncIterable<LineParts>): AsyncGenerator<ImportedMessage> {
  let open: string | undefined;
  let results: ImportedMessage[] = [];
  let others: ImportedMessage[] = [];
  for await (const { parts, answer, isAnswer, isOpen } of lines) {
    if (isAnswer && answer !== open) {
      yield* [...results, ...others];
      results = [];
      others = [];
      open = answer;
    }
    if (isAnswer) yield* parts;
    else if (open !== undefined && answer === open) {
      for (const part of parts)
        (part.message.role === "tool_results" ? results : others).push(part);
    } else if (open !== undefined) others.push(...parts);
    else yield* parts;
    if (answer === undefined || answer !== open || isOpen) continue;
    yield* [...results, ...others];
    results = [];
    others = [];
    open = undefined;
  }
  yield* [...results, ...others];
}

/** The part that a line adds to its answer. */
interface Added {
  readonly blocks: readonly AssistantBlock[];
  /** Whether the first block is the rest of the last one before. */
  readonly continues: boolean;
}

/**
 * Finds the blocks that each line adds to its answer. Most lines have one new block. Some versions write again what they wrote
 * before: all blocks of the answer so far, or its last block with more text.
 */
class AddedBlocks {
  readonly #answers = new Map<string, readonly AssistantBlock[]>();

  /** Takes the next line of an answer. */
  next(answer: string, blocks: readonly AssistantBlock[]): Added {
    const known = this.#answers.get(answer) ?? [];
    const start = [0, known.length - 1].find((from) => repeats(known, from, blocks));
    const all = [...known.slice(0, start ?? known.length), ...blocks];
    this.#answers.set(answer, all);
    const last = known.at(-1);
    const again = all[known.length - 1];
    const rest = start === undefined || !last || !again ? undefined : restOf(last, again);
    const added = all.slice(known.length);
    return { blocks: rest ? [rest, ...added] : added, continues: rest !== undefined };
  }

  /** No more lines of this answer follow. */
  end(answer: string): void {
    this.#answers.delete(answer);
  }
}

/** Whether the blocks are those of the answer from `start` on. The last of these may have grown. */
function repeats(
  known: readonly AssistantBlock[],
  start: number,
  blocks: readonly AssistantBlock[],
): boolean {
  const again = known.slice(Math.max(0, start));
  if (again.length === 0 || again.length > blocks.length) return false;
  return again.every((block, index) => {
    const other = blocks[index];
    const isLast = index === again.length - 1;
    return other !== undefined && goesOn(block, other) && (isLast || !restOf(block, other));
  });
}

function goesOn(block: AssistantBlock, later: AssistantBlock): boolean {
  if (block.block_type === "tool_use") {
    return later.block_type === "tool_use" && block.data.id === later.data.id;
  }
  if (later.block_type === "tool_use") return false;
  return block.block_type === later.block_type && later.data.text.startsWith(block.data.text);
}

/** The text that a block has more than before. */
function restOf(block: AssistantBlock, later: AssistantBlock): AssistantBlock | undefined {
  if (block.block_type === "tool_use" || later.block_type === "tool_use") return undefined;
  const text = later.data.text.slice(block.data.text.length);
  return text === "" ? undefined : { ...later, data: { text } };
}
