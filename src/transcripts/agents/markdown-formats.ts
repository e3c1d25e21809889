import { hash } from "node:crypto";
import { basename, join } from "node:path";
import { given } from "../../core/fields.ts";
import { readLines } from "../../text/read-lines.ts";
import type { FoundFile } from "../found-file.ts";
import type {
  AgentName,
  ImportedMessage,
  ImportedSession,
  ImportFormat,
  ImportNotes,
} from "../imported.ts";
import { timeOf, titleOf } from "../json-fields.ts";
import { answer, prompt } from "./parts.ts";

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
}

/** The start of a block. */
interface Start {
  readonly who: Block["who"];
  readonly time?: string | undefined;
  readonly isSide?: boolean;
}

const LINE_BYTES_MAX = 64 * 1024 * 1024;

/** The lines of a file, with those that are blank. A code fence is open where a line before began one. */
async function* textLines(
  file: FoundFile,
  notes?: ImportNotes,
): AsyncGenerator<{ text: string; number: number }> {
  let last = 0;
  for await (const line of readLines(file.read(), LINE_BYTES_MAX)) {
    const { number } = line;
    // Blank lines are left out by the reader.
    for (last += 1; last < number; last += 1) yield { text: "", number: last };
    last = number;
    if (line.problem) notes?.skip(file, number, "it is too long or not UTF-8");
    else yield { text: line.text.replace(/^\uFEFF/, "").replace(/\r$/, ""), number };
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
  const done = function* (): Generator<Block> {
    const whole = lines.join("\n").trim();
    const text = whole.endsWith("\n---") ? whole.slice(0, -"---".length).trim() : whole;
    if (open && text !== "") yield { ...open, text };
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
  yield* done();
}

/** The messages of blocks. Equal texts get numbers, so that a file that grows keeps its ids. */
async function* said(
  session: string,
  blocks: AsyncIterable<Block>,
  notes: ImportNotes,
): AsyncGenerator<ImportedMessage> {
  let chain = "";
  let side = 0;
  for await (const { who, text, line, time, isSide, group } of blocks) {
    if (isSide) side += 1;
    if (who === "none" || isSide) continue;
    chain = hash("sha1", chain + who + text).slice(0, 20);
    const id = `${session}:${chain}`;
    const of = { time, line, group };
    yield who === "user" ? prompt(id, text, of) : answer(id, text, of);
  }
  notes.otherBranch(side);
}

async function firstPrompt(blocks: AsyncIterable<Block>): Promise<Block | undefined> {
  for await (const block of blocks) if (block.who === "user") return block;
  return undefined;
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
  async *read(file, notes) {
    const [heading = ""] = await headLines(file, 1);
    const blocks = (to?: ImportNotes) => blocksOf(file, cursorStart, to);
    const first = await firstPrompt(blocks());
    if (!first) return notes.skip(file, undefined, "it has no prompt");
    const id = hash("sha1", heading + first.text).slice(0, 20);
    yield session(
      "cursor",
      id,
      heading.replace(/^#\s*/, "") || first.text,
      said(`cursor:${id}`, blocks(notes), notes),
    );
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
  recognises: ({ head }) => /^\uFEFF?\s*<!-- Generated by SpecStory/.test(decoder.decode(head)),
  async *read(file, notes) {
    const lines = await headLines(file, 40);
    const about = lines
      .map((line) => /<!-- .{1,60}? Session ([\w-]{6,80}) \(([^)]{1,60})\) -->/.exec(line))
      .find((found) => found !== null);
    const blocks = (to?: ImportNotes) => spokenBlocks(blocksOf(file, specstoryStart, to));
    const first = await firstPrompt(blocks());
    if (!first) return notes.skip(file, undefined, "it has no prompt");
    const id = about?.[1] ?? hash("sha1", first.text).slice(0, 20);
    // The agent's own transcript of that session has more, and exact times.
    if ([...file.others()].some(({ path }) => path !== file.path && basename(path).includes(id)))
      return;
    const messages = said(`specstory:${id}`, blocks(notes), notes);
    const [, project] = /^(.*?)[/\\]\.specstory[/\\]history[/\\]/.exec(file.path) ?? [];
    const startedAt = first.time ?? timeOf(about?.[2]);
    yield { ...session("specstory", id, first.text, messages, startedAt), ...given({ project }) };
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
async function* spokenBlocks(blocks: AsyncIterable<Block>): AsyncGenerator<Block> {
  for await (const block of blocks) {
    if (block.who !== "model" || block.isSide) yield block;
    else {
      const spoken = withoutElements(block.text, ["tool-use", "think", "details"]);
      for (const part of spoken.split(/^---[ \t]*$/m)) {
        const text = part.trim();
        if (text !== "" && !text.startsWith("Tool use: **"))
          yield { ...block, text, group: `${block.line}` };
      }
    }
  }
}

/** The text without these elements and what is in them. */
function withoutElements(text: string, tags: readonly string[]): string {
  let rest = text;
  for (const tag of tags) {
    let kept = "";
    let at = 0;
    for (;;) {
      const start = rest.indexOf(`<${tag}`, at);
      const end = start < 0 ? -1 : rest.indexOf(`</${tag}>`, start);
      if (end < 0) break;
      kept += rest.slice(at, start);
      at = end + tag.length + 3;
    }
    rest = kept + rest.slice(at);
  }
  return rest.replace(/\n{3,}/g, "\n\n").trim();
}

function session(
  agent: AgentName,
  id: string,
  title: string,
  messages: AsyncIterable<ImportedMessage>,
  startedAt?: string,
): ImportedSession {
  return {
    id: `${agent}:${id}`,
    agent,
    nativeId: id,
    ...given({ title: titleOf(title), startedAt }),
    messages,
  };
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
  async *read(file, notes) {
    const runs: { readonly start: string; readonly blocks: Block[]; readonly times: number }[] = [];
    const starts = new Map<string, number>();
    for await (const found of aiderBlocks(file, notes)) {
      if ("start" in found) {
        const times = (starts.get(found.start) ?? 0) + 1;
        starts.set(found.start, times);
        runs.push({ start: found.start, blocks: [], times });
      } else runs.at(-1)?.blocks.push(found);
    }
    const folder = basename(join(file.path, ".."));
    for (const { start, blocks, times } of runs) {
      const first = blocks.find(({ who }) => who === "user");
      if (!first) continue;
      const id = hash("sha1", `${start}#${times}#${first.text}`).slice(0, 20);
      const startedAt = timeOf(start.replace(" ", "T"));
      const messages = said(
        `aider:${id}`,
        (async function* () {
          yield* blocks;
        })(),
        notes,
      );
      yield {
        ...session("aider", id, first.text, messages, startedAt),
        ...given({ project: projectOf(file, folder) }),
      };
    }
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
  const done = function* (): Generator<Block> {
    const text = block?.lines.join("\n").trim() ?? "";
    // It writes `<blank>` for nothing.
    if (
      block &&
      text !== "" &&
      !(block.who === "user" && (isCommand(text) || text === "<blank>"))
    ) {
      yield {
        who: block.who,
        text: block.who === "user" ? withoutMode(text) : text,
        line: block.line,
      };
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
  yield* done();
}

/** `/add x` sets up the program. `/ask why` is a prompt. */
function isCommand(text: string): boolean {
  return /^[/!]/.test(text) && !/^\/(?:ask|code|architect|context|help)\s+\S/.test(text);
}

function withoutMode(text: string): string {
  return text.replace(/^\/(?:ask|code|architect|context)\s+/, "");
}
