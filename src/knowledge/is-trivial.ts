import { leavesOf } from "../core/json-values.ts";
import { asciiSet, codesOf, isDigit, isSpace, textOf } from "../text/character-codes.ts";

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
  if (!/^[[{"]|^(?:null|true|false)$/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
