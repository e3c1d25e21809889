import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { onTestFinished } from "vitest";

/** A network that loses nothing, and at times holds everything back. */
export interface StallingProxy {
  readonly port: number;
  /** Passes nothing on for so long, in both directions. Connections stay open. */
  stall(ms: number): Promise<void>;
}

export async function stallingProxy(port: number): Promise<StallingProxy> {
  const open = new Set<Socket>();
  let isStalled = false;
  const proxy = createServer((client) => {
    const server = connect({ port, host: "127.0.0.1", noDelay: true });
    client.setNoDelay();
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      open.add(from);
      from.on("data", (bytes) => to.write(bytes));
      from.on("error", () => to.destroy());
      from.on("close", () => {
        open.delete(from);
        to.destroy();
      });
      if (isStalled) from.pause();
    }
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  onTestFinished(() => {
    proxy.close();
    for (const socket of open) socket.destroy();
  });
  return {
    port: (proxy.address() as AddressInfo).port,
    async stall(ms) {
      isStalled = true;
      for (const socket of open) socket.pause();
      await sleep(ms);
      isStalled = false;
      for (const socket of open) socket.resume();
    },
  };
}
