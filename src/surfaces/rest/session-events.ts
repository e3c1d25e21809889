import type { Context } from "hono";
import { SessionError } from "../../core/errors.ts";
import type { EventEnvelope } from "../../core/event.ts";
import { subscribe as subscribeRequest } from "../../core/requests.ts";
import type { SessionService } from "../../core/session-service.ts";
import { errorToWire, fromWire } from "../../core/wire.ts";
import { wireError } from "../call-operation.ts";
import type { OpenStream, OpenStreams } from "./open-streams.ts";
import { readQuery } from "./query-params.ts";
import type { RestLimits } from "./rest-options.ts";
import { eventFrame, frame, streamResponse } from "./stream-response.ts";

/** How long a browser waits before it reconnects. */
const RETRY_MS = 1000;

/**
 * Streams a session's events. A reader that reconnects with the last id it received
 * continues after it: no event is missed or repeated.
 */
export async function sessionEvents(
  context: Context,
  service: Pick<SessionService, "subscribe">,
  streams: OpenStreams,
  limits: Pick<RestLimits, "heartbeatMs" | "stallMs">,
): Promise<Response> {
  const params = {
    ...readQuery(subscribeRequest, new URL(context.req.url).searchParams),
    ...lastEventId(context),
    session_id: context.req.param("session_id"),
  };
  const stream = streams.open();
  try {
    const opened = Promise.withResolvers<number>();
    const events = service
      .subscribe(fromWire(subscribeRequest, params) as never, {
        signal: stream.signal,
        onOpen: opened.resolve,
      })
      [Symbol.asyncIterator]();
    const first = events.next();
    // An unknown session is a failed request, not a stream that ends.
    const from = await Promise.race([opened.promise, first.then(() => opened.promise)]);
    const knows = params.after_seq !== undefined;
    return streamResponse(frames(events, first, stream, knows ? undefined : from), {
      ...limits,
      onEnd: () => stream.close(),
      headers: { "last-event-id": String(from) },
    });
  } catch (error) {
    stream.close();
    throw errorToWire(subscribeRequest, SessionError.from(error));
  }
}

/** `from` is the id for a reader that has not received an event yet. */
async function* frames(
  events: AsyncIterator<EventEnvelope>,
  first: Promise<IteratorResult<EventEnvelope>>,
  stream: OpenStream,
  from: number | undefined,
): AsyncGenerator<string> {
  yield `${from === undefined ? "" : `id: ${from}\n`}retry: ${RETRY_MS}\n\n`;
  try {
    for (let next = await first; !next.done; next = await events.next()) {
      yield eventFrame(next.value);
    }
    if (stream.endedHere) yield frame("done", {});
  } catch (error) {
    yield frame("error", wireError(SessionError.from(error)));
  }
}

/** Overrides `after_seq` of the URL, because a browser reconnects with the same URL. */
function lastEventId({ req }: Context): { readonly after_seq?: unknown } {
  const id = req.header("last-event-id");
  if (id === undefined || id === "") return {};
  return { after_seq: /^\d+$/.test(id) ? Number(id) : id };
}
