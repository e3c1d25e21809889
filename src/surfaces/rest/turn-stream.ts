import { SessionError } from "../../core/errors.ts";
import { wireError } from "../call-operation.ts";
import type { TurnEvents } from "../turn-events.ts";
import type { OpenStream } from "./open-streams.ts";
import type { RestLimits } from "./rest-options.ts";
import { eventFrame, frame, streamResponse } from "./stream-response.ts";

type Turn = Promise<Record<string, unknown>>;

/**
 * Starts a turn and streams its events and its result. A turn that fails before its
 * first event fails like any other request.
 */
export async function turnStream(
  begin: () => Turn,
  events: TurnEvents,
  stream: OpenStream,
  limits: Pick<RestLimits, "heartbeatMs" | "stallMs">,
): Promise<Response> {
  const onEnd = () => {
    stream.close();
    events.abandon();
  };
  try {
    const turn = begin();
    const end = () => events.end();
    turn.then(end, end);
    await Promise.race([events.begun, turn]);
    return streamResponse(frames(events, turn), { ...limits, onEnd });
  } catch (error) {
    onEnd();
    throw error;
  }
}

async function* frames(events: TurnEvents, turn: Turn): AsyncGenerator<string> {
  try {
    for await (const batch of events.batches()) yield batch.map(eventFrame).join("");
    yield frame("result", await turn);
  } catch (error) {
    yield frame("error", wireError(SessionError.from(error)));
  }
}
