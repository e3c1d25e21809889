import { aiSdkContenders } from "./loops/ai-sdk.ts";
import { claudeContenders } from "./loops/claude.ts";
import { langChainContenders } from "./loops/langchain.ts";
import { mastraContenders } from "./loops/mastra.ts";
import { openAiAgentsContenders } from "./loops/openai-agents.ts";
import { opencodeContenders } from "./loops/opencode.ts";
import { piContenders } from "./loops/pi.ts";
import type { Contender } from "./play-run.ts";

export const CONTENDERS: readonly Contender[] = [
  ...aiSdkContenders,
  ...langChainContenders,
  ...mastraContenders,
  ...openAiAgentsContenders,
  ...piContenders,
  ...opencodeContenders,
  ...claudeContenders,
];
