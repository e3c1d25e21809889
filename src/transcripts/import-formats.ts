import { atifFormat } from "./agents/atif-format.ts";
import { claudeStreamFormat } from "./agents/claude-stream-format.ts";
import { clineFormat, kiloTaskFormat, rooFormat } from "./agents/cline-format.ts";
import { continueFormat } from "./agents/continue-format.ts";
import { copilotChatFormat } from "./agents/copilot-chat-format.ts";
import { copilotFormat } from "./agents/copilot-format.ts";
import { cursorAgentFormat } from "./agents/cursor-agent-format.ts";
import { cursorDatabaseFormat } from "./agents/cursor-database-format.ts";
import { gooseFormat } from "./agents/goose-format.ts";
import { aiderFormat, cursorExportFormat, specstoryFormat } from "./agents/markdown-formats.ts";
import { opencodeExportFormat } from "./agents/opencode-export-format.ts";
import { openhandsFormat } from "./agents/openhands-format.ts";
import { qwenFormat } from "./agents/qwen-format.ts";
import { sweAgentFormat } from "./agents/swe-agent-format.ts";
import { zedFormat } from "./agents/zed-format.ts";
import { chatgptFormat, claudeAiFormat } from "./chat-exports.ts";
import { aiSdkFormat, chatFileFormat, openaiAgentsFormat } from "./chat-files.ts";
import { claudeCodeFormat } from "./claude-code/claude-code-format.ts";
import { codexExecFormat } from "./codex/codex-exec-format.ts";
import { codexFormat } from "./codex/codex-format.ts";
import { cursorFormat } from "./cursor-format.ts";
import { geminiFormat } from "./gemini-format.ts";
import type { ImportFormat } from "./imported.ts";
import { kiloFormat, opencodeFormat } from "./opencode/opencode-format.ts";
import { piFormat } from "./pi-format.ts";
import { rkatFormat } from "./rkat-format.ts";

/** Every format that can be imported. The first that recognises a file reads it, so the plainest is the last. */
export const IMPORT_FORMATS: readonly ImportFormat[] = [
  claudeCodeFormat,
  codexFormat,
  geminiFormat,
  // Before the database, in which Kilo Code may have put the same tasks later.
  kiloTaskFormat,
  kiloFormat,
  opencodeFormat,
  piFormat,
  // Before the transcripts of the same chats: they have their times and results.
  cursorDatabaseFormat,
  cursorAgentFormat,
  cursorFormat,
  copilotFormat,
  copilotChatFormat,
  rooFormat,
  clineFormat,
  qwenFormat,
  openhandsFormat,
  gooseFormat,
  zedFormat,
  continueFormat,
  aiderFormat,
  sweAgentFormat,
  atifFormat,
  specstoryFormat,
  cursorExportFormat,
  claudeStreamFormat,
  codexExecFormat,
  opencodeExportFormat,
  chatgptFormat,
  claudeAiFormat,
  rkatFormat,
  aiSdkFormat,
  openaiAgentsFormat,
  chatFileFormat,
];
