import { isRecall, type Message, toolUses } from "../core/message.ts";
import type { ImportedSession } from "../transcripts/imported.ts";

/** Folders where memory tools talk to models on their own. */
const TOOLS_FOLDER = /(?:^|[/\\-])(?:observer-sessions|\.?claude-mem|\.rkat)(?:[/\\]|$)/;

/** Whether a session is the traffic of a memory tool, not a conversation of a person. */
export function isMemoryTools({ project = "" }: Pick<ImportedSession, "project">): boolean {
  return TOOLS_FOLDER.test(project);
}

/** Servers of memory, as the names of their tools begin in Claude Code, Codex and others. */
const MEMORY_SERVER =
  /^(?:mcp__)?(?:plugin_)?(?:rkat|claude-mem|mem0|openmemory|basic-memory|memory|mcp-search)(?:_|\b)/;

const LEFT_OUT = "[left out: what a memory tool found]";

/**
 * Leaves the results of memory tools out of messages: they repeat what is stored already, and
 * storing them would find it twice.
 */
export class MemoryToolFilter {
  readonly #calls = new Set<string>();

  without(message: Message): Message {
    if (message.role !== "tool_results") {
      for (const { id, name } of toolUses(message)) if (isMemoryTool(name)) this.#calls.add(id);
      return message;
    }
    if (!message.results.some((result) => this.#calls.has(result.tool_use_id))) return message;
    const results = message.results.map((result) =>
      this.#calls.has(result.tool_use_id) ? { ...result, content: LEFT_OUT } : result,
    );
    return { ...message, results };
  }
}

function isMemoryTool(name: string): boolean {
  return isRecall(name) || MEMORY_SERVER.test(name);
}
