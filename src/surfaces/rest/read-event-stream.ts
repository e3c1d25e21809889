import {
  type EventSourceMessage,
  EventSourceParserStream,
  ParseError,
} from "eventsource-parser/stream";

/** Characters of one event. A whole prompt or tool output is in one. */
const EVENT_MAX = 64 * 1024 * 1024;

/** The server-sent events of a response, until the connection ends or is lost. */
export async function* readEventStream(response: Response): AsyncGenerator<EventSourceMessage> {
  if (!response.body) return;
  const messages = response.body
    .pipeThrough(new TextDecoderStream() as never)
    .pipeThrough(new EventSourceParserStream({ maxBufferSize: EVENT_MAX, onError: "terminate" }));
  try {
    yield* messages;
  } catch (error) {
    if (error instanceof ParseError) throw error;
    // A lost connection. The reader knows it, because the last event was not the final one.
  }
}
