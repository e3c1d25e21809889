import { createParser } from "eventsource-parser";
import type { EventEnvelope } from "../../../core/event.ts";

/** What the page may do, and where it is from. */
export interface About {
  readonly writes: boolean;
  readonly version?: string;
  readonly project?: string;
  /** The page is a file with one session in it. */
  readonly exported?: {
    readonly session: string;
    readonly redacted: Readonly<Record<string, number>>;
    readonly at: string;
  };
}

type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/** Where the page's data is from: a server, or the file itself. */
export interface Source {
  /** More may come at any time. */
  readonly isLive: boolean;
  about(): Promise<About>;
  get<Answer>(path: string, query?: Query): Promise<Answer>;
  /** Changes something. */
  send<Answer>(method: "POST" | "DELETE", path: string, body?: object): Promise<Answer>;
  /**
   * The events of a session after `afterSeq`, in batches. A live one goes on with what is said from now on, until the
   * signal ends it.
   */
  events(
    session: string,
    afterSeq: number,
    onEvents: (events: readonly EventEnvelope[]) => void,
    signal: AbortSignal,
  ): Promise<void>;
}

/** What every view is given. */
export interface ViewProps {
  readonly source: Source;
  readonly about: About;
}

/** What a server refused, in its own words. */
export class Refusal extends Error {
  readonly status: number;
  readonly hint: string;

  constructor(status: number, message: string, hint: string) {
    super(message);
    this.status = status;
    this.hint = hint;
  }
}

/** The server that the page came from. */
export class ServerSource implements Source {
  readonly isLive = true;
  readonly #token: string;

  constructor(token: string) {
    this.#token = token;
  }

  about(): Promise<About> {
    return this.get("inspect");
  }

  async get<Answer>(path: string, query: Query = {}): Promise<Answer> {
    const response = await this.#fetch(`${path}${queryText(query)}`, {});
    return (await response.json()) as Answer;
  }

  async send<Answer>(method: "POST" | "DELETE", path: string, body?: object): Promise<Answer> {
    const response = await this.#fetch(path, {
      method,
      ...(body
        ? { body: JSON.stringify(body), headers: { "content-type": "application/json" } }
        : {}),
    });
    return (await response.json()) as Answer;
  }

  async events(
    session: string,
    afterSeq: number,
    onEvents: (events: readonly EventEnvelope[]) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const path = `sessions/${encodeURIComponent(session)}/events${queryText({ after_seq: afterSeq })}`;
    const response = await this.#fetch(path, { signal, headers: { accept: "text/event-stream" } });
    let batch: EventEnvelope[] = [];
    const parser = createParser({
      onEvent: ({ event, data }) => {
        if (event === "error") throw new Refusal(500, JSON.parse(data).message, "");
        if (event !== "done") batch.push(JSON.parse(data));
      },
    });
    const text = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    for (let next = await text?.read(); next && !next.done; next = await text?.read()) {
      parser.feed(next.value);
      if (batch.length === 0) continue;
      const events = batch;
      batch = [];
      onEvents(events);
    }
  }

  async #fetch(path: string, { headers, ...options }: RequestInit): Promise<Response> {
    const response = await fetch(new URL(`api/${path}`, `${location.origin}${location.pathname}`), {
      ...options,
      headers: { ...headers, authorization: `Bearer ${this.#token}` },
      credentials: "omit",
      redirect: "error",
    }).catch((error: unknown) => {
      if (options.signal?.aborted) throw error;
      throw new Refusal(0, "The server cannot be reached.", "Is `rkat inspect` still running?");
    });
    if (response.ok) return response;
    const { message, hint } = (await response.json().catch(() => ({}))) as Record<string, string>;
    throw new Refusal(
      response.status,
      message ?? `The server said ${response.status}.`,
      hint ?? "",
    );
  }
}

function queryText(query: Query): string {
  const pairs = Object.entries(query).flatMap(([name, value]) => {
    if (value === undefined || value === "") return [];
    const values: readonly unknown[] = Array.isArray(value) ? value : [value];
    return values.map((one) => [name, String(one)]);
  });
  return pairs.length === 0 ? "" : `?${new URLSearchParams(pairs)}`;
}

/** What a file has in it: the answers to the questions that the page asks of one session. */
export interface ExportedData extends About {
  readonly answers: Readonly<Record<string, unknown>>;
  readonly events: readonly EventEnvelope[];
}

/** A page that was exported, with its data. Nothing else is known, and nothing can be changed. */
export class FileSource implements Source {
  readonly isLive = false;
  readonly #data: ExportedData;

  constructor(data: ExportedData) {
    this.#data = data;
  }

  async about(): Promise<About> {
    return this.#data;
  }

  async get<Answer>(path: string): Promise<Answer> {
    const answer = this.#data.answers[path];
    if (answer === undefined) throw new Refusal(404, "This file has one session only.", "");
    return answer as Answer;
  }

  async send<Answer>(): Promise<Answer> {
    throw new Refusal(403, "This is a file. Nothing can be changed here.", "");
  }

  async events(
    _session: string,
    afterSeq: number,
    onEvents: (events: readonly EventEnvelope[]) => void,
  ): Promise<void> {
    onEvents(this.#data.events.filter(({ seq }) => seq > afterSeq));
  }
}
