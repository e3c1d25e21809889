import { SessionError } from "../core/errors.ts";
import { textWeight } from "../core/text-weight.ts";
import type { Tool, ToolDefinition } from "../core/tool.ts";

/** The tools of an agent, by name. */
export class ToolSet {
  readonly definitions: readonly ToolDefinition[];
  /** Estimated tokens of the definitions, which are a part of every model call. */
  readonly tokens: number;
  readonly #byName: ReadonlyMap<string, Tool>;

  readonly #builtin: ReadonlySet<string>;

  /** `builtin` are rkat's own tools. */
  constructor(tools: readonly Tool[], builtin: readonly Tool[] = []) {
    this.#builtin = new Set(builtin.map((tool) => tool.definition.name));
    this.#byName = new Map(tools.map((tool) => [tool.definition.name, tool]));
    if (this.#byName.size < tools.length) {
      const names = tools.map((tool) => tool.definition.name);
      const twice = names.find((name, index) => names.indexOf(name) !== index);
      throw new SessionError("INVALID_PARAMS", { message: `Two tools are called "${twice}".` });
    }
    this.definitions = tools.map((tool) => tool.definition);
    this.tokens = Math.floor(textWeight(JSON.stringify(this.definitions)) / 4);
  }

  get(name: string): Tool | undefined {
    return this.#byName.get(name);
  }

  isBuiltin(name: string): boolean {
    return this.#builtin.has(name);
  }

  get names(): readonly string[] {
    return [...this.#byName.keys()];
  }
}
