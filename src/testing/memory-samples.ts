import type { MemoryEntry, MemoryQuery, MemoryStore } from "../core/memory-store.ts";

export function entry(id: string, content: string, rest: Partial<MemoryEntry> = {}): MemoryEntry {
  return { id, content, sessionId: "s", turn: 0, kind: "message", ...rest };
}

/** The ids of what a search finds, best first. */
export async function ids(
  store: MemoryStore,
  query: Partial<MemoryQuery> & Pick<MemoryQuery, "query">,
): Promise<string[]> {
  return (await store.search({ limit: 10, ...query })).map(({ id }) => id);
}

export const SCRIPTS: readonly (readonly [text: string, query: string])[] = [
  ["彼女は東京都に住んでいます。", "東京"],
  ["我们把数据库迁移到了上海。", "数据库"],
  ["어제 서울에서 회의를 했습니다.", "서울"],
  ["พรุ่งนี้เราจะไปเชียงใหม่", "เชียงใหม่"],
  ["Вчера мы обновили сервер.", "сервер"],
  ["Το λιμάνι ήταν κλειστό.", "λιμάνι"],
  ["השרת נפל אתמול בלילה", "השרת"],
  ["تعطل الخادم ليلة أمس", "الخادم"],
  ["हमने डेटाबेस बदल दिया", "डेटाबेस"],
  ["Der Schlüssel liegt unter der Fußmatte.", "schlüssel"],
  ["we celebrated with 🎂 and candles", "🎂"],
];
