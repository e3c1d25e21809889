import { shuttingDown, unavailable } from "../http/error-response.ts";

/** One stream of a session's events, while somebody reads it. */
export interface OpenStream {
  readonly signal: AbortSignal;
  /** Whether the server ended it, and not its reader. */
  readonly endedHere: boolean;
  close(): void;
}

/** The streams that are open, so that there are not too many, and that they are ended. */
export class OpenStreams {
  readonly #max: number;
  readonly #end = new Set<() => void>();
  #ended = false;

  constructor(max: number) {
    this.#max = max;
  }

  /** @throws SessionError `SERVICE_UNAVAILABLE` when as many are open as may be, or no more shall. */
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
