import {
  type ProviderServer,
  startProviderServer,
} from "../../test/support/provider-server/provider-server.ts";
import type { ProviderReply } from "../../test/support/provider-server/reply.ts";

type Body = Readonly<Record<string, unknown>>;

export interface LocalProviderOptions {
  /** Tokens that the model takes. A longer request is refused in the provider's own words. */
  readonly contextWindow?: number;
  /** The tool that the model calls in this step of a run, from 0. Undefined: it answers with a text. */
  readonly call?: (step: number) => { readonly name: string; readonly args: unknown } | undefined;
  /** All answers of the model, from 0, in the place of those that `call` makes. */
  readonly answer?: (index: number) => ProviderReply | Promise<ProviderReply>;
  /** How it answers a request that asks for a summary. */
  readonly summary?: (body: Body) => ProviderReply | Promise<ProviderReply>;
  /** The tokens of every picture for a model. Default: 765, as one of 1024 by 1024 pixels has for GPT-5. */
  readonly pictureTokens?: (model: string) => number;
}

/** One request, as the provider would bill it. */
export interface BilledRequest {
  readonly kind: "step" | "summary" | "refused";
  /** A token has four characters. */
  readonly inputTokens: number;
  /** Those that the provider still had in its cache: a beginning that it has seen before. */
  readonly cachedTokens: number;
  readonly body: Body;
}

export interface LocalProvider extends ProviderServer {
  readonly billed: readonly BilledRequest[];
}

/**
 * A model that runs on this machine, without a key: it calls a tool for a number of steps and then
 * answers. It speaks OpenAI's chat completions and responses and Anthropic's messages, streamed or
 * whole, counts tokens, knows a repeated beginning, and refuses what the real APIs refuse.
 */
export async function startLocalProvider(
  options: LocalProviderOptions = {},
): Promise<LocalProvider> {
  const { contextWindow = Number.POSITIVE_INFINITY, call, answer, summary = sampleOf } = options;
  const { pictureTokens = () => 765 } = options;
  const billed: BilledRequest[] = [];
  const seen = new Set<string>();
  let step = 0;
  let answers = 0;

  const server = await startProviderServer(async ({ body }) => {
    const { inputTokens, cachedTokens } = measured(body, seen, pictureTokens(String(body.model)));
    const bill = (kind: BilledRequest["kind"]) =>
      billed.push({ kind, inputTokens, cachedTokens, body });
    if (inputTokens > contextWindow) {
      bill("refused");
      return { tokens: inputTokens, most: contextWindow };
    }
    const isNext = isStep(body);
    bill(isNext ? "step" : "summary");
    const usage = { input: inputTokens, cacheRead: cachedTokens };
    if (!isNext) return withUsage(await summary(body), usage);
    if (answer) {
      answers += 1;
      return withUsage(await answer(answers - 1), usage);
    }
    const next = call?.(step);
    const said = next ? { toolCalls: [next] } : `Done after ${step} calls.`;
    step = next ? step + 1 : 0;
    return withUsage(said, usage);
  });
  return { ...server, billed };
}

/** Whether a request is for a step: it offers tools. Requests for summaries may offer them too, and ask at their end. */
export function isStep({ tools, messages, input }: Body): boolean {
  // Claude Code may say something of its own after what it asks.
  const all = [messages ?? input ?? []].flat() as readonly { readonly role?: unknown }[];
  const asked = all.findLast(({ role }) => role !== "system");
  const last = JSON.stringify(asked ?? "");
  return Array.isArray(tools) && tools.length > 0 && !SUMMARY.test(last);
}

/** The words of Claude Code, and of rkat. */
const SUMMARY =
  /Your task is to create a detailed summary of the conversation so far|You are performing a CONTEXT COMPACTION/;

function withUsage(reply: ProviderReply, usage: { input: number; cacheRead: number }) {
  const answer = typeof reply === "string" ? { text: reply } : reply;
  return "status" in answer ? answer : { ...answer, usage };
}

/** A picture costs what its size in pixels costs, however many bytes it has. */
const PICTURE = /(data:image\/png;base64,)?iVBORw0KGgo[\w+/=]+/g;

/** Where Anthropic's cache ends is not part of a message. */
const withoutMarks = (name: string, value: unknown) =>
  name === "cache_control" ? undefined : value;

/** How long a request is, and how much of its beginning came before. */
function measured(body: Body, seen: Set<string>, pictureTokens: number) {
  const { system, instructions, tools, messages, input } = body;
  const sent = [messages ?? input ?? []].flat();
  let prefix = JSON.stringify([tools, system, instructions]);
  let cached = 0;
  const picture = "#".repeat(4 * pictureTokens);
  for (const message of sent) {
    prefix += JSON.stringify(message, withoutMarks).replaceAll(PICTURE, picture);
    if (seen.has(prefix)) cached = prefix.length;
    else seen.add(prefix);
  }
  return { inputTokens: Math.ceil(prefix.length / 4), cachedTokens: Math.floor(cached / 4) };
}

const SAMPLE_LINES = 24;
const SAMPLE_CHARACTERS = 80;

/** The beginnings of lines from all over the text: a poor summary, but one of this text. */
function sampleOf({ messages, input }: Body): string {
  const request = JSON.stringify(messages ?? input).replaceAll(/\\+n/g, "\n");
  // Around the record are instructions, which no summary repeats.
  const record = /<record>([\s\S]*)<\/record>/.exec(request)?.[1] ?? request;
  const lines = record.split("\n").filter((line) => /\w{3}.*\s/.test(line));
  const stride = Math.max(1, Math.ceil(lines.length / SAMPLE_LINES));
  const sample = lines.filter((_, index) => index % stride === 0);
  return `So far:\n${sample.map((line) => `- ${line.slice(0, SAMPLE_CHARACTERS)}`).join("\n")}`;
}
