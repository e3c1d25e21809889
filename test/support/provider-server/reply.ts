/** What the server answers with, whatever protocol it is asked in. A string is an answer of that text. */
export type ProviderReply = string | Answer | Failure;

export interface Answer {
  /** Reasoning, which the protocol signs or encrypts in its own way. */
  readonly reasoning?: string;
  /** Reasoning of which only the encrypted form is sent (Anthropic). */
  readonly redactedReasoning?: true;
  readonly text?: string;
  readonly toolCalls?: readonly ToolCall[];
  /** The provider's own word for why it stopped, in the place of the usual one. */
  readonly stopReason?: string;
  readonly usage?: Partial<ReplyUsage>;
  /** What happens to the connection in the middle of the answer. */
  readonly interruption?: "cut" | "end" | "hang";
  /** An error that comes in the middle of the stream. */
  readonly streamError?: { readonly message: string; readonly code: string };
  /** What a bad server makes of the bytes of the answer, and of the connection after them. */
  readonly onWire?: (bytes: Buffer) => Wire;
}

export interface Wire {
  readonly bytes: Uint8Array | Iterable<Uint8Array>;
  readonly after: "cut" | "end" | "hang";
  readonly headers?: Readonly<Record<string, string>>;
  /** 200 unless it is given. */
  readonly status?: number;
}

interface ToolCall {
  readonly id?: string;
  readonly name: string;
  readonly args?: unknown;
  /** Arguments as the model wrote them, broken or not. */
  readonly rawArgs?: string;
}

/** An answer without a stream. */
export interface Failure {
  readonly status: number;
  readonly message: string;
  /** The provider's code or type of error. */
  readonly code?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A body of its own, such as a gateway's page. */
  readonly body?: string;
}

interface ReplyUsage {
  /** Cached ones included. */
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

export type Json = Readonly<Record<string, unknown>>;

/** How one provider's API is spoken: one object a file. */
export interface Protocol {
  readonly path: RegExp;
  /** The header that carries the key. */
  readonly keyHeader: string;
  /** Says what the real API would refuse the request for. */
  problemWith(body: Json, memory: ProtocolMemory): string | undefined;
  /** The events of an answer, in order. */
  events(answer: CompleteAnswer, memory: ProtocolMemory): readonly ServerEvent[];
  /** The same answer as one JSON body, for a request that wants no stream. */
  whole?(answer: CompleteAnswer, memory: ProtocolMemory): Json;
  errorBody(failure: Failure): Json;
  /** How this provider says that a request is too long for the model. */
  contextTooLong(size: { readonly tokens: number; readonly most: number }): Failure;
  /** A stream's error event. */
  errorEvent(error: NonNullable<Answer["streamError"]>): ServerEvent;
}

export interface ServerEvent {
  readonly event?: string;
  readonly data: Json | "[DONE]";
}

/** What the server has signed, so that it knows its signatures again, byte for byte. */
export class ProtocolMemory {
  readonly #signatures = new Set<string>();

  sign(what: string): string {
    const noise = `${what}-${this.#signatures.size}+/=${"é".normalize("NFD")}`;
    const signature = Buffer.from(noise).toString("base64");
    this.#signatures.add(signature);
    return signature;
  }

  /** From now on, no signature given so far is known. */
  forget(): void {
    this.#signatures.clear();
  }

  signed(signature: unknown): boolean {
    return typeof signature === "string" && this.#signatures.has(signature);
  }
}

/** An answer with what was left open filled in. */
export interface CompleteAnswer extends Answer {
  /** The number of the call. Providers never give two answers one id. */
  readonly call: number;
  readonly toolCalls: readonly Required<ToolCall>[];
  readonly usage: ReplyUsage;
}

export function complete(answer: Answer, call: number): CompleteAnswer {
  const toolCalls = (answer.toolCalls ?? []).map(({ id, name, args = {}, rawArgs }, index) => ({
    id: id ?? `call_${call}_${index}`,
    name,
    args,
    rawArgs: rawArgs ?? JSON.stringify(args),
  }));
  const usage = { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, ...answer.usage };
  return { ...answer, call, toolCalls, usage };
}

const PIECES_MAX = 60;

/** A text in pieces that end anywhere, as models send them: of 7 characters, or longer ones so that they are not too many. */
export function pieces(text: string): string[] {
  const size = Math.max(7, Math.ceil(text.length / PIECES_MAX));
  return text.match(new RegExp(`[\\s\\S]{1,${size}}`, "gu")) ?? [];
}

/** Arrays, objects and strings of a body whose shape nobody has promised. */
export function listOf(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isJsonObject(text: unknown): boolean {
  try {
    return isObject(JSON.parse(String(text)));
  } catch {
    return false;
  }
}
