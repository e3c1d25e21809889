/** Whether a tool call runs, needs approval, or is denied. */
export const TOOL_POLICIES = ["allow", "ask", "deny"] as const;

export type ToolPolicy = (typeof TOOL_POLICIES)[number];

/** Who may answer a request for approval. A user always may; `model`: a client that is a model, too. */
export const ANSWERERS = ["user", "model"] as const;

export type Answerer = (typeof ANSWERERS)[number];

/** A tool call that waits for approval. */
export interface PendingApproval {
  readonly approvalId: string;
  readonly sessionId: string;
  /** Id of the tool call. */
  readonly toolUseId: string;
  readonly tool: string;
  /** The arguments as the model sent them. */
  readonly args: unknown;
  /** The user's goal, shortened. */
  readonly goal: string;
  /** ISO 8601. */
  readonly requestedAt: string;
  /** The clients that may answer. Missing in requests of earlier versions: a user. */
  readonly mayAnswer?: readonly Answerer[];
}

/** Calls that run without another question: every call of a tool, or only those with this command. */
export interface AllowedCalls {
  readonly tool: string;
  /** Left out: every call of the tool. */
  readonly command?: string;
}

/** How long a call stays allowed: in this session, or in every session of the project. */
export type AllowedFor = "session" | "project";

/** Whether `allowed` includes all of `calls`. */
export function covers(allowed: AllowedCalls, calls: AllowedCalls): boolean {
  const { tool, command = calls.command } = allowed;
  return tool === calls.tool && command === calls.command;
}

/** The calls that the user has allowed in a project, for all of its sessions. */
export interface ProjectApprovals {
  list(): readonly AllowedCalls[];
  add(calls: AllowedCalls): void;
}

/** An answer to a request for approval. */
export interface ApprovalAnswer {
  readonly decision: "allow" | "deny";
  /** The model reads it. The project learns the reason of a denial. */
  readonly reason?: string;
  /** Who answered. `settings`: a program decided. `model`: a model did. The project learns from a user only. Default `user`. */
  readonly by?: "user" | "model" | "settings";
  /** Allows the calls that the callback was told of (`always`) from now on. */
  readonly always?: AllowedFor;
}

/**
 * Callback that asks whether a call may run. `undefined` leaves the answer to others, such as another
 * process. `"later"` ends the turn, and the call waits.
 *
 * Contract:
 * - It is asked about one call at a time.
 * - `signal` aborts when another process has answered, or the turn has ended.
 * - What is not exactly an answer denies the call. The log says what it was.
 * - `always` is what an answer with `always` allows from now on. Show it before you give such an answer.
 *   Without it, this call cannot be allowed for good.
 */
export type Approve = (
  call: PendingApproval,
  options: { readonly signal: AbortSignal; readonly always?: AllowedCalls },
) => Promise<ApprovalAnswer | "later" | undefined> | ApprovalAnswer | "later" | undefined;

/**
 * Tool calls that wait for approval. Every process can list and answer them.
 *
 * The log has the requests and the answers. This store is an index of the open ones, and keeps an
 * answer until the process that runs the turn takes it.
 *
 * Contract:
 * - What is added is listed until it is answered or removed, oldest first.
 * - An approval is there once, however often it is added.
 * - Of several answers the first one counts.
 * - An answer is kept until the approval is removed.
 * - A replaced approval keeps its place and its answer. Replacing an unknown one adds nothing.
 */
export interface ApprovalStore {
  add(approvals: readonly PendingApproval[]): Promise<void>;
  /** Replaces approvals whose texts were forgotten. */
  replace(approvals: readonly PendingApproval[]): Promise<void>;
  /** The unanswered ones, of one session or of all. */
  list(of: { readonly sessionId?: string }): Promise<readonly PendingApproval[]>;
  /** Returns false when there is no such approval, or another answer came first. */
  answer(approvalId: string, sessionId: string, answer: ApprovalAnswer): Promise<boolean>;
  /** The answers so far, by approval id. */
  answers(approvalIds: readonly string[]): Promise<ReadonlyMap<string, ApprovalAnswer>>;
  remove(
    which: { readonly approvalIds: readonly string[] } | { readonly sessionId: string },
  ): Promise<void>;
  close(): Promise<void>;
}
