import { setTimeout as sleep } from "node:timers/promises";
import { localProxy } from "./local-proxy.ts";

/** A network that loses nothing, and at times holds everything back. */
export interface StallingProxy {
  readonly port: number;
  /** Passes nothing on for so long, in both directions. Connections stay open. */
  stall(ms: number): Promise<void>;
}

export async function stallingProxy(port: number): Promise<StallingProxy> {
  let isStalled = false;
  const proxy = await localProxy(port, (client, server) => {
    client.on("data", (bytes) => server.write(bytes));
    server.on("data", (bytes) => client.write(bytes));
    if (isStalled) for (const socket of [client, server]) socket.pause();
  });
  return {
    port: proxy.port,
    async stall(ms) {
      isStalled = true;
      for (const socket of proxy.open) socket.pause();
      await sleep(ms);
      isStalled = false;
      for (const socket of proxy.open) socket.resume();
    },
  };
}
