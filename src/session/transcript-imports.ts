import { SessionError } from "../core/errors.ts";
import { given } from "../core/fields.ts";
import * as requests from "../core/requests.ts";
import type { ImportReport } from "../core/session-service.ts";
import type { ProjectionRunner } from "../projections/projection-runner.ts";
import type { SessionOptions } from "./service-options.ts";

/** The imports of a service. Memory is filled by what follows the service's log. */
export class TranscriptImports {
  readonly #options: Pick<SessionOptions, "importer" | "stores">;
  readonly #model: string;
  readonly #projections: ProjectionRunner;
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<unknown>>();

  constructor(
    options: Pick<SessionOptions, "importer" | "stores">,
    model: string,
    projections: ProjectionRunner,
  ) {
    this.#options = options;
    this.#model = model;
    this.#projections = projections;
  }

  async run(request: requests.ImportTranscripts | requests.ImportStream): Promise<ImportReport> {
    const file = fileOf(request);
    const running = this.#import(file);
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  async #import({ bytes, name }: requests.ImportStream): Promise<ImportReport> {
    const { importer, stores } = this.#options;
    const { events, sessions, imports, forgotten } = stores;
    if (!importer || !imports) {
      throw new SessionError("NOT_POSSIBLE", {
        message: "The stores of this service cannot import.",
        hint: "Pass stores with `imports`, such as `sqliteStores({ path })`.",
      });
    }
    try {
      return await importer({
        stores: { events, sessions, imports, ...given({ forgotten }) },
        bytes,
        ...given({ name }),
        model: this.#model,
        signal: this.#closing.signal,
        onProgress: () => this.#projections.wake(),
      });
    } finally {
      await this.#projections.flush();
    }
  }

  /** Stops what is being imported. What was stored stays, and the next import of the file goes on. */
  async close(): Promise<void> {
    this.#closing.abort(
      new SessionError("AGENT_ERROR", { detail: "The service was closed during the import." }),
    );
    await Promise.allSettled(this.#running);
  }
}

function fileOf(
  request: requests.ImportTranscripts | requests.ImportStream,
): requests.ImportStream {
  const streamed = requests.streamOf(request);
  if (streamed) return streamed;
  const { text, base64, name } = requests.parseRequest(requests.importTranscripts, request);
  const content = text === undefined ? Buffer.from(base64 ?? "", "base64") : Buffer.from(text);
  return { bytes: inOnePiece(content), ...given({ name }) };
}

async function* inOnePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
