import { claudeCodeFormat } from "./claude-code/claude-code-format.ts";
import { codexFormat } from "./codex-format.ts";
import type { ImportFormat } from "./imported.ts";

/** Every format that can be imported. The first that recognises a file reads it. */
export const IMPORT_FORMATS: readonly ImportFormat[] = [claudeCodeFormat, codexFormat];
