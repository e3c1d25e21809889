import type { AnchorReport } from "../core/event.ts";
import { textsIn } from "../core/json-values.ts";
import { indexableText, isSummary, type Message, toolResults, toolUses } from "../core/message.ts";
import type { AnchorKind } from "./anchor-forms.ts";
import { type Anchor, anchorsIn } from "./anchors.ts";
import { cutEnd, cutToSize, textSize } from "./cut-text.ts";
import { TIME } from "./named-value.ts";
import { summaryWords, userText } from "./render-transcript.ts";

/** The heading of the anchors appended to a summary. */
const HEADING = "[Also mentioned, word for word]";

/** The share of a summary's room for anchors: used if the summary leaves it, and always left by the summary. */
const ROOM_PART = 1 / 4;
const RESERVED_PART = 1 / 8;

/** The most anchors of a discarded part that are looked for in the summary. */
const SOUGHT_MAX = 2000;

/** Anchors that a report names. */
const NAMED_MAX = 20;

/**
 * A summary followed by the anchors of the discarded messages that neither it nor
 * the retained messages have: the weightiest first, until the room is full.
 *
 *     … and the deployment is next.
 *
 *     [Also mentioned, word for word]
 *     paths: src/server.ts, deploy/staging.yaml
 *     numbers: port 7443, timeout of 30 s
 *
 * It takes at most `bytesMax`, as JSON. The same input gives the same text.
 */
export function keepAnchors(
  summary: string,
  source: { readonly discarded: readonly Message[]; readonly retained: readonly Message[] },
  bytesMax: number,
): { readonly text: string; readonly report: AnchorReport } {
  const kept = anchorsOf(source.retained);
  const ranked = rankAnchors(source.discarded);
  const missing = ranked.filter(({ text }) => !kept.has(text));
  const lost = missing.slice(0, SOUGHT_MAX).filter(({ text }) => !mentions(summary, text));
  const room = Math.max(
    Math.min(bytesMax - textSize(summary), Math.floor(bytesMax * ROOM_PART)),
    Math.floor(bytesMax * RESERVED_PART),
  );
  const appended = fitting(lost, room);
  const section = sectionOf(appended);
  const said = cutToSize(bytesMax - textSize(section), (bytes) => cutEnd(summary, bytes));
  const isAppended = new Set(appended);
  const gone = missing.filter(
    (anchor, rank) =>
      !isAppended.has(anchor) && (rank >= SOUGHT_MAX || !mentions(said, anchor.text)),
  );
  return {
    text: said + section,
    report: {
      found: ranked.length,
      in_history: ranked.length - missing.length,
      in_summary: missing.length - appended.length - gone.length,
      appended: appended.length,
      only_in_memory: gone.length,
      names: gone.slice(0, NAMED_MAX).map(({ text }) => text),
    },
  };
}

/** Bytes that the anchors of a discarded part need, if no other text has them. */
export function anchorBytes(source: Parameters<typeof keepAnchors>[1], bytesMax: number): number {
  return textSize(keepAnchors("", source, bytesMax).text);
}

/** A summary as it was written, without the appended anchors. */
export function withoutAnchors(summary: string): string {
  const at = summary.lastIndexOf(`\n\n${HEADING}\n`);
  return at < 0 ? summary : summary.slice(0, at);
}

function anchorsOf(messages: readonly Message[]): ReadonlySet<string> {
  const anchors = messages.flatMap(textsOf).flatMap(({ text }) => anchorsIn(text));
  return new Set(anchors.map(({ text }) => text));
}

/** Whether a text has the anchor, and not only as a part of a longer word. */
export function mentions(text: string, anchor: string): boolean {
  for (let at = text.indexOf(anchor); at >= 0; at = text.indexOf(anchor, at + 1)) {
    const around = `${text[at - 1] ?? " "}${text[at + anchor.length] ?? " "}`;
    if (!/\w/.test(around)) return true;
  }
  return false;
}

/** The anchors that fit into `room` bytes of JSON, with their headings. */
function fitting(anchors: readonly Anchor[], room: number): Anchor[] {
  let left = room - textSize(`\n\n${HEADING}`);
  const kinds = new Set<AnchorKind>();
  return anchors.filter(({ kind, shown }) => {
    const bytes = textSize(`${shown}, `) + (kinds.has(kind) ? 0 : textSize(`\n${kind}: `));
    if (bytes > left) return false;
    left -= bytes;
    kinds.add(kind);
    return true;
  });
}

function sectionOf(anchors: readonly Anchor[]): string {
  if (anchors.length === 0) return "";
  const lines = [...Map.groupBy(anchors, ({ kind }) => kind)].map(
    ([kind, some]) => `\n${kind}: ${some.map(({ shown }) => shown).join(", ")}`,
  );
  return `\n\n${HEADING}${lines.join("")}`;
}

/** The weight of one mention. A tool's listing names many things that no one talks about. */
const WEIGHTS = { user: 2, assistant: 1.5, call: 1, summary: 1, result: 0.5 } as const;

/** A path says more than a number does. */
const KIND_WEIGHTS: Readonly<Record<AnchorKind, number>> = {
  paths: 1.2,
  errors: 1.2,
  links: 1,
  names: 1,
  numbers: 0.7,
};

/** The anchors of messages, each once. Anchors mentioned often, late and by people come first. */
export function rankAnchors(messages: readonly Message[]): readonly Anchor[] {
  const found = new Map<string, { readonly anchor: Anchor; weight: number; last: number }>();
  messages.forEach((message, index) => {
    for (const { text, weight } of textsOf(message)) {
      const anchors = anchorsIn(text);
      for (const anchor of isOutput(weight) ? ofOutput(anchors) : anchors) {
        // A bare number says nothing to a reader.
        if (anchor.kind === "numbers" && !anchor.value) continue;
        const known = found.get(anchor.text) ?? { anchor, weight: 0, last: 0 };
        known.weight += weight;
        known.last = index;
        found.set(anchor.text, known);
      }
    }
  });
  const score = ({ anchor, weight, last }: { anchor: Anchor; weight: number; last: number }) =>
    Math.log2(1 + weight) * (0.5 + last / messages.length) * KIND_WEIGHTS[anchor.kind];
  // Sorting is stable: of equals, the one mentioned first comes first.
  return [...found.values()]
    .map((each) => ({ anchor: each.anchor, score: score(each) }))
    .sort((one, other) => other.score - one.score)
    .map(({ anchor }) => anchor);
}

function isOutput(weight: number): boolean {
  return weight === WEIGHTS.result || weight === WEIGHTS.call;
}

/** A key that stands in one output more often is a column of a listing. */
const MENTIONS_OF_KEY_MAX = 3;

/**
 * The anchors of what a tool was given or wrote. Most numbers in it are the places of lines, sizes of files
 * and times of a log. Those that count stand beside their key, which has not a value in each line.
 */
function ofOutput(anchors: readonly Anchor[]): readonly Anchor[] {
  const mentioned = new Map<string, number>();
  for (const { value } of anchors) {
    if (value?.key !== undefined) mentioned.set(value.key, (mentioned.get(value.key) ?? 0) + 1);
  }
  return anchors.filter(({ kind, text, value }) => {
    if (kind === "names") return !CODE.test(text);
    if (kind === "paths") return !DIFF_SIDE.test(text);
    if (kind !== "numbers") return true;
    const count = mentioned.get(value?.key ?? "") ?? 0;
    return count > 0 && count <= MENTIONS_OF_KEY_MAX && !TIME.test(text);
  });
}

/** Names that say nothing outside of the code or the command that they stand in: hashes, flags, `row.id`. */
const CODE = /^(?:[0-9a-f]{7,40}|--[\w-]+|\w{1,3}\.\w+(?:\(\))?|\w+_)$/;

/** `a/src/main.ts` of a diff. The file is named in other places too. */
const DIFF_SIDE = /^[ab]\/\w/;

/** The texts of a message, with the weight of a mention in each. Reasoning does not count. */
export function textsOf(
  message: Message,
): readonly { readonly text: string; readonly weight: number }[] {
  if (isSummary(message)) return [{ text: summaryWords(message), weight: WEIGHTS.summary }];
  if (message.role === "system") return [{ text: message.content, weight: WEIGHTS.user }];
  if (message.role === "user") {
    return [{ text: userText(message.content), weight: WEIGHTS.user }];
  }
  return [
    { text: indexableText(message), weight: WEIGHTS.assistant },
    ...toolUses(message).flatMap(({ args }) =>
      textsIn(args).map((text) => ({ text, weight: WEIGHTS.call })),
    ),
    ...toolResults(message).map(({ content }) => ({ text: content, weight: WEIGHTS.result })),
  ];
}
