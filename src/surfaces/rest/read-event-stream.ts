import {
  type EventSourceMessage,
  EventSourceParserStream,
  ParseError,
} from "eventsource-parser/stream";

/** Characters of one event at the most: a prompt or tool output is in one. */
const EVENT_MAX = 64 * 1024 * 1024;

/** The server-sent events of a response. Ends where the connection does, however that comes. */
export async function* readEventStream(response: Response): AsyncGenerator<EventSourceMessage> {
  if (!response.body) return;
  const messages = response.body
    .pipeThrough(new TextDecoderStream() as never)
    .pipeThrough(new EventSourceParserStream({ maxBufferSize: EVENT_MAX, onError: "terminate" }));
  try {
    yield* messages;
  } catch (error) {
    if (error instanceof ParseError) throw error;
    // Of a lost connection the reader learns from the last event, which was not the end.
  }
}
