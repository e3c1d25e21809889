import type {
  LanguageModelV3StreamPart,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
} from "@ai-sdk/provider";
import { SessionError } from "../core/errors.ts";
import type { ModelChunk } from "../core/language-model.ts";
import type { AssistantBlock, StopReason } from "../core/message.ts";
import type { Usage } from "../core/usage.ts";
import { type ModelFamily, toMeta } from "./model-family.ts";

/**
 * Converts the stream of an AI SDK model into our chunks.
 *
 * Blocks keep the order in which they started. Providers may end them in another
 * order. A stream without a finish throws `PROVIDER_ERROR` with `retry`. An error
 * within the stream is thrown as it is. A stream that says more than any model does
 * throws `PROVIDER_ERROR` without `retry`.
 */
export async function* readStream(
  parts: AsyncIterable<LanguageModelV4StreamPart | LanguageModelV3StreamPart>,
  family: ModelFamily,
): AsyncGenerator<ModelChunk> {
  const blocks = new OpenBlocks(family);
  let hasCalls = false;
  let characters = 0;
  const count = ({ length }: string) => {
    characters += length;
    if (characters > CHARACTERS_MAX) throw tooLong();
  };
  for await (const part of parts) {
    switch (part.type) {
      case "text-start":
      case "reasoning-start":
        blocks.open(part.id, part.type === "text-start" ? "text" : "reasoning", part);
        break;
      case "text-delta":
      case "reasoning-delta": {
        const { id, delta } = part;
        const kind = part.type === "text-delta" ? "text" : "reasoning";
        blocks.append(id, kind, delta, part);
        count(delta);
        if (delta !== "") yield { type: `${kind}_delta`, delta };
        break;
      }
      case "text-end":
      case "reasoning-end":
        blocks.close(part.id, part);
        break;
      case "tool-input-start":
        if (!part.providerExecuted) blocks.open(part.id, "tool_use", part);
        break;
      case "tool-input-delta":
        count(part.delta);
        break;
      case "tool-call":
        // The provider has executed this call itself.
        if (part.providerExecuted) break;
        hasCalls = true;
        blocks.call(part.toolCallId, part.toolName, part.input, part);
        break;
      case "error":
        throw part.error;
      case "finish":
        yield* blocks.takeAll();
        yield {
          type: "finish",
          stopReason: stopReasonOf(part.finishReason, hasCalls),
          usage: toUsage(part.usage),
        };
        return;
    }
    yield* blocks.takeClosed();
  }
  throw cutShort();
}

/** The longest answers of current models have 128 000 tokens, a million characters. */
const CHARACTERS_MAX = 16 * 1024 * 1024;

function tooLong(): SessionError {
  return new SessionError("PROVIDER_ERROR", {
    detail: `The model said more than ${CHARACTERS_MAX / 2 ** 20} Mi characters and did not end.`,
    hint: "Check the model's server, or set `max_tokens`.",
  });
}

type Kind = AssistantBlock["block_type"];
type WithMetadata = { readonly providerMetadata?: SharedV4ProviderMetadata | undefined };

/** A block that is not finished, or that waits for an earlier block. */
interface OpenBlock {
  readonly kind: Kind;
  text: string;
  metadata: SharedV4ProviderMetadata;
  call?: { readonly id: string; readonly name: string; readonly args: unknown };
  isClosed: boolean;
}

class OpenBlocks {
  readonly #family: ModelFamily;
  #inOrder: OpenBlock[] = [];
  /** By the provider's id, which may be reused when the block is closed. */
  readonly #byId = new Map<string, OpenBlock>();

  constructor(family: ModelFamily) {
    this.#family = family;
  }

  open(id: string, kind: Kind, part: WithMetadata): OpenBlock {
    const block: OpenBlock = { kind, text: "", metadata: {}, isClosed: false };
    this.#inOrder.push(block);
    this.#byId.set(`${kind} ${id}`, block);
    addMetadata(block, part);
    return block;
  }

  append(id: string, kind: "text" | "reasoning", delta: string, part: WithMetadata): void {
    const block = this.#byId.get(`${kind} ${id}`) ?? this.open(id, kind, part);
    block.text += delta;
    addMetadata(block, part);
  }

  close(id: string, part: WithMetadata & { readonly type: "text-end" | "reasoning-end" }): void {
    const key = `${part.type === "text-end" ? "text" : "reasoning"} ${id}`;
    const block = this.#byId.get(key);
    if (!block) return;
    this.#byId.delete(key);
    addMetadata(block, part);
    block.isClosed = true;
  }

  call(id: string, name: string, input: string, part: WithMetadata): void {
    const key = `tool_use ${id}`;
    const block = this.#byId.get(key) ?? this.open(id, "tool_use", part);
    this.#byId.delete(key);
    addMetadata(block, part);
    block.call = { id, name, args: parseArguments(input) };
    block.isClosed = true;
  }

  /** Takes the closed blocks before the first open one. */
  *takeClosed(): Generator<ModelChunk> {
    while (this.#inOrder[0]?.isClosed) yield* this.#take();
  }

  *takeAll(): Generator<ModelChunk> {
    while (this.#inOrder.length > 0) yield* this.#take();
  }

  *#take(): Generator<ModelChunk> {
    const block = this.#inOrder.shift();
    const made = block && this.#make(block);
    if (made) yield { type: "block", block: made };
  }

  #make({ kind, text, metadata, call }: OpenBlock): AssistantBlock | undefined {
    const found = toMeta(this.#family, metadata);
    const meta = found ? { meta: found } : {};
    if (kind === "tool_use") {
      return call && { block_type: "tool_use", data: { ...call, ...meta } };
    }
    // A block without text may have a signature that the provider wants back.
    if (text === "" && !found) return undefined;
    if (kind === "text") return { block_type: "text", data: { text, ...meta } };
    // Reasoning is only sent to the family that it names.
    const own = found ?? { provider: this.#family.metaProvider };
    return { block_type: "reasoning", data: { text, meta: own } };
  }
}

/** Metadata comes in pieces, for example first an id and last a signature. */
function addMetadata(block: OpenBlock, { providerMetadata }: WithMetadata): void {
  for (const [key, fields] of Object.entries(providerMetadata ?? {})) {
    const known = Object.entries(fields).filter(([, value]) => value !== null);
    block.metadata[key] = { ...block.metadata[key], ...Object.fromEntries(known) };
  }
}

/** Invalid JSON stays a text. The tool's own check then tells the model the problem. */
function parseArguments(input: string): unknown {
  if (input.trim() === "") return {};
  try {
    return JSON.parse(input);
  } catch {
    return input;
  }
}

/** Finish reasons that mean a failure of the server. */
const BROKEN = /error|insufficient_system_resource|malformed/i;

function stopReasonOf(
  { unified, raw }: LanguageModelV4FinishReason,
  hasCalls: boolean,
): StopReason {
  switch (unified) {
    case "length":
      return "max_tokens";
    case "content-filter":
      return "content_filter";
    case "tool-calls":
      return "tool_use";
    case "error":
    case "interrupted":
      throw cutShort(raw);
  }
  if (unified === "other" && raw && BROKEN.test(raw)) throw cutShort(raw);
  if (hasCalls) return "tool_use";
  return raw === "pause_turn" || raw === "stop_sequence" ? raw : "end_turn";
}

function cutShort(reason?: string): SessionError {
  const why = reason ? ` (${reason.slice(0, 100)})` : "";
  return new SessionError("PROVIDER_ERROR", {
    detail: `The answer was cut off${why}.`,
    retry: {},
  });
}

function toUsage({ inputTokens, outputTokens }: LanguageModelV4Usage): Usage {
  return {
    input_tokens: inputTokens.total ?? 0,
    output_tokens: outputTokens.total ?? 0,
    cache_creation_tokens: inputTokens.cacheWrite ?? null,
    cache_read_tokens: inputTokens.cacheRead ?? null,
  };
}
