import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** A network that may lose everything without a word. */
export interface SwallowingProxy {
  readonly port: number;
  /** While it is true, connections stay open, and no byte arrives. */
  swallows: boolean;
}

/** Passes bytes on to a server of this machine, or swallows them. */
export async function swallowingProxy(port: number): Promise<SwallowingProxy> {
  const open = new Set<Socket>();
  const proxy = createServer((client) => {
    const server = connect({ port, host: "127.0.0.1" });
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      open.add(from);
      from.on("data", (bytes) => {
        if (!state.swallows) to.write(bytes);
      });
      from.on("error", () => to.destroy()).on("close", () => to.destroy());
    }
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  onTestFinished(() => {
    proxy.close();
    for (const socket of open) socket.destroy();
  });
  const state = { port: (proxy.address() as AddressInfo).port, swallows: false };
  return state;
}
