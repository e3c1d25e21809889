import { shuttingDown, unavailable } from "../http/error-response.ts";

/** One open event stream. */
export interface OpenStream {
  readonly signal: AbortSignal;
  /** True when the server ended it, not the reader. */
  readonly endedHere: boolean;
  close(): void;
}

/** All open event streams, to limit their number and to end them. */
export class OpenStreams {
  readonly #max: number;
  readonly #end = new Set<() => void>();
  #ended = false;

  constructor(max: number) {
    this.#max = max;
  }

  /** @throws SessionError `SERVICE_UNAVAILABLE` when too many are open, or the server shuts down. */
  open(): OpenStream {
    if (this.#ended) throw shuttingDown();
    if (this.#end.size >= this.#max)
      throw unavailable(`Too many event streams: ${this.#max} are open.`);
    const controller = new AbortController();
    let endedHere = false;
    const end = () => {
      endedHere = true;
      controller.abort();
    };
    this.#end.add(end);
    return {
      signal: controller.signal,
      get endedHere() {
        return endedHere;
      },
      close: () => {
        this.#end.delete(end);
        controller.abort();
      },
    };
  }

  endAll(): void {
    this.#ended = true;
    for (const end of this.#end) end();
  }
}
