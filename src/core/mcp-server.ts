/** An MCP server whose tools an agent gets: a program that is started, or an address. */
export interface McpServer {
  readonly name: string;
  readonly program?: {
    readonly command: string;
    readonly args: readonly string[];
    /** Besides the variables that every program needs. */
    readonly env: Readonly<Record<string, string>>;
    readonly cwd: string;
  };
  readonly address?: {
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    /** The older transport over HTTP. */
    readonly isSse: boolean;
  };
  /** The time of one call. */
  readonly timeoutMs: number;
  /** The tools to offer. Default: all. */
  readonly tools?: readonly string[];
}
