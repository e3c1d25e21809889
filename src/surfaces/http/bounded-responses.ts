import { type IncomingMessage, ServerResponse } from "node:http";

/**
 * A class of responses whose untaken bytes are bounded together: what was written and the clients
 * have not taken. Beyond `bytesMax`, the connection that has been behind for the longest time is
 * cut off. Its bytes are freed, and a reader of events goes on from the log when it reconnects.
 */
export function boundedResponses(bytesMax: number): typeof ServerResponse<IncomingMessage> {
  /** The responses that are behind, the one that has been behind for the longest time first. */
  const behind = new Map<ServerResponse, number>();
  let untaken = 0;

  function count(response: ServerResponse, bytes: number): void {
    untaken += bytes - (behind.get(response) ?? 0);
    if (bytes > 0) behind.set(response, bytes);
    else behind.delete(response);
    for (const slowest of behind.keys()) {
      if (untaken <= bytesMax) break;
      cut(slowest);
    }
  }

  function cut(response: ServerResponse): void {
    count(response, 0);
    response.destroy();
  }

  return class BoundedResponse extends ServerResponse<IncomingMessage> {
    constructor(request: IncomingMessage) {
      super(request);
      this.on("drain", () => count(this, 0));
      this.on("close", () => count(this, 0));
    }

    // Node's overloads cannot be written down again; all of them go on as they came.
    override write(...given: [never]): boolean {
      const more = super.write(...given);
      if (!more && !this.destroyed) count(this, this.writableLength);
      return more;
    }

    override end(...given: [never]): this {
      super.end(...given);
      if (this.writableLength > 0 && !this.destroyed) count(this, this.writableLength);
      return this;
    }
  };
}
