/** Writes lines as Claude Code does, for tests: each hangs below the one before, unless it says otherwise. */
export class ClaudeLines {
  readonly lines: Record<string, unknown>[] = [];
  readonly #sessionId: string;
  readonly #common: Readonly<Record<string, unknown>>;
  #parent: string | null = null;
  #count = 0;

  constructor(sessionId: string, common: Readonly<Record<string, unknown>> = {}) {
    this.#sessionId = sessionId;
    this.#common = { cwd: "/home/ada/app", gitBranch: "main", version: "2.1.0", ...common };
  }

  /** The uuid of the last line. */
  get last(): string {
    return this.#parent ?? "";
  }

  add(type: string, fields: Readonly<Record<string, unknown>> = {}): this {
    this.#count += 1;
    const number = String(this.#count).padStart(4, "0");
    const uuid = `${this.#sessionId.slice(0, 8)}-0000-4000-8000-00000000${number}`;
    this.lines.push({
      parentUuid: this.#parent,
      isSidechain: false,
      userType: "external",
      ...this.#common,
      sessionId: this.#sessionId,
      type,
      uuid,
      timestamp: new Date(Date.UTC(2026, 0, 2, 3, 0, this.#count)).toISOString(),
      ...fields,
    });
    this.#parent = uuid;
    return this;
  }

  user(content: unknown, fields: Readonly<Record<string, unknown>> = {}): this {
    return this.add("user", { message: { role: "user", content }, ...fields });
  }

  /** A line of an answer, with one block. */
  answer(id: string, block: unknown, fields: Readonly<Record<string, unknown>> = {}): this {
    const message = { id, role: "assistant", model: "claude-opus-4", content: [block] };
    return this.add("assistant", { message, ...fields });
  }

  text(id: string, text: string): this {
    return this.answer(id, { type: "text", text });
  }

  call(id: string, toolId: string, name = "Bash", input: unknown = { command: "ls" }): this {
    return this.answer(id, { type: "tool_use", id: toolId, name, input });
  }

  result(toolId: string, content: unknown, fields: Readonly<Record<string, unknown>> = {}): this {
    const { is_error = false, ...rest } = fields;
    return this.user([{ type: "tool_result", tool_use_id: toolId, content, is_error }], rest);
  }

  /** The next line hangs below this one. */
  goTo(uuid: string | null): this {
    this.#parent = uuid;
    return this;
  }

  toString(): string {
    return this.lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  }
}
