import { shellWord } from "../core/shell-word.ts";

/** A hook of Claude Code that runs `rkat hook …`. */
interface ClaudeHook {
  /** Claude Code's name of the event. */
  readonly event: string;
  readonly does: "SessionStart" | "PreCompact" | "import";
  /** Claude Code goes on meanwhile. A version that does not know this waits, which takes little time. */
  readonly async?: true;
}

/**
 * What rkat does at which event. `import` hands its work to a process of its own and ends at once.
 */
const CLAUDE_HOOKS: readonly ClaudeHook[] = [
  { event: "SessionStart", does: "SessionStart" },
  { event: "PreCompact", does: "PreCompact" },
  { event: "PreCompact", does: "import", async: true },
  { event: "PostCompact", does: "import", async: true },
  { event: "Stop", does: "import", async: true },
  { event: "SessionEnd", does: "import" },
];

const TIMEOUT_SECONDS = 10;

/** The hooks as Claude Code's settings have them. */
export function claudeHooks(program: readonly string[]) {
  return CLAUDE_HOOKS.map(({ event, does, async }) => {
    const command = [...program, "hook", does].map(shellWord).join(" ");
    const hook = { type: "command", command, timeout: TIMEOUT_SECONDS };
    return { event, command, hook: async ? { ...hook, async } : hook };
  });
}
