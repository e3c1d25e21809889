import { join } from "node:path";
import type { MemoryEntry } from "rkat";
import { sqliteStores } from "rkat/sqlite";
import type { SayProgress } from "../bench.ts";
import { below, type Random, randomFrom } from "../data/random.ts";
import { median } from "../measuring.ts";
import { LANGUAGES } from "./languages.ts";

export interface LanguageSpeed {
  readonly language: string;
  /** Of UTF-8, indexed and on the disk, by processor time: other load on the machine does not count. */
  readonly megabytesPerSecond: number;
  /** Of a question of three words, processor time. */
  readonly questionMs: number;
}

const BATCH = 200;
const QUESTIONS = 40;
const WORDS = 60;

/** Indexes made-up text of each language in a store of its own, and asks questions about it. */
export async function languagesTask(
  { folder, bytes }: { readonly folder: string; readonly bytes: number },
  say: SayProgress,
): Promise<readonly LanguageSpeed[]> {
  const speeds: LanguageSpeed[] = [];
  // The first one pays for the program's start.
  for (const [at, [language, text]] of [
    ["", LANGUAGES.English ?? ""] as const,
    ...Object.entries(LANGUAGES),
  ].entries()) {
    await say(language);
    const entries = entriesOf(text, bytes, randomFrom(at));
    const stores = sqliteStores({ path: join(folder, `${at}.db`), thread: "main" });
    let ms = 0;
    for (let start = 0; start < entries.length; start += BATCH) {
      ms += await processorMs(() => stores.memory.add(entries.slice(start, start + BATCH)));
    }
    const asked: number[] = [];
    for (let nth = 0; nth < QUESTIONS; nth += 1) {
      const query = questionOf(entries[(nth * 7) % entries.length]?.content ?? "");
      asked.push(await processorMs(() => stores.memory.search({ query, limit: 10 })));
    }
    await stores.close();
    const size = entries.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0);
    if (language === "") continue;
    speeds.push({
      language,
      megabytesPerSecond: size / 1e3 / ms,
      questionMs: median(asked),
    });
  }
  return speeds;
}

async function processorMs(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** Texts of about sixty words. The longer words of the sample are mixed, so that there are as many as a language has. */
function entriesOf(sample: string, bytes: number, random: Random): readonly MemoryEntry[] {
  const isSpaced = sample.split(" ").length > sample.length / 15;
  const parts = isSpaced ? sample.split(/[\s.,]+/).filter(Boolean) : [...sample.replace(/\s/g, "")];
  const part = () => parts[below(parts.length, random)] ?? "";
  const word = () => {
    const one = part();
    if (!isSpaced || one.length < 6 || below(3, random) === 0) return one;
    const other = part();
    return one.slice(0, Math.ceil(one.length / 2)) + other.slice(Math.floor(other.length / 2));
  };
  const text = () => {
    const words = Array.from({ length: isSpaced ? WORDS : 3 * WORDS }, word);
    return words.join(isSpaced ? " " : "");
  };
  const entries: MemoryEntry[] = [];
  for (let size = 0; size < bytes; ) {
    const content = text();
    const turn = entries.length;
    const sessionId = `session ${Math.floor(turn / 50)}`;
    entries.push({ id: `${turn}`, content, sessionId, turn, kind: "message", role: "user" });
    size += Buffer.byteLength(content);
  }
  return entries;
}

function questionOf(content: string): string {
  const words = content.split(" ").filter((word) => word.length > 4);
  return words.length > 3 ? words.slice(2, 5).join(" ") : content.slice(20, 27);
}
