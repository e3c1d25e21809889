/** The tokens of a sign-in to a server, kept for its address. */
export interface McpSignIn {
  /** Undefined where nobody signed in. */
  read(): Readonly<Record<string, unknown>> | undefined;
  /** @throws SessionError `NOT_POSSIBLE` */
  write(kept: Readonly<Record<string, unknown>>): void;
  remove(): void;
}

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
    /** Missing where the headers say who you are: they would go to the server that signs you in, too. */
    readonly signIn?: McpSignIn;
  };
  /** The time to start and to list its tools. Default: 30 s. */
  readonly startMs?: number;
  /** The time of one call. */
  readonly timeoutMs: number;
  /** The tools to offer. Default: all. */
  readonly tools?: readonly string[];
}
