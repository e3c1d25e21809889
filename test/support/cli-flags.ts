export type Params = Readonly<Record<string, unknown>>;

/**
 * A request that no command line can express: arguments are always text, so a
 * name cannot be a number, and some fields have no flag.
 */
export class Unsayable extends Error {
  override readonly name = "Unsayable";
}

/** A request's fields as flags. An unknown field becomes an unknown flag. */
export function flagsOf(params: Params): string[] {
  return Object.entries(params).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const flag = `--${(NAMES[name] ?? name).replaceAll("_", "-")}`;
    switch (KINDS[name]) {
      case "fields":
        return flagsOf(objectOf(value));
      case "each":
        if (!Array.isArray(value)) throw new Unsayable(name);
        return value.map((item) => `${flag}=${item}`);
      case "pairs":
        return Object.entries(objectOf(value)).map(
          ([key, item]) => `${flag}=${key}=${textOf(item)}`,
        );
      case "repeated":
        return [value].flat().map((item) => `${flag}=${textOf(item)}`);
      case "switch":
        return switchOf(value) ? [flag] : [];
      case "switch, with its opposite":
        return [switchOf(value) ? flag : `--no-${name}`];
      case "number":
        return [`${flag}=${numberOf(value)}`];
      case "json":
        return [`${flag}=${JSON.stringify(value)}`];
      case "no flag":
        throw new Unsayable(name);
      default:
        return [`${flag}=${textOf(value)}`];
    }
  });
}

/** Flags with another name than their field. */
const NAMES: Readonly<Record<string, string>> = {
  labels: "label",
  include_archived: "all",
  approvals: "approval",
  tags: "tag",
  session_id: "session",
  notes: "note",
  open_files: "open-file",
  close_files: "close-file",
  before_seq: "before",
  after_seq: "after",
};

type Kind =
  | "fields"
  | "pairs"
  | "repeated"
  | "each"
  | "switch"
  | "switch, with its opposite"
  | "number"
  | "json"
  | "no flag";

/** Fields that are not plain text. */
const KINDS: Readonly<Record<string, Kind>> = {
  budget: "fields",
  compaction: "fields",
  labels: "pairs",
  source: "json",
  notes: "pairs",
  add: "each",
  done: "each",
  reopen: "each",
  drop: "each",
  open_files: "each",
  close_files: "each",
  memory: "switch, with its opposite",
  include_archived: "switch",
  deleted: "switch",
  marked: "switch",
  now: "switch",
  redo: "switch",
  before_seq: "number",
  after_seq: "number",
  event: "number",
  turn: "number",
  pin: "switch",
  leave_out: "each",
  approvals: "pairs",
  knowledge: "switch, with its opposite",
  tags: "each",
  pinned: "switch",
  max_tokens: "number",
  max_total_tokens: "number",
  max_tool_calls: "number",
  auto_compact_threshold: "number",
  recent_turn_budget: "number",
  max_summary_tokens: "number",
  min_turns_between_compactions: "number",
  window_size: "number",
  limit: "number",
  from_turn: "number",
  to_turn: "number",
  max_duration_ms: "no flag",
  max_model_calls: "no flag",
  origin: "no flag",
  context: "no flag",
  offset: "number",
  id_prefix: "no flag",
  query: "repeated",
  id: "repeated",
  min_score: "number",
  neighbours: "number",
  explain: "switch",
};

/** A positional argument; none when the field is not given. */
export function wordsOf(value: unknown): string[] {
  return value === undefined ? [] : [textOf(value)];
}

export function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  throw new Unsayable(JSON.stringify(value));
}

export function objectOf(value: unknown): Params {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Params;
  throw new Unsayable(JSON.stringify(value));
}

export function numberOf(value: unknown): number {
  if (typeof value === "number") return value;
  throw new Unsayable(JSON.stringify(value));
}

function switchOf(value: unknown): boolean {
  if (typeof value === "boolean") return value;
  throw new Unsayable(JSON.stringify(value));
}
