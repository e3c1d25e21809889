import { type IncomingHttpHeaders, request } from "node:http";

/** One server-sent event, as its text has it. */
export interface Frame {
  readonly id?: string;
  readonly event?: string;
  readonly data?: string;
}

/** The frames of a stream's text; comments are left out, and what is cut off at its end. */
export function framesOf(text: string): Frame[] {
  return text
    .split("\n\n")
    .slice(0, -1)
    .map((block) =>
      Object.fromEntries(
        block
          .split("\n")
          .filter((line) => !line.startsWith(":"))
          .map((line) => line.split(/: (.*)/s).slice(0, 2)),
      ),
    );
}

/** The ids, as numbers. */
export function idsOf(frames: readonly Frame[]): number[] {
  return frames.flatMap(({ id, data }) => (id === undefined || !data ? [] : [Number(id)]));
}

/** A reader that takes nothing until it is told to. */
export function stalledReader(
  url: string,
  options: { readonly method?: string; readonly body?: string; readonly headers?: object } = {},
): Promise<{
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readUntil(end: RegExp): Promise<string>;
}> {
  const { method = "GET", body, headers } = options;
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers: { ...headers } }, (response) => {
      // Not flowing until somebody listens: the sockets fill, and the server has to wait.
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        async readUntil(end) {
          let text = "";
          for await (const chunk of response.setEncoding("utf8")) {
            text += chunk;
            if (end.test(text.slice(-10_000))) break;
          }
          return text;
        },
      });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

/** A client of MCP over HTTP. It reads the start of each answer, and nothing after that. */
export async function stalledMcp(url: string) {
  const post = async (body: object, headers: Record<string, string> = {}) =>
    await stalledReader(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...body }),
    });
  const clientInfo = { name: "stalled", version: "1" };
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
  const { headers } = await post({ method: "initialize", params });
  return async (name: string, args: object) =>
    await post(
      { method: "tools/call", params: { name, arguments: args } },
      { "mcp-session-id": String(headers["mcp-session-id"]) },
    );
}
