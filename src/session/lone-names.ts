import { anchorsIn } from "../compaction/anchors.ts";
import type { DurableEvent, StoredEvent } from "../core/event.ts";
import { FORGOTTEN } from "../core/forgotten.ts";

/**
 * Names and figures that only the forgotten texts of a session have: where a
 * summary says one, it is from there. `log` has what is left of the session.
 */
export async function loneNames(
  forgotten: readonly string[],
  log: AsyncIterable<StoredEvent>,
): Promise<readonly string[]> {
  const names = new Set(forgotten.flatMap((text) => anchorsIn(text)).map(({ text }) => text));
  if (names.size === 0) return [];
  for await (const { event } of log) {
    if (event.type === "compaction_completed") continue;
    const json = JSON.stringify(event);
    for (const name of names)
      if (json.includes(JSON.stringify(name).slice(1, -1))) names.delete(name);
  }
  // A path before the name that it ends with.
  return [...names].sort((one, other) => other.length - one.length);
}

/** A summary, and the report of it, without names. */
export function withoutNames(event: DurableEvent, names: readonly string[]): DurableEvent {
  if (event.type !== "compaction_completed" || names.length === 0) return event;
  const summary = event.summary && names.reduce(withoutName, event.summary);
  const anchors = event.report?.anchors;
  const named = anchors?.names.filter((name) => !names.includes(name)) ?? [];
  if (summary === event.summary && named.length === (anchors?.names.length ?? 0)) return event;
  return {
    ...event,
    summary,
    ...(event.report && anchors
      ? { report: { ...event.report, anchors: { ...anchors, names: named } } }
      : {}),
  };
}

function withoutName(text: string, name: string): string {
  return text.replaceAll(name, (found, at: number) =>
    /\w/.test(`${text[at - 1] ?? " "}${text[at + found.length] ?? " "}`) ? found : FORGOTTEN,
  );
}
