import { once } from "node:events";
import { type ClientRequest, createServer, request as send } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export interface RoundRobin {
  readonly url: string;
  /** The server that gets the next request. */
  next(): number;
  /** Which servers got requests with this method and end of the path, by their places in the list. */
  serversOf(method: string, path: string): readonly number[];
}

/**
 * A load balancer that gives each request to the next server, whoever got the one before. A server that
 * does not answer is left out.
 */
export async function roundRobin(servers: readonly string[]): Promise<RoundRobin> {
  const handled: { readonly request: string; readonly server: number }[] = [];
  let next = 0;
  const proxy = createServer((request, response) => {
    request.on("error", () => {});
    response.on("error", () => {});
    const { method = "GET", headers, url: path = "/" } = request;
    const first = next;
    next += 1;
    const pass = (tries: number) => {
      const server = (first + tries) % servers.length;
      const to = new URL(path, servers[server]);
      const passed: ClientRequest = send(to, {
        method,
        headers: { ...headers, host: to.host },
        agent: false,
      });
      passed.on("socket", (socket) =>
        socket.once("connect", () => {
          handled.push({ request: `${method} ${to.pathname}`, server });
          request.pipe(passed);
        }),
      );
      passed.on("response", (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
        answer.on("error", () => response.destroy());
      });
      passed.on("error", (error) => {
        const isDown = "code" in error && error.code === "ECONNREFUSED";
        if (isDown && tries + 1 < servers.length) pass(tries + 1);
        else response.destroy();
      });
      response.on("close", () => passed.destroy());
    };
    pass(0);
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    next: () => next % servers.length,
    serversOf(method, path) {
      const all = handled.filter(
        ({ request }) => request.startsWith(`${method} `) && request.endsWith(path),
      );
      return all.map(({ server }) => server);
    },
  };
}
