import { createParser } from "eventsource-parser";
import type { EventEnvelope } from "../../../core/event.ts";
import type { LogPage } from "../../../core/operations/history.ts";
import type { SourcesView } from "../../../core/operations/sources.ts";
import { urlPart } from "../../../text/url-part.ts";
import type { Wire } from "./wire.ts";

/** The rights of the page, and where it is from. */
export interface About {
  readonly writes: boolean;
  /** Whether it can look for what is wrong. */
  readonly checks?: boolean;
  /** Whether it can show what each user sees. */
  readonly users?: boolean;
  readonly version?: string;
  readonly project?: string;
  /** The page is a file with one session in it. */
  readonly exported?: {
    readonly session: string;
    readonly redacted: Readonly<Record<string, number>>;
    readonly at: string;
  };
}

/** A check of the project, and its outcome. */
export interface Finding {
  readonly name: string;
  readonly state: "good" | "note" | "wrong";
  readonly detail: string;
}

type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/** Where the page's data is from: a server, or the file itself. */
export interface Source {
  /** More may come at any time. */
  readonly isLive: boolean;
  readonly user?: string | undefined;
  as?(user: string | undefined): Source;
  about(): Promise<About>;
  get<Answer>(path: string, query?: Query): Promise<Answer>;
  /** Changes something. */
  send<Answer>(method: "POST" | "DELETE", path: string, body?: object): Promise<Answer>;
  /** A page of a session's log after `afterSeq`, oldest first. */
  log(session: string, afterSeq: number, limit: number): Promise<EventPage>;
  /** The events of a session after `afterSeq`, in batches, as they happen, until the signal ends it. */
  follow(
    session: string,
    afterSeq: number,
    onEvents: (events: readonly EventEnvelope[]) => void,
    signal: AbortSignal,
  ): Promise<void>;
}

/** Events are the same on every wire: the names in them stay. */
export type EventPage = Omit<Wire<LogPage>, "events"> & Pick<LogPage, "events">;

/** The properties of every view. */
export interface ViewProps {
  readonly source: Source;
  readonly about: About;
}

/** Shows what a user sees; without one, what the owner of the server does. */
export interface ShowsUsers {
  readonly onUser: (user: string | undefined) => void;
}

/** A server's refusal, in its own words. */
export class Refusal extends Error {
  readonly status: number;
  readonly hint: string;

  constructor(status: number, message: string, hint: string) {
    super(message);
    this.status = status;
    this.hint = hint;
  }

  /** Whether it is the same when it is asked again: not for a server that stops, starts, or has too much to do. */
  get isFinal(): boolean {
    return this.status >= 400 && this.status < 500 && this.status !== 429;
  }
}

/** The server that the page came from. */
export class ServerSource implements Source {
  readonly isLive = true;
  readonly #token: string;
  /** The user whose view it is, where the token may show several. */
  readonly user: string | undefined;

  constructor(token: string, user?: string) {
    this.#token = token;
    this.user = user;
  }

  /** The same server, as a user sees it. Without one, as the owner of the token does. */
  as(user: string | undefined): ServerSource {
    return new ServerSource(this.#token, user);
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

  log(session: string, afterSeq: number, limit: number): Promise<EventPage> {
    const path = `sessions/${urlPart(session)}/log`;
    return this.get(path, { after_seq: afterSeq, limit });
  }

  async follow(
    session: string,
    afterSeq: number,
    onEvents: (events: readonly EventEnvelope[]) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const path = `sessions/${urlPart(session)}/events${queryText({ after_seq: afterSeq })}`;
    const response = await this.#fetch(path, { signal, headers: { accept: "text/event-stream" } });
    let batch: EventEnvelope[] = [];
    const parser = createParser({
      onEvent: ({ event, data }) => {
        if (event === "error") throw new Error(JSON.parse(data).message);
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
      headers: {
        ...headers,
        authorization: `Bearer ${this.#token}`,
        ...(this.user === undefined ? {} : { "x-rkat-user": urlPart(this.user) }),
      },
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

/** The content of an exported file: the answers to the questions that the page asks of one session. */
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

  async get<Answer>(path: string, { event }: Query = {}): Promise<Answer> {
    const answer = this.#data.answers[event === undefined ? path : `${path}?event=${event}`];
    if (answer === undefined) throw new Refusal(404, "This file has one session only.", "");
    return answer as Answer;
  }

  async send<Answer>(_: string, path: string, body: object = {}): Promise<Answer> {
    if (path === "sources") return this.#sources(body) as Answer;
    throw new Refusal(403, "This is a file. Nothing can be changed here.", "");
  }

  /** The file has all messages that something rests on under what the page asks with. */
  #sources({
    limit = 0,
    offset = 0,
    ...of
  }: {
    readonly limit?: number;
    readonly offset?: number;
  }) {
    const view = this.#data.answers[`sources?${JSON.stringify(of)}`] as
      | Wire<SourcesView>
      | undefined;
    if (!view) throw new Refusal(404, "What it rests on is not in this file.", "");
    return { ...view, messages: view.messages.slice(offset, offset + limit) };
  }

  async log(): Promise<EventPage> {
    const { events } = this.#data;
    return { events, last_seq: events.at(-1)?.seq ?? 0, before: false, after: false };
  }

  async follow(): Promise<void> {}
}
