import {
  isStep,
  type LocalProvider,
  startLocalProvider,
} from "../../examples/hosts/local-provider.ts";
import {
  type AgentRun,
  type Kind,
  type OtherTool,
  type Question,
  sentencesOf,
} from "./agent-run.ts";
import { isAnsweredBy, type StepRequest, type Violation, violationsIn, windowOf } from "./judge.ts";

/** A host's loop, with the host's own answer to a full window or with rkat's. */
export interface Contender {
  readonly host: string;
  readonly name: string;
  /** What its model calls the tool `read`, where that is not its name. */
  readonly tool?: string;
  /** How its model has to write a summary, where not any text will do. */
  summary?(text: string): string;
  open(lab: Lab): Promise<HostLoop>;
  /** The kinds of conversations that it can have, where it cannot have all. */
  readonly kinds?: readonly Kind[];
  /** After the last run. */
  close?(): Promise<void>;
}

/** What a loop is given: a model on this machine, the tool `read`, and others that the model does not call. */
export interface Lab {
  readonly url: string;
  readonly urls: LocalProvider["urls"];
  readonly instructions: string;
  readonly contextWindow: number;
  readonly otherTools: readonly OtherTool[];
  read(path: string): string;
  /** The summary of a text, for a summariser that is not a request to the model. It is billed as one. */
  summaryOf(text: string): string;
}

export interface HostLoop {
  /** Has a turn. Resolves to the model's last answer. */
  ask(prompt: string, picture?: string): Promise<string>;
  /** One search of the memory, if there is one. */
  search?(query: string): Promise<readonly string[]>;
  close?(): Promise<void>;
}

export interface Played {
  /** Promises that were broken. */
  readonly violations: ReadonlySet<Violation>;
  /** Why the run came to no end. */
  readonly failure?: string;
  readonly summaries: number;
  readonly sentTokens: number;
  readonly cachedTokens: number;
  /** Questions that the request for them answers, and those that it or one search answers. */
  readonly inRequest: number;
  readonly answered: number;
}

/**
 * The provider refuses a request of more than this part of the window, because each loop estimates
 * tokens in its own way.
 */
const REFUSED_ABOVE = 1.25;

/** Characters of a token, as the local provider counts them. */
const TOKEN_CHARACTERS = 4;

/** Has a run's conversation in a loop. A run whose turn fails ends there, as it would for its user. */
export async function playRun(
  run: AgentRun,
  contender: Contender,
  contextWindow: number,
): Promise<Played> {
  const replies = run.turns.flatMap(({ steps, answer }) => [
    ...steps.map(({ text, reasoning, calls }) => ({
      ...(text === "" ? {} : { text }),
      ...(reasoning ? { reasoning } : {}),
      toolCalls: calls.map(({ id, path }) => ({
        id,
        name: contender.tool ?? "read",
        args: { path },
      })),
    })),
    { text: answer },
  ]);
  const calls = run.turns.flatMap(({ steps }) => steps.flatMap((step) => step.calls));
  const outputs = new Map(calls.map(({ path, output }) => [path, output]));
  const sentences = sentencesOf(run);
  let summaries = 0;
  let summaryTokens = 0;
  const summaryOf = (text: string) => {
    summaries += 1;
    return extract(sentences, text);
  };
  /** For each summary that was no request to the server, how many of those there were before. */
  const elsewhere: number[] = [];
  const server = await startLocalProvider({
    contextWindow: REFUSED_ABOVE * contextWindow,
    answer: (index) => replies[index] ?? "The run is at its end.",
    summary: ({ messages, input }) => {
      const text = summaryOf(JSON.stringify(messages ?? input));
      return contender.summary?.(text) ?? text;
    },
  });
  const loop = await contender.open({
    url: server.urls.openai,
    urls: server.urls,
    instructions: run.instructions,
    contextWindow,
    otherTools: run.otherTools,
    read: (path) => outputs.get(path) ?? "There is no such file.",
    summaryOf(text) {
      elsewhere.push(server.requests.length);
      summaryTokens += Math.ceil(text.length / TOKEN_CHARACTERS);
      return summaryOf(text);
    },
  });

  const requests: StepRequest[] = [];
  let seen = 0;
  /** Requests for a summary. */
  let asked = 0;
  let failure: string | undefined;
  for (const [turn, { prompt, picture, answer }] of run.turns.entries()) {
    try {
      const said = await loop.ask(prompt, picture);
      if (said.trim() !== answer)
        failure = `turn ${turn} ended with ${JSON.stringify(said.slice(0, 60))}`;
    } catch (error) {
      failure = error instanceof Error ? error.message : String(error);
    }
    for (; seen < server.requests.length; seen += 1) {
      const body = server.requests[seen]?.body ?? {};
      const before = elsewhere.filter((at) => at <= seen).length;
      if (isStep(body)) requests.push({ body, turn, summaries: asked + before });
      else asked += 1;
    }
    if (failure) break;
  }

  const accepted = server.billed.filter(({ kind }) => kind !== "refused");
  const total = (field: "inputTokens" | "cachedTokens") =>
    accepted.reduce((sum, request) => sum + request[field], 0);
  const cost = {
    sentTokens: total("inputTokens") + summaryTokens,
    cachedTokens: total("cachedTokens"),
  };
  const { inRequest, answered } = failure ? NOTHING : await answersOf(run, loop, server.requests);
  await loop.close?.();
  await server.close();
  return {
    violations: violationsIn(run, requests),
    ...(failure ? { failure } : {}),
    summaries,
    ...cost,
    inRequest,
    answered,
  };
}

const NOTHING = { inRequest: 0, answered: 0 };

/** How many questions the memory answers, or the request once a person asks them. Searches come first: a question that was asked is in memory too. */
async function answersOf(
  { questions }: AgentRun,
  loop: HostLoop,
  requests: Parameters<typeof windowFor>[2],
): Promise<typeof NOTHING> {
  const found = new Set<Question>();
  for (const question of questions) {
    const texts = (await loop.search?.(question.query)) ?? [];
    if (texts.some((text) => isAnsweredBy(text, question))) found.add(question);
  }
  let inRequest = 0;
  for (const question of questions) {
    if (!isAnsweredBy(await windowFor(question.query, loop, requests), question)) continue;
    inRequest += 1;
    found.add(question);
  }
  return { inRequest, answered: found.size };
}

/** Has a turn, and returns what the model was sent for it; empty where the turn fails. */
async function windowFor(
  prompt: string,
  loop: HostLoop,
  requests: readonly { readonly body: Readonly<Record<string, unknown>> }[],
): Promise<string> {
  const before = requests.length;
  try {
    await loop.ask(prompt);
  } catch {
    return "";
  }
  return windowOf(requests.slice(before).findLast(({ body }) => isStep(body))?.body ?? {});
}

const SUMMARY_SENTENCES = 24;

/** The same summariser for all: sentences from all over what it was given, and no word of its own. */
function extract(sentences: readonly string[], text: string): string {
  const found = sentences.filter((sentence) => text.includes(sentence));
  const stride = Math.max(1, found.length / SUMMARY_SENTENCES);
  const picked = Array.from({ length: Math.min(SUMMARY_SENTENCES, found.length) }, (_, index) => {
    return found[Math.floor(index * stride)];
  });
  return picked.join("\n");
}
