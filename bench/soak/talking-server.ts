import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

interface Asked {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
}

export interface TalkingServer {
  readonly host: string;
  close(): Promise<void>;
}

const ANSWER_WORDS = 90;

/** A model on this machine that answers with words of what it is asked, in some pieces, as OpenAI's chat completions do. */
export async function startTalkingServer(): Promise<TalkingServer> {
  const server = createServer(async (request, response) => {
    const { messages } = (await json(request)) as Asked;
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (chunk: object) => {
      const event = { id: "1", object: "chat.completion.chunk", created: 0, model: "talks" };
      response.write(`data: ${JSON.stringify({ ...event, ...chunk })}\n\n`);
    };
    const words = answerTo(messages.map(({ content }) => textOf(content)));
    for (let at = 0; at < words.length; at += 15) {
      const content = `${words.slice(at, at + 15).join(" ")} `;
      send({ choices: [{ index: 0, delta: { role: "assistant", content } }] });
    }
    send({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
    const [prompt_tokens, completion_tokens] = [messages.length * 60, words.length];
    const total_tokens = prompt_tokens + completion_tokens;
    send({ choices: [], usage: { prompt_tokens, completion_tokens, total_tokens } });
    response.end("data: [DONE]\n\n");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    host: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** A summary has words from all of the record; another answer, those of the last message from its end. */
function answerTo(messages: readonly string[]): string[] {
  const last = messages.at(-1) ?? "";
  const words = last.split(/\s+/).reverse();
  if (last.includes("CONTEXT COMPACTION")) {
    const record = messages.join(" ").split(/\s+/);
    return record.filter((_, at) => Math.floor(at / 12) % 5 === 0).slice(0, 4 * ANSWER_WORDS);
  }
  return Array.from({ length: ANSWER_WORDS }, (_, at) => words[at % words.length] ?? "yes");
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map(({ text }) => (typeof text === "string" ? text : "")).join("\n");
}
