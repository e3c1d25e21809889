import { type Json, listOf, nameOf, objectOf, textOf } from "../json-fields.ts";
import type { FileRecord } from "../read-records.ts";
import {
  ANSWER,
  FLAGS,
  LINE,
  LINE_COLUMNS,
  NEXT,
  NumberRows,
  ORDINAL,
  PARENT,
  PackedTexts,
  PROMPTS,
  RowsById,
} from "./line-rows.ts";

/** The instructions for a line in the second reading of the file. */
export interface LinePlace {
  /** The answer that the line is part of, or whose results it has. */
  readonly answer: string | undefined;
  /** The line's place among the lines of its answer, from 0. */
  readonly ordinal: number;
  /** Whether more lines of the same answer, or of its results, follow. */
  readonly isOpen: boolean;
  /** Names a prompt by the answer that follows it. */
  readonly answeredBy: string | undefined;
}

/** A line where a later reading of the file can begin. */
export interface Restart {
  readonly line: number;
  readonly offset: number;
  /** The uuid of the line that it hangs below. */
  readonly above: string;
}

interface Candidate extends Restart {
  readonly row: number;
}

/** The columns of an answer: how many lines it has so far, and the row of the first. */
const LINES = 0;
const FIRST_ROW = 1;
const ANSWER_COLUMNS = 2;

const NOWHERE = -1;
/** A parent that is not in the file. */
const MISSING = -2;
/** The row above those of the end of a file. */
const ABOVE = 0;
/** How many of the last messages a later reading may begin with. */
const CANDIDATES_MAX = 64;

// The flags of a line: its kind.
const USER = 1;
const ASSISTANT = 2;
/** The walk may begin here: it is no line of a subagent, and no later line replaces it. */
const ELIGIBLE = 4;
/** A person may have typed it. */
const PROMPT = 8;
/** A compaction ended here. */
const BOUNDARY = 128;
/** A teammate wrote it. */
const TEAMMATE = 256;
// The flags that the walk sets.
const INCLUDED = 16;
const HAS_CHILD = 32;
const OPEN = 64;

/**
 * The lines of a session as the graph that they are: each names its parent.
 *
 *     user ─ assistant ─ assistant ─ user      one answer is many lines, one for each block;
 *                     └─ user                  each result hangs below its own call
 *     user ─ …                                 a prompt that was edited begins another branch
 */
export class LineGraph {
  readonly #rows = new NumberRows(LINE_COLUMNS);
  #byUuid = new RowsById();
  /** Parents that come later in the file, or never. */
  readonly #unresolved = new Map<number, string>();
  /** The line at which the walk goes on from a boundary. */
  readonly #logicalParents = new Map<number, string>();
  /** The line that took the place of another one with its uuid. */
  readonly #replacements = new Map<number, number>();
  readonly #boundaries: number[] = [];
  readonly #answers = new NumberRows(ANSWER_COLUMNS);
  readonly #answerIds = new PackedTexts();
  #answersById = new RowsById();
  /** The answers of calls that have no result yet. */
  readonly #openCalls = new Map<string, number>();
  /** The last lines that begin a message. */
  readonly #candidates: Candidate[] = [];
  /** Whether only the end of the file is here. Its lines hang below row 0. */
  readonly #isRest: boolean;
  #isBranch = false;

  /** `above` is the line that the first one hangs below, if the file is not read from its start. */
  constructor(above?: string) {
    this.#isRest = above !== undefined;
    if (above === undefined) return;
    this.#byUuid.set(above, this.#rows.add());
    this.#rows.set(ABOVE, PARENT, NOWHERE);
    this.#rows.set(ABOVE, ANSWER, NOWHERE);
    this.#rows.set(ABOVE, FLAGS, USER | ELIGIBLE);
  }

  has(uuid: string): boolean {
    return this.#byUuid.get(uuid) !== undefined;
  }

  /** Takes the next line. In the file of a subagent all lines are its own. */
  add({ value, line, offset }: FileRecord, isSubagents: boolean): void {
    const uuid = nameOf(value.uuid);
    const type = textOf(value.type);
    if (uuid === undefined || !IN_GRAPH.has(type)) return;
    const rows = this.#rows;
    const row = rows.add();
    const { answer, ordinal, isResult } = this.#answerOf(type, value, uuid, row);
    const attachment = objectOf(value.attachment).type;
    const isEligible =
      (isSubagents || value.isSidechain !== true) &&
      type !== "progress" &&
      attachment !== "fork_briefing";
    const isSummary = value.isCompactSummary === true;
    const isPrompt =
      attachment === "queued_command" ||
      (type === "user" && !isResult && !isSummary && value.isMeta !== true);
    const isBoundary = value.subtype === "compact_boundary" || isSummary;
    rows.set(row, LINE, line);
    rows.set(row, PARENT, this.#parentOf(value, row));
    rows.set(row, ANSWER, answer);
    rows.set(row, ORDINAL, ordinal);
    rows.set(
      row,
      FLAGS,
      (type === "user" ? USER : 0) |
        (type === "assistant" ? ASSISTANT : 0) |
        (isEligible ? ELIGIBLE : 0) |
        (isPrompt ? PROMPT : 0) |
        (isTeammates(value) ? TEAMMATE : 0) |
        (isBoundary ? BOUNDARY : 0),
    );
    const before = this.#byUuid.get(uuid);
    if (before !== undefined) {
      this.#replacements.set(before, row);
      this.#unmark(before, ELIGIBLE);
    }
    this.#byUuid.set(uuid, row);
    const logical = nameOf(value.logicalParentUuid);
    if (logical !== undefined) this.#logicalParents.set(row, logical);
    if (isBoundary) this.#boundaries.push(row);
    const above = nameOf(value.parentUuid) ?? logical;
    const isFirst = type === "user" ? isPrompt : type === "assistant" && ordinal === 0;
    if (isFirst && above !== undefined) {
      this.#candidates.push({ row, line, offset, above });
      if (this.#candidates.length > CANDIDATES_MAX) this.#candidates.shift();
    }
  }

  #parentOf(value: Json, row: number): number {
    const parent = nameOf(value.parentUuid);
    if (parent === undefined) return NOWHERE;
    const known = this.#byUuid.get(parent);
    if (known === undefined) this.#unresolved.set(row, parent);
    return known ?? MISSING;
  }

  #answerOf(type: string, value: Json, uuid: string, row: number) {
    const message = objectOf(value.message);
    const blocks = listOf(message.content).map(objectOf);
    if (type === "assistant") {
      const answer = this.#answerWith(nameOf(message.id) ?? uuid, row);
      for (const { type: kind, id } of blocks) {
        if (kind === "tool_use") this.#openCalls.set(textOf(id), answer);
      }
      const before = this.#byUuid.get(uuid);
      const isAgain = before !== undefined && this.#rows.get(before, ANSWER) === answer;
      const lines = this.#answers.get(answer, LINES);
      const ordinal = isAgain ? this.#rows.get(before, ORDINAL) : lines;
      this.#answers.set(answer, LINES, lines + (isAgain ? 0 : 1));
      return { answer, ordinal, isResult: false };
    }
    const result = type === "user" && blocks.find((block) => block.type === "tool_result");
    if (!result) return { answer: NOWHERE, ordinal: 0, isResult: false };
    const id = textOf(result.tool_use_id);
    const called = this.#openCalls.get(id);
    this.#openCalls.delete(id);
    const caller = nameOf(value.sourceToolAssistantUUID) ?? textOf(value.parentUuid);
    const callerRow = this.#byUuid.get(caller);
    const above = callerRow === undefined ? NOWHERE : this.#rows.get(callerRow, ANSWER);
    return { answer: called ?? above, ordinal: 0, isResult: true };
  }

  /** The number of an answer, which is new when `row` is its first line. */
  #answerWith(id: string, row: number): number {
    const known = this.#answersById.get(id);
    if (known !== undefined) return known;
    const answer = this.#answers.add();
    this.#answers.set(answer, FIRST_ROW, row);
    this.#answersById.set(id, answer);
    this.#answerIds.add(id);
    return answer;
  }

  /**
   * Finds the conversation: the branch that ends with the last line. Returns how many messages are on others, or nothing
   * if the end of the file alone does not say it.
   *
   * A file with two roots, or without the parent of a line, has no branch. Then all lines are the conversation, in the
   * order of the file.
   */
  follow(): number | undefined {
    for (const [row, parent] of this.#unresolved) {
      const found = this.#byUuid.get(parent);
      if (found !== undefined && found !== row) this.#rows.set(row, PARENT, found);
    }
    let others = this.#leaveOutTeammates();
    this.#isBranch = this.#includeBranch();
    if (!this.#isBranch && this.#isRest) return undefined;
    if (!this.#isBranch) this.#includeAll();
    this.#includeAnswers();
    for (const row of this.#boundaries) if (this.#is(row, ELIGIBLE)) this.#mark(row, INCLUDED);
    this.#lookAhead();
    for (let row = 0; row < this.#rows.length; row += 1) {
      if (this.#isTalk(row) && this.#is(row, ELIGIBLE) && !this.#is(row, INCLUDED)) others += 1;
    }
    return others;
  }

  #isTalk(row: number): boolean {
    return this.#is(row, PROMPT) || this.#is(row, ASSISTANT);
  }

  /** In the file of another session, what a teammate says is beside the conversation. Returns how many messages that are. */
  #leaveOutTeammates(): number {
    const rows = Array.from({ length: this.#rows.length }, (_, row) => row).filter(
      (row) => (row !== ABOVE || !this.#isRest) && this.#is(row, ELIGIBLE) && this.#isTalk(row),
    );
    const theirs = rows.filter((row) => this.#is(row, TEAMMATE));
    if (theirs.length === rows.length) return 0;
    for (let row = 0; row < this.#rows.length; row += 1) {
      if (this.#is(row, TEAMMATE)) this.#unmark(row, ELIGIBLE);
    }
    return theirs.length;
  }

  /**
   * The places of the lines of the conversation, in the order of the file. Ask for the lines in this order too. Nothing
   * can be added, or asked by its id, any more.
   */
  places(): (line: number) => LinePlace | undefined {
    const rows = this.#rows;
    // A third of the memory of a graph.
    this.#byUuid = new RowsById();
    this.#answersById = new RowsById();
    let row = 0;
    return (line) => {
      while (row < rows.length && rows.get(row, LINE) < line) row += 1;
      if (rows.get(row, LINE) !== line || !this.#is(row, INCLUDED)) return undefined;
      const next = this.#answerIds.get(rows.get(row, NEXT));
      return {
        answer: this.#answerIds.get(rows.get(row, ANSWER)),
        ordinal: rows.get(row, ORDINAL),
        isOpen: this.#is(row, OPEN),
        answeredBy: next === undefined ? undefined : `${next}:${rows.get(row, PROMPTS)}`,
      };
    };
  }

  /**
   * The last line after which all lines hang below it, or below the same line as it, so that they can be read without
   * those before. No answer has lines on both sides.
   */
  restart(): Restart | undefined {
    if (!this.#isBranch) return undefined;
    return this.#candidates.findLast(({ row }) => this.#canRestart(row));
  }

  #canRestart(first: number): boolean {
    const rows = this.#rows;
    const above = this.#above(first);
    if (above < 0 || !this.#is(first, INCLUDED)) return false;
    for (const [before, after] of this.#replacements) {
      if (before < first && after >= first) return false;
    }
    for (let row = first; row < rows.length; row += 1) {
      if (!this.#is(row, ELIGIBLE)) continue;
      const parent = this.#above(row);
      if (parent < first && parent !== above) return false;
      const answer = rows.get(row, ANSWER);
      if (answer >= 0 && this.#answers.get(answer, FIRST_ROW) < first) return false;
    }
    return true;
  }

  /** Returns false when the lines do not hang together. */
  #includeBranch(): boolean {
    const rows = this.#rows;
    const roots = new Set<number>();
    for (const row of this.#unresolved.keys()) {
      const isMissing = rows.get(row, PARENT) === MISSING && this.#is(row, ELIGIBLE);
      if (this.#isRest && isMissing) return false;
    }
    for (let row = 0; row < rows.length; row += 1) {
      const parent = rows.get(row, PARENT);
      if (!this.#is(row, ELIGIBLE)) continue;
      if (parent >= 0) this.#mark(this.#replacements.get(parent) ?? parent, HAS_CHILD);
      const root = this.#is(row, PROMPT) && this.#is(row, USER) ? this.#rootOf(row) : undefined;
      if (root !== undefined) roots.add(root);
      else if (parent === NOWHERE && this.#is(row, ASSISTANT)) roots.add(row);
    }
    // The end of a file hangs below the root that the file has.
    if (roots.size > (this.#isRest ? 0 : 1)) return false;
    for (let row = rows.length - 1; row >= 0; row -= 1) {
      if (!this.#is(row, ELIGIBLE) || this.#is(row, HAS_CHILD)) continue;
      const walked = this.#walk(row);
      if (!walked || (this.#isRest && walked.at(-1) !== ABOVE)) return false;
      if (!walked.some((each) => this.#is(each, USER) || this.#is(each, ASSISTANT))) continue;
      for (const each of walked) if (this.#is(each, ELIGIBLE)) this.#mark(each, INCLUDED);
      return true;
    }
    return false;
  }

  /**
   * The line without a parent that a prompt hangs below, if nothing was said in between: the prompt itself, or the hook that
   * ran when the session was cleared.
   */
  #rootOf(prompt: number): number | undefined {
    let row = prompt;
    for (let steps = 0; steps < HOOKS_MAX; steps += 1) {
      const parent = this.#rows.get(row, PARENT);
      if (parent === NOWHERE) return this.#is(row, BOUNDARY) ? undefined : row;
      if (parent < 0 || this.#is(parent, PROMPT) || this.#is(parent, ASSISTANT)) return undefined;
      row = parent;
    }
    return undefined;
  }

  /** The rows from a leaf to the first line. Undefined when a parent is missing. */
  #walk(leaf: number): readonly number[] | undefined {
    const walked: number[] = [];
    const seen = new Uint8Array(this.#rows.length);
    for (let row = leaf; row !== NOWHERE; ) {
      if (row === MISSING) return undefined;
      if (seen[row]) break;
      seen[row] = 1;
      walked.push(row);
      row = this.#above(row);
    }
    return walked;
  }

  /** The parent; at a boundary, the last line before the compaction. */
  #above(row: number): number {
    const parent = this.#rows.get(row, PARENT);
    const next = parent === NOWHERE ? this.#before(row) : parent;
    return this.#replacements.get(next) ?? next;
  }

  /** The line before a line without a parent. A boundary that names none follows the previous line of the file. */
  #before(line: number): number {
    const logical = this.#logicalParents.get(line);
    if (logical !== undefined) return this.#byUuid.get(logical) ?? MISSING;
    if (!this.#is(line, BOUNDARY)) return NOWHERE;
    let row = line - 1;
    while (row >= 0 && !this.#is(row, ELIGIBLE)) row -= 1;
    return row;
  }

  #includeAll(): void {
    for (let row = 0; row < this.#rows.length; row += 1) {
      if (this.#is(row, ELIGIBLE)) this.#mark(row, INCLUDED);
    }
  }

  /** Includes all lines of each answer, all results of its calls, and the prompts typed meanwhile. */
  #includeAnswers(): void {
    const rows = this.#rows;
    const answers = new Uint8Array(this.#answers.length);
    for (let row = 0; row < rows.length; row += 1) {
      const answer = rows.get(row, ANSWER);
      if (answer >= 0 && this.#is(row, INCLUDED)) answers[answer] = 1;
    }
    for (let row = 0; row < rows.length; row += 1) {
      if (!this.#is(row, ELIGIBLE)) continue;
      const answer = rows.get(row, ANSWER);
      const parent = rows.get(row, PARENT);
      const isQueued = this.#is(row, PROMPT) && !this.#is(row, USER);
      const isBelow = isQueued && parent >= 0 && this.#is(parent, INCLUDED);
      if ((answer >= 0 && answers[answer]) || isBelow) this.#mark(row, INCLUDED);
    }
  }

  /** Goes backwards, so that each line knows what follows it. */
  #lookAhead(): void {
    const rows = this.#rows;
    const seen = new Uint8Array(this.#answers.length);
    let next = NOWHERE;
    let prompts = 0;
    for (let row = rows.length - 1; row >= 0; row -= 1) {
      rows.set(row, NEXT, NOWHERE);
      if (!this.#is(row, INCLUDED)) continue;
      const answer = rows.get(row, ANSWER);
      if (answer >= 0 && seen[answer]) this.#mark(row, OPEN);
      if (answer >= 0) seen[answer] = 1;
      if (this.#is(row, ASSISTANT)) {
        next = answer;
        prompts = 0;
      } else if (this.#is(row, PROMPT)) {
        rows.set(row, NEXT, next);
        rows.set(row, PROMPTS, prompts);
        prompts += 1;
      }
    }
  }

  #is(row: number, flag: number): boolean {
    return (this.#rows.get(row, FLAGS) & flag) !== 0;
  }

  #mark(row: number, flag: number): void {
    this.#rows.set(row, FLAGS, this.#rows.get(row, FLAGS) | flag);
  }

  #unmark(row: number, flag: number): void {
    this.#rows.set(row, FLAGS, this.#rows.get(row, FLAGS) & ~flag);
  }
}

/** The most lines between a prompt and the start of its session. */
const HOOKS_MAX = 100;
const IN_GRAPH = new Set(["user", "assistant", "system", "attachment", "progress"]);

/** The lines of who leads a team have the team's name too. */
function isTeammates({ teamName, agentName }: Json): boolean {
  return nameOf(teamName) !== undefined && (nameOf(agentName) ?? LEAD) !== LEAD;
}

const LEAD = "team-lead";
