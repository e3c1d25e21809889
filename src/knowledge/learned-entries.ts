import type { ToolApprovalRequested, ToolApprovalResolved } from "../core/event.ts";
import { jsonText, leavesOf, parsedJson } from "../core/json-values.ts";
import type { Likeness, NewKnowledge } from "../core/knowledge.ts";
import { FORGOTTEN, isRecall } from "../core/message.ts";
import { redactSecrets } from "../secrets/redact-secrets.ts";
import { asciiSet, codesOf, isDigit, isSpace, textOf } from "../text/character-kinds.ts";
import { shapeTags } from "./call-shape.ts";
import { hashOf } from "./hash-of.ts";
import { oneLine } from "./one-line.ts";
import { withoutVolatile } from "./without-volatile.ts";

/** Characters of a result that becomes a fact. */
const RESULT = { min: 10, max: 5000 } as const;
const ARGS_MAX = 200;

/** Tools of rkat whose results are stored elsewhere, or are soon out of date. */
const NOT_RECORDED: ReadonlySet<string> = new Set(["datetime", "update_task"]);

interface ToolSuccess {
  readonly name: string;
  /** `undefined` when the call was not found. */
  readonly args: unknown;
  readonly result: string;
  readonly sessionId: string;
  /** `seq` of the result. */
  readonly seq: number;
  /** Place of the result in a message with several. Missing when it has an event of its own. */
  readonly index?: number;
  /** ISO 8601. */
  readonly time: string;
}

/** The fact, or why there is none. */
type FactOf =
  | { readonly fact: NewKnowledge }
  | { readonly dropped: "not recorded" | "too short" | "too long" | "trivial" | "forgotten" };

/**
 * The fact for a successful tool result of 10 to 5 000 characters.
 *
 * Results with the same text are the same fact, whatever the call. Results of the same call are the
 * same fact when they differ only in numbers, times and ids, or very little.
 */
export function factOf({ name, args, result, sessionId, seq, index, time }: ToolSuccess): FactOf {
  if (isRecall(name) || NOT_RECORDED.has(name)) return { dropped: "not recorded" };
  if (result.includes(FORGOTTEN)) return { dropped: "forgotten" };
  const text = result.trim();
  // A character takes at most two units, so more of them say nothing more.
  const { length } = [...text.slice(0, 2 * RESULT.max + 1)];
  if (length < RESULT.min) return { dropped: "too short" };
  if (length > RESULT.max) return { dropped: "too long" };
  if (isTrivial(text)) return { dropped: "trivial" };
  const content = redactSecrets(text);
  const call = hashOf("call", name, args ?? null);
  const likeness = likenessOf(content, call);
  return {
    fact: {
      id: `fact:${sessionId}:${seq}${index === undefined ? "" : `:${index}`}`,
      kind: "fact",
      content: `Tool '${name}' result: ${content}`,
      tags: ["tool_result", name],
      origin: "tool",
      sessionId,
      source: { from: seq, to: seq },
      time,
      tool: name,
      ...(args === undefined ? {} : { args: oneLine(jsonText(args), ARGS_MAX) }),
      keys: [hashOf("fact", name, content), hashOf("fact", call, withoutVolatile(content))],
      ...(likeness ? { likeness } : {}),
    },
  };
}

const SIGNATURE = 32;
const BANDS = 8;
/** Words of a shingle. */
const SHINGLE = 3;
/** Shorter texts get no sketch. Only equal ones are merged. */
const WORDS_MIN = 12;

/**
 * A sketch of a text by its shingles (MinHash). The share of equal values in two sketches estimates
 * the share of common shingles. Texts that share five of six shingles share a band in 99 of 100 cases.
 */
export function likenessOf(text: string, about: string): Likeness | undefined {
  const words = withoutVolatile(text).split(" ");
  if (words.length < WORDS_MIN) return undefined;
  const signature = new Array<number>(SIGNATURE).fill(0xffffffff);
  for (let index = 0; index + SHINGLE <= words.length; index += 1) {
    const hash = hash32(words.slice(index, index + SHINGLE).join(" "));
    for (let which = 0; which < SIGNATURE; which += 1) {
      const value = mix(hash ^ Math.imul(which + 1, 0x9e3779b1));
      if (value < (signature[which] ?? 0)) signature[which] = value;
    }
  }
  const rows = SIGNATURE / BANDS;
  const bands = Array.from({ length: BANDS }, (_, band) =>
    hashOf(about, band, signature.slice(band * rows, (band + 1) * rows)),
  );
  return { bands, signature };
}

/** FNV-1a. */
function hash32(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}

function mix(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

const SAID_MAX = 500;

interface Denial {
  readonly requested: Pick<ToolApprovalRequested, "name" | "args" | "goal">;
  readonly resolved: Pick<ToolApprovalResolved, "reason">;
  /** Its index among the denials of an imported message. Such a denial is never merged with one that was made here. */
  readonly importedAs?: number;
  /** `seq` of the prompt after it that has the reason. The denial was counted before. */
  readonly explainedAt?: number;
  readonly sessionId: string;
  /** `seq` of the request and of the answer. */
  readonly from: number;
  readonly seq: number;
  /** ISO 8601. */
  readonly time: string;
}

/** The correction for a denial: the denied call, the reason and the user's goal. */
export function correctionOf({
  requested,
  resolved,
  sessionId,
  from,
  seq,
  time,
  importedAs,
  explainedAt,
}: Denial): NewKnowledge {
  const { name, args } = requested;
  const shown = oneLine(jsonText(args), ARGS_MAX);
  const reason = oneLine(resolved.reason ?? "", SAID_MAX);
  const goal = oneLine(requested.goal, SAID_MAX);
  const said = reason === "" ? "The user denied this." : `The user denied this: ${reason}`;
  const isImported = importedAs !== undefined;
  return {
    id: `correction:${sessionId}:${seq}${importedAs ? `:${importedAs}` : ""}`,
    kind: "correction",
    content: [
      `Attempted tool '${name}' with args: ${shown}`,
      said,
      // The prompt of an imported denial is in memory itself, and a copy here would be found in its place.
      ...(goal === "" || isImported ? [] : [`Goal: ${goal}`]),
    ].join("\n"),
    tags: ["correction", name, ...shapeTags(args)],
    origin: isImported ? "imported" : "user",
    sessionId,
    source: { from, to: explainedAt ?? seq },
    ...(explainedAt === undefined ? {} : { count: 0 }),
    time,
    tool: name,
    args: shown,
    ...(reason === "" ? {} : { reason }),
    ...(goal === "" ? {} : { goal }),
    keys: [
      hashOf(
        ...(isImported ? ["imported"] : []),
        "correction",
        name,
        args ?? null,
        reason.toLowerCase(),
      ),
    ],
  };
}

/** A key that ignores case and punctuation. */
export function statementKey(kind: "preference" | "rule" | "fact", text: string): string {
  const words = text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
  return hashOf(kind, words === "" ? text : words);
}

/** The preference for a sentence of a user. */
export function preferenceOf(
  text: string,
  at: {
    readonly sessionId: string;
    readonly seq: number;
    readonly index: number;
    readonly time: string;
    readonly by?: string | undefined;
  },
): NewKnowledge {
  const { sessionId, seq, index, time, by } = at;
  return {
    id: `preference:${sessionId}:${seq}:${index}`,
    kind: "preference",
    content: text,
    tags: ["preference", ...(by === undefined ? [] : [SAID_BY + by])],
    origin: "user",
    sessionId,
    source: { from: seq, to: seq },
    time,
    // Two people may want the same.
    keys: [statementKey("preference", by === undefined ? text : `${by}: ${text}`)],
  };
}

/** The tag of a preference that names who of several people stated it. */
const SAID_BY = "said by ";

export function statedBy({ tags }: Pick<NewKnowledge, "tags">): string | undefined {
  return tags.find((tag) => tag.startsWith(SAID_BY))?.slice(SAID_BY.length);
}

/** Texts that only say that something was done, or that there is nothing. */
const ACKNOWLEDGEMENTS = new RegExp(
  [
    /^(?:ok|okay|done|yes|no|true|false|null|none|nil|nan|undefined|void|empty|pong|ack|acknowledged|n\/?a)$/,
    /^(?:(?:all|the|your|operation|command|request|task|tool|call|file|files|directory|folder|changes?|edit|update|write|script|process|it) )*(?:was |were |has been |have been |is |are )?(?:successful(?:ly)?|succeeded|success|complete[d]?|finished|done|saved|written|created|updated|deleted|removed|applied|executed|ok)(?: successfully| ok| with no output| without errors?)?$/,
    /^(?:successfully )?(?:wrote|saved|created|updated|deleted|removed|applied|edited)(?: # (?:bytes?|lines?|files?))?(?: to)?(?: (?:the )?\S+)?(?: successfully)?$/,
    /^(?:there (?:is|are) )?(?:no|zero|#|0) (?:\w+ )?(?:results?|matches|match|output|files?|entries|items|rows|records|lines|data|changes|hits|content|errors?|warnings?)(?: (?:was|were))?(?: (?:found|returned|available|matched|to show))?$/,
    /^(?:nothing|not)(?: (?:to (?:do|show|commit|report)|found|changed|matched))?(?: working tree clean)?$/,
    /^(?:\(?(?:no|empty) (?:output|result|response|content|list|directory)\)?|total #)$/,
    /^(?:exit(?:ed)?(?: with)?(?: code| status)?|status|return code) ?:? ?#$/,
  ]
    .map(({ source }) => source)
    .join("|"),
);

/** JSON fields with a status, and no content. */
const STATE_FIELDS =
  /^(?:ok|success|succeeded|status|state|result|results|error|errors|message|msg|code|count|total|done|data|items|output|content|exit_?code|stdout|stderr|duration(?:_?ms)?|time|took)$/i;

/** Whether a tool's result teaches nothing: an empty listing, an acknowledgement, punctuation. */
export function isTrivial(result: string): boolean {
  const text = result.trim();
  const json = parsed(text);
  if (json !== undefined) return isEmpty(json);
  return everyLine(text, (line) => isAcknowledgement(line) || isListedDot(line.trim()));
}

function isEmpty(json: unknown): boolean {
  for (const { value, key = "" } of leavesOf(json)) {
    if (typeof value === "number" && !STATE_FIELDS.test(key)) return false;
    if (typeof value === "string" && !isTrivialText(value)) return false;
  }
  return true;
}

function isTrivialText(text: string): boolean {
  return everyLine(text, isAcknowledgement);
}

/** Whether something holds for each line. A line that is repeated is asked about once. */
function everyLine(text: string, holds: (line: string) => boolean): boolean {
  const held = new Set<string>();
  for (let start = 0; start <= text.length; ) {
    const next = text.indexOf("\n", start);
    const end = next < 0 ? text.length : next;
    const line = text.slice(start, end);
    if (!held.has(line) && !holds(line)) return false;
    held.add(line);
    start = end + 1;
  }
  return true;
}

/** Whether a line says that something was done, or nothing. */
function isAcknowledgement(line: string): boolean {
  const words = plainWords(line);
  return !SAYS.test(words) || ACKNOWLEDGEMENTS.test(words);
}

const SAYS = /[\p{L}\p{N}#]/u;

/** A line in small letters, without ticks and punctuation, and with `#` in place of each number. */
function plainWords(line: string): string {
  const codes = codesOf(line.toLowerCase().replace(TICKS, ""));
  let length = 0;
  let isInNumber = false;
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at] as number;
    const wasInNumber = isInNumber;
    isInNumber = isDigit(code);
    if (isInNumber) {
      if (!wasInNumber) codes[length++] = NUMBER;
    } else if (isSpace(code)) {
      if (length > 0 && codes[length - 1] !== SPACE) codes[length++] = SPACE;
    } else if (IS_LEFT_OUT[code] !== 1) codes[length++] = code;
  }
  return textOf(codes, length).trimEnd();
}

const NUMBER = "#".charCodeAt(0);
const SPACE = " ".charCodeAt(0);
const TICKS = /[\u2713\u2714\u2705\u{1f44d}]+/gu;
const IS_LEFT_OUT = asciiSet(/[.!,;"'`*]/);

/** The entries of `ls -la` that every folder has. */
function isListedDot(line: string): boolean {
  return /^d[rwxst-]{9}.* \.{1,2}\/?$/.test(line);
}

function parsed(text: string): unknown {
  return /^[[{"]|^(?:null|true|false)$/.test(text) ? parsedJson(text) : undefined;
}
