import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface AnswerServer {
  readonly url: string;
  close(): Promise<void>;
}

const CHUNKS = [
  { choices: [{ index: 0, delta: { role: "assistant", content: "ok" } }] },
  { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
  { choices: [], usage: { prompt_tokens: 10, completion_tokens: 1, total_tokens: 11 } },
];

/** Answers "ok" to whatever it is asked, as OpenAI's chat completions do, on this machine only. */
export async function startAnswerServer(): Promise<AnswerServer> {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const chunk of CHUNKS) {
      const event = { id: "1", object: "chat.completion.chunk", created: 0, model: "answers" };
      response.write(`data: ${JSON.stringify({ ...event, ...chunk })}\n\n`);
    }
    response.end("data: [DONE]\n\n");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
