import type { Workspace } from "../../../config/workspace.ts";
import { SessionError } from "../../../core/errors.ts";

/**
 * @throws SessionError `MODEL_UNAVAILABLE` before anything is made that only a model could use.
 */
export function requireModel(named: string | undefined, { config, files }: Workspace): void {
  if (named ?? config.get("model")) return;
  throw new SessionError("MODEL_UNAVAILABLE", {
    message: "No model is configured.",
    hint: `Name one: -m anthropic/claude-sonnet-4-5 (needs ANTHROPIC_API_KEY; openai and google have theirs), or -m ollama/llama3.2 (needs no key). For good: RKAT_MODEL, or model = "…" in ${files.user}. \`rkat config\` shows what is set.`,
  });
}
