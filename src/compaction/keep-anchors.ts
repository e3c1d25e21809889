import type { AnchorReport } from "../core/event.ts";
import type { Message } from "../core/message.ts";
import type { AnchorKind } from "./anchor-forms.ts";
import { type Anchor, anchorsIn } from "./anchors.ts";
import { cutEnd, cutToSize, textSize } from "./cut-text.ts";
import { rankAnchors, textsOf } from "./rank-anchors.ts";

/** The line that stands before what is appended to a summary. */
const HEADING = "[Also mentioned, word for word]";

/** The part of a summary's room that is used where the summary leaves it, and that it leaves in any case. */
const ROOM_PART = 1 / 4;
const RESERVED_PART = 1 / 8;

/** However many anchors a discarded part has, no more than these are looked for in the summary. */
const SOUGHT_MAX = 2000;

/** Anchors that a report names. */
const NAMED_MAX = 20;

/**
 * A summary with the anchors of what it stands for that are neither in it nor
 * in what stayed: the weightiest first, as far as there is room.
 *
 *     … and the deployment is next.
 *
 *     [Also mentioned, word for word]
 *     paths: src/server.ts, deploy/staging.yaml
 *     numbers: port 7443, timeout of 30 s
 *
 * It takes `bytesMax` at the most, as JSON. The same input gives the same text.
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

/** Bytes that the anchors of a discarded part would like to have, if nothing else says them. */
export function anchorBytes(source: Parameters<typeof keepAnchors>[1], bytesMax: number): number {
  return textSize(keepAnchors("", source, bytesMax).text);
}

/** A summary as it was written, without what was appended to it. */
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

/** As many as fit into `room` bytes of JSON, with their headings. */
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
