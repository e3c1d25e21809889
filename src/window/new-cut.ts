import type { CompactHistoryResult } from "../compaction/compact-history-result.ts";
import { given } from "../core/fields.ts";
import { isSummary, SUMMARY_PREFIX } from "../core/message.ts";
import type { KeptOutput } from "../core/tokens.ts";
import type { HostReader } from "./host-reader.ts";
import { chained } from "./message-keys.ts";
import type { Sent, SentHistory } from "./sent-history.ts";
import { addToUnits, messageOf, type Unit } from "./units.ts";
import { type AddedCut, type Cut, isSummarySlot, type RecordedMessage } from "./window-record.ts";

/** The result of a compaction that changed the history. */
export type Changed = Exclude<CompactHistoryResult, { outcome: "unchanged" }>;

/** A compaction that is not yet in force. */
export interface NewCut<HostMessage> extends AddedCut {
  readonly sent: readonly Sent<HostMessage>[];
}

/** The history that a compaction was made of. */
interface Source<HostMessage extends object> {
  readonly reader: HostReader<HostMessage>;
  readonly sent: SentHistory<HostMessage>;
  /** The compaction before it. */
  readonly last: Cut | undefined;
}

/** The cut that a compaction makes in a history. */
export function newCut<HostMessage extends object>(
  result: Changed,
  source: Source<HostMessage>,
): NewCut<HostMessage> {
  const { reader, sent, last } = source;
  const { head, end } = headOf(result, source);
  const length = sent
    .between(0, end)
    .reduce((most, { slot }) => Math.max(most, slot.at + 1), last?.length ?? 0);
  const { marks, messages } = since(length, source);
  const cut: Cut = {
    length,
    mark: marks.at(-1) ?? last?.mark ?? "",
    head: head.map(({ slot }) => slot),
    headMark: head.reduce((mark, { message }) => chained(mark, reader.keyOf(message)), ""),
  };
  return { cut, last, messages, sent: [...head, ...sent.between(end)] };
}

/** The sent messages up to the last one that a compaction changes, as they are after it, and the end of that part. */
function headOf<HostMessage extends object>(
  result: Changed,
  { reader, sent, last: before }: Source<HostMessage>,
) {
  const { discarded, pruned, summary } = result;
  const made = result.outcome === "compacted" ? result.item : undefined;
  const item = made ?? itemOf(sent);
  const left = new Set(discarded.map(({ index }) => index));
  const outputs = Map.groupBy(pruned, ({ index }) => index);
  const last = Math.max(discarded.at(-1)?.index ?? -1, pruned.at(-1)?.index ?? -1);
  const place = discarded[0]?.index;
  const head: Sent<HostMessage>[] = [];
  for (const [index, { from, to }] of sent.units.slice(0, last + 1).entries()) {
    if (index === place && summary !== null) {
      const message = reader.summary(SUMMARY_PREFIX + summary);
      const slot = { at: -1, summary, key: reader.keyOf(message), ...given({ item }) } as const;
      head.push({ message, slot, offeredAt: -1 });
    }
    if (left.has(index)) continue;
    const shorter = outputs.get(index) ?? [];
    head.push(...sent.between(from, to).map((each) => shortenedIn(each, shorter, reader)));
  }
  const changed = sent.units[last]?.to ?? 0;
  // The new head stands for all that the head before it stood for, and for all that an item was made of.
  const end = made ? sent.messages.length : Math.max(changed, before?.head.length ?? 0);
  return { head: [...head, ...sent.between(changed, end)], end };
}

/** The item that an earlier compaction put beside the summary: it stays beside the next one. */
function itemOf<HostMessage extends object>(sent: SentHistory<HostMessage>) {
  if (!sent.item) return undefined;
  const { place: _, ...item } = sent.item;
  return item;
}

/** A sent message with those of the outputs shortened that it has. */
function shortenedIn<HostMessage extends object>(
  sent: Sent<HostMessage>,
  outputs: readonly KeptOutput[],
  reader: HostReader<HostMessage>,
): Sent<HostMessage> {
  const { message, slot, offeredAt } = sent;
  const ids = new Set(reader.resultsOf(message).map(({ tool_use_id }) => tool_use_id));
  const own = outputs
    .filter(({ toolUseId }) => ids.has(toolUseId))
    .map(({ toolUseId, keptBytes }) => ({ toolUseId, keptBytes }));
  if (own.length === 0 || isSummarySlot(slot)) return sent;
  return {
    message: reader.withShortened(message, own),
    slot: { at: slot.at, outputs: [...(slot.outputs ?? []), ...own] },
    offeredAt,
  };
}

/** The messages after the last compaction up to a length of the whole history, and their keys. */
function since<HostMessage extends object>(
  length: number,
  { reader, sent, last }: Source<HostMessage>,
) {
  const first = last?.head.length ?? 0;
  const hosts = sent.messages.slice(first, first + length - (last?.length ?? 0));
  const marks: string[] = [];
  const units: Unit[] = [];
  for (const host of hosts) {
    marks.push(chained(marks.at(-1) ?? last?.mark ?? "", reader.keyOf(host)));
    addToUnits(units, reader.read(host));
  }
  const messages = units.flatMap((unit): RecordedMessage[] => {
    const mark = marks[unit.to - 1] ?? "";
    const message = messageOf(unit);
    const key = reader.keyOfAll(hosts.slice(unit.from, unit.to));
    return unit.pieces.length === 0 || isSummary(message)
      ? []
      : [{ kind: "message", mark, key, message, ...given({ speaker: unit.speaker }) }];
  });
  return { marks, messages };
}
