import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createSessionService } from "rkat";
import { sqliteStores } from "rkat/sqlite";
import type { HostLoop } from "../play-run.ts";
import { searchIn } from "./ai-sdk.ts";

interface RecordedMemory {
  readonly sessions: ReturnType<typeof createSessionService>;
  close(): Promise<void>;
}

/** A coding agent's loop in a project's folder, with a search of what rkat recorded of it there. */
export function withRecordedMemory(
  loop: HostLoop & { readonly project: string; close(): Promise<void> },
): HostLoop {
  let answer = "";
  let memory: Promise<RecordedMemory> | undefined;
  return {
    async ask(prompt, picture) {
      answer = await loop.ask(prompt, picture);
      return answer;
    },
    async search(query) {
      memory ??= recordedMemory(join(loop.project, ".rkat", "rkat.db"), answer);
      return await searchIn((await memory).sessions, query);
    },
    async close() {
      await (await memory)?.close();
      await loop.close();
    },
  };
}

/** A project's memory, once it has the last answer: the agent does not wait for the program that records its session. */
async function recordedMemory(path: string, answer: string): Promise<RecordedMemory> {
  await until(async () => existsSync(path));
  const stores = sqliteStores({ path });
  const sessions = createSessionService({ model: "none", stores });
  await until(async () => (await searchIn(sessions, answer)).some((text) => text.includes(answer)));
  return {
    sessions,
    async close() {
      await sessions.close();
      await stores.close();
    },
  };
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await isSo()); tries += 1) {
    if (tries === TRIES) throw new Error("The session was not recorded.");
    await sleep(50);
  }
}

/** Ten minutes, which a busy machine may need. */
const TRIES = 12_000;
