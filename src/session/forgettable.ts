import type { EventStore } from "../core/event-store.ts";
import { isForgotten } from "../core/forgotten.ts";
import type { MemoryEntry, MemoryStore } from "../core/memory-store.ts";
import { indexableText } from "../core/message.ts";
import { MessageAssembler } from "../core/message-assembler.ts";

const PAGE = 500;

export type WhatToForget = { readonly ids: readonly string[] } | { readonly sessionId: string };

/** An entry, or a message that is named as its entry would be and is not in memory yet. */
export type Forgettable = Pick<MemoryEntry, "id" | "content" | "sessionId" | "source">;

/** What there is of what shall be forgotten. */
export async function forgettable(
  what: WhatToForget,
  { memory, events }: { readonly memory: MemoryStore | undefined; readonly events: EventStore },
): Promise<readonly Forgettable[]> {
  if ("sessionId" in what) {
    return memory ? await Array.fromAsync(entriesOfSession(what.sessionId, memory)) : [];
  }
  const ids = [...new Set(what.ids)];
  const entries = (await memory?.read(ids)) ?? [];
  const known = new Set(entries.map(({ id }) => id));
  const missing = ids.filter((id) => !known.has(id));
  const messages = await Promise.all(missing.map((id) => messageOf(id, events)));
  return [...entries, ...messages.filter((message) => message !== undefined)];
}

async function* entriesOfSession(
  sessionId: string,
  memory: MemoryStore,
): AsyncIterable<Forgettable> {
  for (let after: string | undefined; ; ) {
    const place = after === undefined ? {} : { after };
    const page = await memory.list({ sessionId, limit: PAGE, ...place });
    yield* page;
    after = page.at(-1)?.id;
    if (after === undefined) return;
  }
}

async function messageOf(id: string, events: EventStore): Promise<Forgettable | undefined> {
  const [, sessionId = "", place = ""] = /^(.+):(\d+)$/s.exec(id) ?? [];
  const assembler = new MessageAssembler();
  for await (const stored of events.read(sessionId, 0, Number(place))) {
    const message = assembler.push(stored);
    if (message?.id !== Number(place)) continue;
    const content = indexableText(message.message);
    if (content.trim() === "" || isForgotten(content)) return undefined;
    return { id, content, sessionId, source: { from: message.from, to: message.id } };
  }
  return undefined;
}
