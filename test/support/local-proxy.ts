import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** Stands between a client and a server of this machine, until the test ends. */
export interface LocalProxy {
  readonly port: number;
  /** The sockets of all connections, both sides. */
  readonly open: ReadonlySet<Socket>;
}

/** `join` passes the bytes of a connection on, in its own way. */
export async function localProxy(
  port: number,
  join: (client: Socket, server: Socket) => void,
): Promise<LocalProxy> {
  const open = new Set<Socket>();
  const proxy = createServer((client) => {
    const server = connect({ port, host: "127.0.0.1", noDelay: true });
    client.setNoDelay();
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      open.add(one);
      one.on("error", () => other.destroy());
      one.on("close", () => {
        open.delete(one);
        other.destroy();
      });
    }
    join(client, server);
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  onTestFinished(() => {
    proxy.close();
    for (const socket of open) socket.destroy();
  });
  return { port: (proxy.address() as AddressInfo).port, open };
}
