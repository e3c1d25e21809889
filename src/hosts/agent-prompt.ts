/** A prompt that a person gives a coding agent. */
export interface AgentPrompt {
  readonly sessionId: string;
  /** The project's folder. */
  readonly folder: string;
  readonly prompt: string;
  /** The agent's window has what was said from then on, ISO 8601. Without it nothing has left. */
  readonly windowFrom: string | undefined;
}
