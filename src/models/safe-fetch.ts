import { SessionError } from "../core/errors.ts";
import { notOfModels } from "./provider-failure.ts";

type Fetch = typeof globalThis.fetch;

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/**
 * A `fetch` that never follows a redirect: the key would go along, because `fetch` takes headers
 * such as `x-api-key` to another origin. A web page is no answer either, and no answer is without an end.
 *
 * It throws `PROVIDER_ERROR`. A retry would get the same answer, so there is none.
 */
export function safeFetch(send: Fetch): Fetch {
  return async (input, init) => {
    const response = await send(input, { ...init, redirect: "manual" });
    const asked = input instanceof Request ? input.url : String(input);
    const isPage = response.ok && /^text\/html\b/i.test(response.headers.get("content-type") ?? "");
    if (!isPage && !REDIRECTS.has(response.status)) return bounded(response);
    await response.body?.cancel();
    if (isPage) throw notOfModels(asked, "a web page");
    const target = URL.parse(response.headers.get("location") ?? "", asked);
    throw new SessionError("PROVIDER_ERROR", {
      detail: `${new URL(asked).origin} redirects to ${target?.origin ?? "another address"} (HTTP ${response.status}). Redirects are not followed, because your key would go there.`,
      hint: "Check the provider's base URL. If the provider has moved, set the new address yourself.",
    });
  };
}

const MIB = 1024 * 1024;

/** The reader of a stream keeps each line until it ends. A line with an image has up to 20 MB. */
const LINE_BYTES_MAX = 32 * MIB;

/** Seven times the stream of a longest answer: 128 000 tokens, each with 300 bytes around it. */
const ANSWER_BYTES_MAX = 256 * MIB;

/** The same response. Its body fails when it, or a line of it, is longer than any answer. */
function bounded(response: Response): Response {
  let [inAll, inLine] = [0, 0];
  const counted = response.body?.pipeThrough(
    new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(bytes, out) {
        const afterLine = bytes.lastIndexOf(LINE_END) + 1;
        inLine = bytes.length - afterLine + (afterLine === 0 ? inLine : 0);
        inAll += bytes.length;
        if (inLine > LINE_BYTES_MAX) throw tooLong(LINE_BYTES_MAX, "a line of the answer");
        if (inAll > ANSWER_BYTES_MAX) throw tooLong(ANSWER_BYTES_MAX, "the answer");
        out.enqueue(bytes);
      },
    }),
  );
  if (!counted) return response;
  // Servers may send a status that no `Response` can be made with.
  const status = Math.min(response.status, 599);
  const { statusText, headers } = response;
  return new Response(counted, { status, statusText, headers });
}

const LINE_END = 10;

function tooLong(bytes: number, what: string): SessionError {
  return new SessionError("PROVIDER_ERROR", {
    detail: `The server sent more than ${bytes / MIB} MiB, and ${what} had no end.`,
    hint: "Check the model's server. rkat reads no more of such an answer.",
  });
}
