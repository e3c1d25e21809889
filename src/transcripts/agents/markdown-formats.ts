import { hash } from "node:crypto";
import { basename, join } from "node:path";
import { given, isObject } from "../../core/fields.ts";
import { decoded, readByteLines } from "../../text/read-lines.ts";
import { type FoundFile, isYoung } from "../found-file.ts";
import type { ImportedMessage, ImportFormat, ImportNotes, ReadOn } from "../imported.ts";
import { timeOf, titleOf } from "../json-fields.ts";
import { answer, importedSession, prompt } from "../parts.ts";

/** A block of a Markdown file: who says it, and what. */
interface Block {
  readonly who: "user" | "model" | "none";
  readonly text: string;
  readonly line: number;
  readonly time?: string | undefined;
  /** A sub-agent's. */
  readonly isSide?: boolean;
  /** Parts with the same are one message. */
  readonly group?: string;
  /** The file ends in it: more of it may come. */
  readonly isOpen?: boolean | undefined;
}

/** The start of a block. */
interface Start {
  readonly who: Block["who"];
  readonly time?: string | undefined;
  readonly isSide?: boolean;
}

const LINE_BYTES_MAX = 64 * 1024 * 1024;

/** The lines of a file, with those that are blank, and without one that is still being written. */
async function* textLines(
  file: FoundFile,
  notes?: ImportNotes,
): AsyncGenerator<{ text: string; number: number }> {
  for await (const line of readByteLines(file.read(), LINE_BYTES_MAX)) {
    const { number } = line;
    if (!line.problem && !line.ended && isYoung(file)) return notes?.unfinished(file);
    const read = line.problem ? line : decoded(line);
    if (read?.problem) notes?.skip(file, number, "it is too long or not UTF-8");
    else yield { text: (read?.text ?? "").replace(/^\uFEFF/, "").replace(/\r$/, ""), number };
  }
}

/** The blocks of a file, each from a line that starts one. */
async function* blocksOf(
  file: FoundFile,
  startOf: (text: string, before: readonly string[]) => Start | undefined,
  notes?: ImportNotes,
): AsyncGenerator<Block> {
  let open: (Start & { readonly line: number }) | undefined;
  let lines: string[] = [];
  const before = ["", ""];
  const done = function* (isLast = false): Generator<Block> {
    const whole = lines.join("\n").trim();
    const isClosed = whole.endsWith("\n---");
    const text = isClosed ? whole.slice(0, -"---".length).trim() : whole;
    if (open && text !== "") yield { ...open, text, isOpen: isLast && !isClosed };
  };
  for await (const { text, number } of textLines(file, notes)) {
    const start = startOf(text, before);
    if (start) {
      yield* done();
      open = { ...start, line: number };
      lines = [];
    } else lines.push(text);
    before.shift();
    before.push(text);
  }
  yield* done(true);
}

/**
 * How far the last message of a file was read. More may be added to it: then its rest is a message, with the id of the
 * whole, so that nothing of it is there twice, also where this is not known.
 */
interface LastSaid {
  /** The session, and a hash of what was said before. */
  readonly behind: string;
  readonly size: number;
  readonly hash: string;
}

const DAY_MS = 86_400_000;

/** A reading of a file that may be growing. */
class Growing {
  readonly #file: FoundFile;
  readonly #notes: ImportNotes;
  readonly #before: LastSaid | undefined;
  #last: LastSaid | undefined;
  #again = false;

  constructor(file: FoundFile, notes: ImportNotes, from: ReadOn | undefined) {
    this.#file = file;
    const unfinished = (of: FoundFile) => {
      this.#again = true;
      notes.unfinished(of);
    };
    this.#notes = { ...notes, unfinished };
    const { behind, size, hash } = isObject(from?.state) ? from.state : {};
    if (typeof behind === "string" && typeof size === "number" && typeof hash === "string")
      this.#before = { behind, size, hash };
  }

  /** The notes for its readers: a part that they leave out has the file read again, also if that stays as it is. */
  get notes(): ImportNotes {
    return this.#notes;
  }

  /** Whether the name that a session has of its first prompt is certain: more may be added to the last block of a file. */
  isNamed(blocks: number): boolean {
    if (blocks > 1 || !isYoung(this.#file)) return true;
    this.#notes.unfinished(this.#file);
    return false;
  }

  /**
   * The messages of blocks. Equal texts get numbers, so that a file that grows keeps its ids. The last one is left to the next
   * import where the session is of today and its file is young.
   */
  async *said(
    session: string,
    blocks: AsyncIterable<Block>,
    startedAt?: string,
  ): AsyncGenerator<ImportedMessage> {
    let chain = "";
    let side = 0;
    for await (const { who, text, line, time, isSide, group, isOpen } of blocks) {
      if (isSide) side += 1;
      if (who === "none" || isSide) continue;
      const isOfToday = Date.now() - Date.parse(time ?? startedAt ?? "") < DAY_MS;
      if (isOpen && isOfToday && isYoung(this.#file)) {
        this.#notes.unfinished(this.#file);
        break;
      }
      const behind = `${session}:${chain}`;
      chain = hashed(chain + who + text);
      const rest = this.#restOf(text, behind);
      this.#last = { behind, size: text.length, hash: hashed(text) };
      const id = `${session}:${chain}`;
      const of = { time, line, group };
      yield who === "user" ? prompt(id, rest, of) : answer(id, rest, of);
    }
    this.#notes.otherBranch(side);
  }

  #restOf(text: string, behind: string): string {
    const { size, hash, behind: before } = this.#before ?? {};
    const isMore = before === behind && size !== undefined && size < text.length;
    return isMore && hashed(text.slice(0, size)) === hash ? text.slice(size).trim() : text;
  }

  /** Notes it for the next import. */
  end(): void {
    const again = this.#again || undefined;
    this.#notes.readOn(this.#file, { offset: 0, line: 0, state: this.#last, ...given({ again }) });
  }
}

function hashed(text: string): string {
  return hash("sha1", text).slice(0, 20);
}

/** The first prompt, and the number of blocks, which may be lower than that of all from 2 on. */
async function firstPrompt(
  blocks: AsyncIterable<Block>,
): Promise<{ readonly first: Block | undefined; readonly count: number }> {
  let first: Block | undefined;
  let count = 0;
  for await (const block of blocks) {
    if (block.who === "user") first ??= block;
    count += 1;
    if (first && count > 1) break;
  }
  return { first, count };
}

async function headLines(file: FoundFile, count: number): Promise<readonly string[]> {
  const lines: string[] = [];
  for await (const { text } of textLines(file)) {
    lines.push(text);
    if (lines.length >= count) break;
  }
  return lines;
}

const decoder = new TextDecoder();

/** A chat that Cursor exported. Only blocks headed `**User**` or `**Cursor**` after a line `---` count. It has no times. */
export const cursorExportFormat: ImportFormat = {
  agent: "cursor",
  places: () => [],
  mayBe: (path) => /\.md$/.test(path),
  recognises: ({ head }) =>
    /^\uFEFF?#[^\n]*\n+_Exported on [^\n]* from Cursor[^\n]*_/.test(
      decoder.decode(head).replaceAll("\r\n", "\n"),
    ),
  async *read(file, notes, from) {
    const growing = new Growing(file, notes, from);
    const [heading = ""] = await headLines(file, 1);
    const blocks = (to?: ImportNotes) => blocksOf(file, cursorStart, to);
    const { first, count } = await firstPrompt(blocks());
    if (!first) return notes.skip(file, undefined, "it has no prompt");
    if (growing.isNamed(count)) {
      const id = hashed(heading + first.text);
      const messages = growing.said(`cursor:${id}`, blocks(growing.notes));
      const title = titleOf(heading.replace(/^#\s*/, "") || first.text);
      yield importedSession("cursor", id, messages, { title });
    }
    growing.end();
  },
};

function cursorStart(text: string, before: readonly string[]): Start | undefined {
  const [, who] = /^\*\*(User|Cursor)\*\*\s*$/.exec(text) ?? [];
  if (who === undefined || !before.some((line) => line.trim() === "---")) return undefined;
  return { who: who === "User" ? "user" : "model" };
}

/** The histories that SpecStory writes, of any agent. */
export const specstoryFormat: ImportFormat = {
  agent: "specstory",
  places: () => [],
  mayBe: (path) => /(?:^|\/)\.specstory\/history\/[^/]+\.md$|^[^/]+\.md$/.test(path),
  recognises: ({ head }) =>
    /^\uFEFF?\s*(?:<!-- Generated by SpecStory|## SpecStory\s)/.test(decoder.decode(head)),
  async *read(file, notes, from) {
    const growing = new Growing(file, notes, from);
    const lines = await headLines(file, 40);
    const about = lines
      .map((line) => /<!-- .{1,60}? Session ([\w-]{6,80}) \(([^)]{1,60})\) -->/.exec(line))
      .find((found) => found !== null);
    const blocks = (to?: ImportNotes) =>
      spokenBlocks(blocksOf(file, specstoryStart, to), isYoung(file));
    const { first, count } = await firstPrompt(blocks());
    if (!first) return notes.skip(file, undefined, "it has no prompt");
    const id = about?.[1] ?? hashed(first.text);
    // The agent's own transcript of that session has more, and exact times.
    if ([...file.others()].some(({ path }) => path !== file.path && basename(path).includes(id)))
      return;
    if (!about && !growing.isNamed(count)) return growing.end();
    const [, project] = /^(.*?)[/\\]\.specstory[/\\]history[/\\]/.exec(file.path) ?? [];
    const [, heading] = /^##? .*\((\d+[-/]\d+[-/]\d+,? \d+:[^)]+)\)$/m.exec(lines.join("\n")) ?? [];
    const startedAt = first.time ?? timeOf(about?.[2] ?? heading);
    const messages = growing.said(`specstory:${id}`, blocks(growing.notes), startedAt);
    const named = { title: titleOf(first.text), startedAt, project };
    yield importedSession("specstory", id, messages, named);
    growing.end();
  },
};

/** `_**User (2026-02-23 23:01:52Z)**_`, and in 2025 `_**User**_`. */
function specstoryStart(text: string): Start | undefined {
  const [, who = "", more = ""] =
    /^_\*\*(User|Assistant|Agent|Tool)\b(.{0,300}?)\*\*_\s*$/.exec(text) ?? [];
  if (who === "") return undefined;
  const at = /(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d(?::\d\d)?)\s*Z/.exec(more);
  const time = at ? timeOf(`${at[1]}T${at[2]}Z`) : undefined;
  return {
    who: who === "User" ? "user" : who === "Tool" ? "none" : "model",
    time,
    isSide: /sidechain/i.test(more),
  };
}

/**
 * SpecStory puts a line `---` between the parts of an answer, to which it adds more while the agent works. Calls were
 * `Tool use: **name**` in 2025.
 */
async function* spokenBlocks(
  blocks: AsyncIterable<Block>,
  isGrowing: boolean,
): AsyncGenerator<Block> {
  let before: Block | undefined;
  for await (const block of blocks) {
    if (before) yield* spokenIn(before, false);
    before = block;
  }
  if (before) yield* spokenIn(before, isGrowing);
}

function* spokenIn(block: Block, isGrowing: boolean): Generator<Block> {
  if (block.who !== "model" || block.isSide) yield block;
  else {
    const spoken = withoutElements(block.text, ["tool-use", "think", "details"], isGrowing);
    const parts = spoken.split(/^---[ \t]*$/m).map((part) => part.trim());
    for (const [index, text] of parts.entries()) {
      const isOpen = block.isOpen && index === parts.length - 1;
      if (text !== "" && !text.startsWith("Tool use: **"))
        yield { ...block, text, group: `${block.line}`, isOpen };
    }
  }
}

/**
 * The text without these elements and what is in them. Where it is growing, an element without its end is still being written.
 * Both of its tags begin a line, or stand in one: what a tool printed may have some, too.
 */
function withoutElements(text: string, tags: readonly string[], isGrowing: boolean): string {
  let rest = text;
  for (const tag of tags) {
    const isTool = tag === "tool-use";
    const ends = new RegExp(`${isTool ? "(?<=^(?:<tool-use.*|</details>)?)" : ""}</${tag}>`, "gm");
    const starts = new RegExp(`^<${tag}`, "gm");
    let kept = "";
    let at = 0;
    for (let start = starts.exec(rest); start; start = starts.exec(rest)) {
      ends.lastIndex = start.index;
      const end = ends.test(rest);
      if (!end && isGrowing) rest = rest.slice(0, start.index);
      if (!end) break;
      kept += rest.slice(at, start.index);
      at = ends.lastIndex;
      starts.lastIndex = at;
    }
    rest = kept + rest.slice(at);
  }
  return rest.replace(/\n{3,}/g, "\n\n").trim();
}

/**
 * The history of Aider, one file for all runs in a folder. A prompt is a block of lines `#### …`, which its writer ends by two
 * blanks each and puts after a blank line; headings in answers look alike otherwise. `> …` is the program's. Where it follows
 * a prompt or the program's words, whose answers begin after a blank line, it goes on until a line that ends by two blanks.
 */
export const aiderFormat: ImportFormat = {
  agent: "aider",
  places: () => [],
  mayBe: (path) =>
    /(?:^|\/)\.aider\.chat\.history[^/]*\.md$|(?:^|\/)aider[^/]*history[^/]*\.md$/.test(path),
  recognises: ({ head }) =>
    AIDER_START.test(
      decoder
        .decode(head)
        .replace(/^\uFEFF?\s*/, "")
        .split("\n", 1)[0] ?? "",
    ),
  async *read(file, notes, from) {
    const growing = new Growing(file, notes, from);
    const runs: { readonly start: string; readonly blocks: Block[]; readonly times: number }[] = [];
    const starts = new Map<string, number>();
    for await (const found of aiderBlocks(file, growing.notes)) {
      if ("start" in found) {
        const times = (starts.get(found.start) ?? 0) + 1;
        starts.set(found.start, times);
        runs.push({ start: found.start, blocks: [], times });
      } else runs.at(-1)?.blocks.push(found);
    }
    const folder = basename(join(file.path, ".."));
    for (const run of runs) {
      const { start, blocks, times } = run;
      const first = blocks.find(({ who }) => who === "user");
      if (!first) continue;
      if (run === runs.at(-1) && !growing.isNamed(blocks.length)) continue;
      const id = hashed(`${start}#${times}#${first.text}`);
      const about = {
        title: titleOf(first.text),
        startedAt: timeOf(start.replace(" ", "T")),
        project: projectOf(file, folder),
      };
      const all = (async function* () {
        yield* blocks;
      })();
      const messages = growing.said(`aider:${id}`, all, about.startedAt);
      yield importedSession("aider", id, messages, about);
    }
    growing.end();
  },
};

/** The history lies in the repository. */
function projectOf({ path }: FoundFile, folder: string): string | undefined {
  return folder !== "" && basename(path).startsWith(".aider") ? join(path, "..") : undefined;
}

const AIDER_START = /^# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)/;

/** Runs and blocks, in their order. */
async function* aiderBlocks(
  file: FoundFile,
  notes: ImportNotes,
): AsyncGenerator<Block | { readonly start: string }> {
  let block: { who: Block["who"]; lines: string[]; line: number } | undefined;
  let isFenced = false;
  let isAfterBlank = true;
  let isAfterProgram = false;
  let isProgramLong = false;
  /** The last text, and whether it was a command with a prompt. */
  let before = "";
  let isMode = false;
  // The prompt of a command is written again, and so is what the architect tells the editor.
  const isAgain = (text: string) => {
    const start = bare(text);
    return (isMode || start.length >= AGAIN_MIN) && before.startsWith(start);
  };
  const done = function* (isOpen = false): Generator<Block> {
    const text = block?.lines.join("\n").trim() ?? "";
    // It writes `<blank>` for nothing.
    if (
      block &&
      text !== "" &&
      !(block.who === "user" && (isCommand(text) || text === "<blank>" || isAgain(text)))
    ) {
      const said = block.who === "user" ? withoutMode(text) : text;
      yield { who: block.who, text: said, line: block.line, isOpen };
      isMode = said !== text;
      before = bare(said);
    }
    block = undefined;
  };
  for await (const { text, number } of textLines(file, notes)) {
    const line = text.replace(/\r$/, "");
    const start = AIDER_START.exec(line);
    const isPrompt =
      /^####(?: .*)? {2}$|^####$/.test(line) &&
      (!isFenced || (isAfterBlank && line.endsWith("  "))) &&
      (isAfterBlank || block?.who === "user");
    const isEnd = /^> Tokens: .* {2}$/.test(line);
    const isProgram = isEnd || (!isFenced && /^> .* {2}$|^>\s*$/.test(line));
    const isLong: boolean = isProgramLong || (isAfterProgram && line.startsWith("> "));
    if (start && isAfterBlank) {
      yield* done();
      isFenced = false;
      yield { start: start[1] ?? "" };
    } else if (isPrompt) {
      isFenced = false;
      if (block?.who !== "user") {
        yield* done();
        block = { who: "user", lines: [], line: number };
      }
      block?.lines.push(line.slice(5).trimEnd());
    } else if (isProgram || isLong) {
      if (block?.who === "user" || isEnd) yield* done();
      if (isEnd) isFenced = false;
    } else {
      if (/^\s*(?:```|~~~)/.test(line)) isFenced = !isFenced;
      if (block?.who === "user") {
        yield* done();
      }
      block ??= { who: "model", lines: [], line: number };
      block.lines.push(line);
    }
    isAfterBlank = line.trim() === "";
    isProgramLong = !start && !isPrompt && !isProgram && isLong && !line.endsWith("  ");
    isAfterProgram = isPrompt || isProgram || isLong;
  }
  yield* done(true);
}

/** A shorter text may be typed as the model said it. */
const AGAIN_MIN = 40;

/** How a text begins, without white space: it is another one where it is written again. */
function bare(text: string): string {
  return text.slice(0, 1000).replace(/\s/g, "").slice(0, 200);
}

/** `/add x` sets up the program. `/ask why` is a prompt. */
function isCommand(text: string): boolean {
  return /^[/!]/.test(text) && !/^\/(?:ask|code|architect|context|help)\s+\S/.test(text);
}

function withoutMode(text: string): string {
  return text.replace(/^\/(?:ask|code|architect|context)\s+/, "");
}
