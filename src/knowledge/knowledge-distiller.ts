import { z } from "zod";
import type { Contradiction, KnowledgeEntry, NewKnowledge } from "../core/knowledge.ts";
import { areBothKept } from "../core/memory-store.ts";
import { group, requireOptions, whole } from "../core/options.ts";
import { areApart } from "../core/speaker-name.ts";
import { type ArgumentShape, CHANGED_WORD, shapeOfTags, sharedShape } from "./call-shape.ts";
import { contradicts, statementOf } from "./contradicts.ts";
import { hashOf } from "./hash-of.ts";
import { bySupport } from "./knowledge-addendum.ts";
import { isWithdrawal } from "./lasting-wishes.ts";
import { statedBy, statementKey } from "./learned-entries.ts";
import { oneLine } from "./one-line.ts";

/** The entries that rules are made from, newest first. */
export interface Evidence {
  readonly corrections: readonly KnowledgeEntry[];
  readonly preferences: readonly KnowledgeEntry[];
  /** Rules that are there already: written by hand, or made by a model. */
  readonly rules: readonly KnowledgeEntry[];
}

export interface DistillerOptions {
  /** Rules at most, including those written by hand. Default 20. */
  readonly maxRules?: number;
  /** Corrections and preferences needed before rules are made. Default 1. */
  readonly minEntries?: number;
}

export interface Distilled {
  readonly rules: readonly NewKnowledge[];
  readonly contradictions: readonly Contradiction[];
}

/** Entries that are compared with each other. Older ones make no rules. */
const COMPARED_MAX = 300;
/** Calls that a rule names, where they share nothing. */
const CALLS_MAX = 3;
const RULE_MAX = 400;

/**
 * Makes rules without a model:
 *
 *     corrections ─► grouped by tool and reason ─► what the refused calls share ────┐
 *     preferences ─► as the user said them ────────────────────────────────────────┼─► those heard most
 *     rules of a model, as long as their sources hold ─────────────────────────────┘
 *
 * When two of one person contradict each other, the newer one holds. A rule has the user's words (with the name, in a chat
 * of several people), the name of a tool and names of arguments, and nothing else. So a tool's output or a document cannot make one.
 * The same evidence always gives the same rules.
 */
export class KnowledgeDistiller {
  readonly #maxRules: number;
  readonly #minEntries: number;

  /** @throws SessionError `INVALID_PARAMS` */
  constructor(options: DistillerOptions = {}) {
    const checks = { maxRules: whole(0), minEntries: whole(0) };
    requireOptions("KnowledgeDistiller", group(checks), options);
    const { maxRules = 20, minEntries = 1 } = options;
    this.#maxRules = maxRules;
    this.#minEntries = minEntries;
  }

  distill({ corrections, preferences, rules }: Evidence): Distilled {
    const heard = [...corrections, ...preferences];
    if (heard.length < this.#minEntries) return { rules: [], contradictions: [] };
    const { held, contradictions } = withoutContradicted(heard);
    const byId = new Map(held.map((entry) => [entry.id, entry]));
    const kept = rules.filter((rule) => isMadeByModel(rule) && stands(rule, byId));
    const covered = new Set(kept.flatMap(({ sources = [] }) => sources));
    const left = held.filter(({ id }) => !covered.has(id));
    const made = [
      ...kept.map(asNew),
      ...correctionRules(left.filter(({ kind }) => kind === "correction")),
      ...left
        .filter(({ kind, content }) => kind === "preference" && !isWithdrawal(content))
        .map(preferenceRule),
    ];
    const byHand = rules.filter(({ origin }) => origin === "added").length;
    const room = Math.max(0, this.#maxRules - byHand);
    return { rules: made.sort(bySupport).slice(0, room), contradictions };
  }
}

/** The order of what was heard last, latest first. Within a millisecond ids say what was added later. */
export function latestFirst(
  one: Pick<KnowledgeEntry, "lastTime" | "id">,
  other: Pick<KnowledgeEntry, "lastTime" | "id">,
): number {
  const [left, right] =
    one.lastTime === other.lastTime ? [one.id, other.id] : [one.lastTime, other.lastTime];
  return left < right ? 1 : left > right ? -1 : 0;
}

function isMadeByModel({ tags }: Pick<KnowledgeEntry, "tags">): boolean {
  return tags.includes("model");
}

function withoutContradicted(entries: readonly KnowledgeEntry[]) {
  const contradictions: Contradiction[] = [];
  const held: { readonly entry: KnowledgeEntry; readonly said: ReturnType<typeof statementOf> }[] =
    [];
  for (const entry of entries.toSorted(latestFirst).slice(0, COMPARED_MAX)) {
    const said = statementOf(entry.reason ?? (entry.kind === "preference" ? entry.content : ""));
    const newer = held.find(
      (other) =>
        !entry.pinned &&
        contradicts(other.said, said) &&
        !areBothKept(other.entry, entry) &&
        !areApart(statedBy(other.entry), statedBy(entry)),
    );
    if (newer) contradictions.push({ kept: textOf(newer.entry), dropped: textOf(entry) });
    else held.push({ entry, said });
  }
  return { held: held.map(({ entry }) => entry), contradictions };
}

function textOf({ id, kind, content, reason }: KnowledgeEntry) {
  return { id, content: kind === "correction" ? (reason ?? content) : content };
}

/** Whether all sources of a rule still hold, and none was heard again since. */
function stands(rule: KnowledgeEntry, byId: ReadonlyMap<string, KnowledgeEntry>): boolean {
  const { sources = [], lastTime } = rule;
  return (
    sources.length > 0 && sources.every((id) => (byId.get(id)?.lastTime ?? "\uffff") <= lastTime)
  );
}

function asNew(rule: KnowledgeEntry): NewKnowledge {
  const { lastTime, edited: _, usedAt: __, ...rest } = rule;
  return { ...rest, time: lastTime, keys: [hashOf("rule", rest.id, ...(rest.sources ?? []))] };
}

function preferenceRule(entry: KnowledgeEntry): NewKnowledge {
  const by = statedBy(entry);
  const text = by === undefined ? entry.content : `${by}: ${entry.content}`;
  return rule(`preference ${entry.id}`, oneLine(text, RULE_MAX), [entry]);
}

/**
 * One rule for each reason, for what the refused calls share. Calls that share nothing are named each:
 *
 *     npm install, npm test       "use pnpm"   shell (command "npm…")
 *     edit a.json, edit b.json    "use pnpm"   edit_file (path "a.json") or edit_file (path "b.json")
 *
 * A refusal without a reason says nothing of other calls. Only a second one of the same call makes a rule.
 */
function correctionRules(corrections: readonly KnowledgeEntry[]): readonly NewKnowledge[] {
  const groups = Map.groupBy(corrections, ({ tool, reason, tags }) =>
    reason === undefined
      ? `call ${tool} ${JSON.stringify(shapeOfTags(tags))}`
      : `call ${tool} because ${statementKey("rule", reason)}`,
  );
  return [...groups].flatMap(([subject, entries]) => {
    const isOne = entries[0]?.reason === undefined && refusals(entries) < 2;
    return isOne ? [] : [rule(subject, correctionText(entries), entries)];
  });
}

function refusals(entries: readonly KnowledgeEntry[]): number {
  return entries.reduce((sum, { count }) => sum + count, 0);
}

function correctionText(entries: readonly KnowledgeEntry[]): string {
  const count = refusals(entries);
  const times = count > 1 ? ` ${count} times` : "";
  const calls = callsText(entries);
  const reason = entries[0]?.reason;
  if (reason === undefined) {
    return `Ask before you call ${calls}: the user refused this${times} and gave no reason.`;
  }
  const said = oneLine(reason, Math.max(40, RULE_MAX - calls.length - 100));
  return `When you are about to call ${calls}: the user refused this${times}, saying "${said}".`;
}

function callsText(entries: readonly KnowledgeEntry[]): string {
  const shapes = entries.map(({ tags }) => shapeOfTags(tags));
  const isNamed = (shape: readonly ArgumentShape[]) =>
    shape.some(({ value }) => value !== undefined);
  const shared = sharedShape(shapes);
  if (isNamed(shared) || !shapes.every(isNamed)) return callText(entries, shared);
  const each = [...new Set(entries.map((entry) => callText([entry], shapeOfTags(entry.tags))))];
  const more = each.length > CALLS_MAX ? " and others" : "";
  return each.slice(0, CALLS_MAX).join(" or ") + more;
}

function callText(entries: readonly KnowledgeEntry[], shape: readonly ArgumentShape[]): string {
  const shown = shape.flatMap(({ name, value }) => {
    if (value === undefined) return [];
    const isPart =
      name !== CHANGED_WORD && entries.some((entry) => argumentOf(entry, name) !== value);
    return [`${name} "${value}${isPart ? "…" : ""}"`];
  });
  return `${entries[0]?.tool}${shown.length === 0 ? "" : ` (${shown.join(", ")})`}`;
}

/** An argument of a denied call; undefined when the call was too long to be kept whole. */
function argumentOf({ args = "" }: KnowledgeEntry, name: string): string | undefined {
  try {
    const value: unknown = JSON.parse(args)[name];
    return typeof value === "string" ? value.trim() : undefined;
  } catch {
    return undefined;
  }
}

function rule(subject: string, content: string, entries: readonly KnowledgeEntry[]): NewKnowledge {
  const sources = entries.map(({ id }) => id);
  const times = entries.map(({ lastTime }) => lastTime).sort();
  const tool = entries[0]?.tool;
  return {
    id: `rule:${hashOf(subject)}`,
    kind: "rule",
    content,
    tags: ["rule", ...(tool === undefined ? [] : [tool])],
    origin: "distilled",
    time: times.at(-1) ?? "",
    count: refusals(entries),
    pinned: entries.some(({ pinned }) => pinned),
    sources,
    ...(tool === undefined ? {} : { tool }),
    // A forgotten rule comes back when there is new evidence for it.
    keys: [hashOf("rule", subject, sources[0], times.at(-1))],
  };
}

/** Sends a prompt to a model and returns its answer. */
export type AskModel = (prompt: string) => Promise<string>;

const EVIDENCE_MAX = 200;

const answer = z.array(z.object({ rule: z.string(), sources: z.array(z.string()).min(1) }));

/**
 * Asks a model to make the rules. It sees the user's words and the kinds of calls, but no tool
 * results. Each rule must name its sources.
 *
 * @throws Error when the answer has another form.
 */
export async function distillWithModel(
  evidence: readonly KnowledgeEntry[],
  maxRules: number,
  ask: AskModel,
): Promise<readonly NewKnowledge[]> {
  const shown = evidence.slice(0, EVIDENCE_MAX);
  const byId = new Map(shown.map((entry, index) => [`e${index + 1}`, entry]));
  const reply = await ask(promptFor(byId, maxRules));
  const found = answer.parse(JSON.parse(jsonIn(reply)));
  const made = found.slice(0, maxRules).flatMap(({ rule, sources }) => {
    const entries = [...new Set(sources)].flatMap((name) => byId.get(name) ?? []);
    const content = oneLine(rule, RULE_MAX);
    return entries.length === 0 || content === "" ? [] : [{ content, entries }];
  });
  const known = new Map<string, number>();
  return made.map(({ content, entries }) => {
    const sources = sourcesOf(entries);
    const nth = known.get(sources.join()) ?? 0;
    known.set(sources.join(), nth + 1);
    return ruleOf(content, entries, nth);
  });
}

function sourcesOf(entries: readonly KnowledgeEntry[]): readonly string[] {
  return entries.map(({ id }) => id).sort();
}

function promptFor(byId: ReadonlyMap<string, KnowledgeEntry>, maxRules: number): string {
  const lines = [...byId].map(([name, entry]) =>
    JSON.stringify({
      name,
      said: entry.reason ?? (entry.kind === "preference" ? entry.content : null),
      ...(entry.tool === undefined
        ? {}
        : { refused_call: { tool: entry.tool, arguments: shapeOfTags(entry.tags) } }),
      times: entry.count,
      last: entry.lastTime.slice(0, 10),
    }),
  );
  return `Below is what the user of a project said to an agent, and which of its tool calls they refused, newest first, one JSON object per line. Write short rules for the agent to follow in later sessions. Merge statements that say the same. If two contradict each other, follow the newer one. Leave out what applied only once. Write at most ${maxRules} rules, each one sentence, in the user's language. Add nothing that the user did not say.

Answer with a JSON array and nothing else: [{"rule": "…", "sources": ["e1", "e4"]}]

${lines.join("\n")}`;
}

function jsonIn(reply: string): string {
  return reply.slice(reply.indexOf("["), reply.lastIndexOf("]") + 1);
}

/** `nth` counts the rules that a model made of the same entries, from 0. */
function ruleOf(content: string, entries: readonly KnowledgeEntry[], nth: number): NewKnowledge {
  const sources = entries.map(({ id }) => id);
  const time =
    entries
      .map(({ lastTime }) => lastTime)
      .sort()
      .at(-1) ?? "";
  const id = `rule:${hashOf("model", ...sourcesOf(entries), ...(nth > 0 ? [nth] : []))}`;
  return {
    id,
    kind: "rule",
    content,
    tags: ["rule", "model"],
    origin: "distilled",
    time,
    count: entries.reduce((sum, entry) => sum + entry.count, 0),
    sources,
    keys: [hashOf("rule", id, time)],
  };
}
