import { chatgptFormat, claudeAiFormat } from "./chat-exports.ts";
import { aiSdkFormat, chatFileFormat, openaiAgentsFormat } from "./chat-files.ts";
import { claudeCodeFormat } from "./claude-code/claude-code-format.ts";
import { codexFormat } from "./codex/codex-format.ts";
import { cursorFormat } from "./cursor-format.ts";
import { geminiFormat } from "./gemini-format.ts";
import type { ImportFormat } from "./imported.ts";
import { opencodeFormat } from "./opencode/opencode-format.ts";
import { piFormat } from "./pi-format.ts";
import { rkatFormat } from "./rkat-format.ts";

/** Every format that can be imported. The first that recognises a file reads it, so the plainest is the last. */
export const IMPORT_FORMATS: readonly ImportFormat[] = [
  claudeCodeFormat,
  codexFormat,
  geminiFormat,
  opencodeFormat,
  piFormat,
  cursorFormat,
  chatgptFormat,
  claudeAiFormat,
  rkatFormat,
  aiSdkFormat,
  openaiAgentsFormat,
  chatFileFormat,
];
