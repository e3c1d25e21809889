import { inWords, type Law } from "./law.ts";
import { asOfLaws } from "./service/as-of-laws.ts";
import { compactionLaws } from "./service/compaction-laws.ts";
import { bringBackLaws, forkLaws } from "./service/fork-laws.ts";
import { historyLaws, sourceLaws } from "./service/history-laws.ts";
import { learningLaws } from "./service/learning-laws.ts";
import { memoryLaws } from "./service/memory-laws.ts";
import type { OpenService } from "./service/service-scenes.ts";
import { sessionLaws } from "./service/session-laws.ts";
import { turnLaws } from "./service/turn-laws.ts";

/** The promises of every session service, on every surface. */
export const sessionServiceLaws: readonly Law<OpenService>[] = inWords([
  ...sessionLaws,
  ...turnLaws,
  ...compactionLaws,
  ...historyLaws,
  ...forkLaws,
  ...bringBackLaws,
  ...sourceLaws,
  ...memoryLaws,
  ...asOfLaws,
  ...learningLaws,
]);
