import {
  hasOpencode,
  type OpencodeProgram,
  startOpencode,
} from "../../../test/hosts/opencode-program.ts";
import type { Contender, Lab } from "../play-run.ts";
import { withRecordedMemory } from "./recorded-memory.ts";

const HOST = "opencode 1.18";

/** One program for all runs: its start takes longer than a run. */
function contender(name: string, withRkat: boolean): Contender {
  let program: Promise<OpencodeProgram> | undefined;
  return {
    host: HOST,
    name,
    kinds: ["plain"],
    async open({ url, instructions, contextWindow, read }: Lab) {
      program ??= startOpencode({ withRkat });
      const session = await (await program).openSession({ url, instructions, contextWindow, read });
      return withRkat ? withRecordedMemory(session) : session;
    },
    async close() {
      await (await program)?.close();
    },
  };
}

export const opencodeContenders: readonly Contender[] = hasOpencode
  ? [contender("its own compaction", false), contender("rkat", true)]
  : [];
