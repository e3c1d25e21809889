import { SessionError } from "../core/errors.ts";
import { given } from "../core/fields.ts";
import type { ImportOperations, ImportReport, ImportStream } from "../core/operations/imports.ts";
import type { CheckedRequest } from "../core/operations.ts";
import type { Part, ServiceCore } from "./service-core.ts";

/** Imports transcripts. Memory is filled by what follows the service's log. */
export function importOperations({
  options: { importer, stores },
  settings,
  projections,
}: ServiceCore): Part<keyof ImportOperations> & { close(): Promise<void> } {
  const closing = new AbortController();
  const running = new Set<Promise<unknown>>();

  async function importStream({ bytes, name }: ImportStream): Promise<ImportReport> {
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
        model: settings.defaultModelName,
        signal: closing.signal,
        onProgress: () => projections.wake(),
      });
    } finally {
      await projections.flush();
    }
  }

  return {
    async importTranscripts(request) {
      const imported = importStream(streamed(request));
      running.add(imported);
      try {
        return await imported;
      } finally {
        running.delete(imported);
      }
    },
    /** Stops what is being imported. What was stored stays, and the next import of the file goes on. */
    async close() {
      closing.abort(
        new SessionError("AGENT_ERROR", { detail: "The service was closed during the import." }),
      );
      await Promise.allSettled(running);
    },
  };
}

function streamed(request: CheckedRequest<"importTranscripts">): ImportStream {
  if ("bytes" in request) return request;
  const { text, base64, name } = request;
  const content = text === undefined ? Buffer.from(base64 ?? "", "base64") : Buffer.from(text);
  return { bytes: inOnePiece(content), ...given({ name }) };
}

async function* inOnePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
