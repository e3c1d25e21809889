import { errorText, SessionError } from "../core/errors.ts";
import { isObject } from "../core/fields.ts";
import { joinSignals } from "../core/join-signals.ts";
import { isDeeperThan, NESTING_MAX } from "../core/json-values.ts";
import type { ToolUse } from "../core/message.ts";
import {
  type Tool,
  type ToolContext,
  type ToolDefinition,
  ToolError,
  type ToolErrorCode,
  type ToolOutput,
} from "../core/tool.ts";
import { textWeight } from "../text/text-weight.ts";

interface Listed {
  readonly definitions: readonly ToolDefinition[];
  readonly tokens: number;
  readonly byName: ReadonlyMap<string, Tool>;
}

/** The tools of an agent, by name. Some may come and go while it runs. */
export class ToolSet {
  readonly #fixed: readonly Tool[];
  readonly #builtin: ReadonlySet<string>;
  readonly #more: () => readonly Tool[];
  #seen: readonly Tool[] | undefined;
  #listed: Listed | undefined;

  /** `builtin` are rkat's own tools. `more` returns the same array until they change; it takes no name of the others. */
  constructor(
    tools: readonly Tool[],
    builtin: readonly Tool[] = [],
    more: () => readonly Tool[] = () => NONE,
  ) {
    this.#fixed = tools;
    this.#builtin = new Set(builtin.map((tool) => tool.definition.name));
    this.#more = more;
    const names = tools.map((tool) => tool.definition.name);
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice !== undefined) {
      throw new SessionError("INVALID_PARAMS", { message: `Two tools are called "${twice}".` });
    }
  }

  get definitions(): readonly ToolDefinition[] {
    return this.#now().definitions;
  }

  /** Estimated tokens of the definitions, which are a part of every model call. */
  get tokens(): number {
    return this.#now().tokens;
  }

  get(name: string): Tool | undefined {
    return this.#now().byName.get(name);
  }

  isBuiltin(name: string): boolean {
    return this.#builtin.has(name);
  }

  get names(): readonly string[] {
    return [...this.#now().byName.keys()];
  }

  #now(): Listed {
    const more = this.#more();
    if (more !== this.#seen) {
      this.#seen = more;
      const hadMore = this.#listed !== undefined && this.#listed.byName.size > this.#fixed.length;
      if (more.length > 0 || hadMore) this.#listed = listed([...this.#fixed, ...more]);
    }
    this.#listed ??= listed(this.#fixed);
    return this.#listed;
  }
}

const NONE: readonly Tool[] = [];

/** The tools by name. Of two with one name, the first counts. */
function listed(tools: readonly Tool[]): Listed {
  const byName = new Map<string, Tool>();
  for (const tool of tools) {
    const { name } = tool.definition;
    if (!byName.has(name)) byName.set(name, tool);
  }
  const definitions = Array.from(byName.values(), ({ definition }) => definition);
  return { definitions, tokens: Math.floor(textWeight(JSON.stringify(definitions)) / 4), byName };
}

export interface ToolRun extends ToolOutput {
  readonly durationMs: number;
  /** Set when the call took too long: the limit that it ran into. */
  readonly timedOutAfterMs?: number;
}

/**
 * Runs one tool call. The model reads a failure as `{"error": code, "message": …}`. Only an
 * interruption of the turn is thrown.
 */
export async function executeTool(
  call: ToolUse,
  tools: ToolSet,
  options: Omit<ToolContext, "toolUseId"> & { readonly timeoutMs: number },
): Promise<ToolRun> {
  const { timeoutMs: usualMs, signal, ...context } = options;
  const tool = tools.get(call.name);
  const startedAt = performance.now();
  const durationMs = () => Math.round(performance.now() - startedAt);
  if (!tool) {
    const known = tools.names.join(", ") || "none";
    return {
      ...toolFailure("tool_not_found", `There is no tool "${call.name}"; there is ${known}.`),
      durationMs: 0,
    };
  }
  if (areTooDeep(call.args)) {
    const why = `The arguments are nested more than ${ARGUMENTS_NESTING_MAX} levels deep. Send flatter ones.`;
    return { ...toolFailure("invalid_arguments", why), durationMs: 0 };
  }
  const timeoutMs = tool.timeoutMs ?? usualMs;
  const either = joinSignals([signal], timeoutMs);
  try {
    const output = await untilAborted(
      Promise.resolve(
        tool.execute(call.args, { ...context, toolUseId: call.id, signal: either.signal }),
      ),
      either.signal,
    );
    return { ...exactOutput(call.name, output), durationMs: durationMs() };
  } catch (error) {
    signal.throwIfAborted();
    if (either.timedOut) {
      const failure = toolFailure("timeout", `The call took longer than ${timeoutMs} ms.`);
      return { ...failure, durationMs: durationMs(), timedOutAfterMs: timeoutMs };
    }
    const code = error instanceof ToolError ? error.code : "execution_failed";
    const message =
      error instanceof ToolError ? error.message : `${call.name}: ${errorText(error)}`;
    return { ...toolFailure(code, message), durationMs: durationMs() };
  } finally {
    either.release();
  }
}

/** Levels of arguments in a message of `NESTING_MAX` levels. */
const ARGUMENTS_NESTING_MAX = NESTING_MAX - 4;

/** Whether arguments were too deep for a message, so that only their JSON is there. */
export function areTooDeep(args: unknown): boolean {
  if (typeof args !== "string") return false;
  try {
    return isDeeperThan(ARGUMENTS_NESTING_MAX, JSON.parse(args));
  } catch {
    return false;
  }
}

/** The result of a tool, as the log keeps it. */
function exactOutput(name: string, output: unknown): ToolOutput {
  if (typeof output === "string") return { content: output, is_error: false };
  if (isObject(output)) {
    const { content, is_error } = output;
    if (typeof content === "string" && typeof is_error === "boolean") return { content, is_error };
  }
  const why = `${name} ran, but returned neither a text nor { content, is_error }.`;
  return toolFailure("execution_failed", why);
}

export function toolFailure(error: ToolErrorCode, message: string): ToolOutput {
  return { content: JSON.stringify({ error, message }), is_error: true };
}

/** Stops waiting when `signal` aborts, even if the tool ignores it. */
function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
