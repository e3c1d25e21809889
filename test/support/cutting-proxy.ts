import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** A network that fails. */
export interface CuttingProxy {
  readonly port: number;
  /** How many connections it has cut. */
  readonly cuts: number;
}

/**
 * Passes bytes on to a server of this machine, and cuts the connection around some requests that contain
 * one of `texts`: before the server gets the request, or after it has done it and before its answer is back.
 */
export async function cuttingProxy(
  port: number,
  texts: readonly string[],
  share: number,
): Promise<CuttingProxy> {
  let cuts = 0;
  const open = new Set<Socket>();
  const proxy = createServer((client) => {
    const server = connect({ port, host: "127.0.0.1", noDelay: true });
    client.setNoDelay();
    let cutsAnswer = false;
    const end = () => {
      for (const socket of [client, server]) {
        socket.destroy();
        open.delete(socket);
      }
    };
    const cut = () => {
      cuts += 1;
      end();
    };
    for (const socket of [client, server]) {
      open.add(socket);
      socket.on("error", end).on("close", end);
    }
    client.on("data", (bytes) => {
      if (texts.some((text) => bytes.includes(text)) && Math.random() < share) {
        if (Math.random() < 0.3) return cut();
        cutsAnswer = true;
      }
      server.write(bytes);
    });
    server.on("data", (bytes) => {
      if (cutsAnswer) cut();
      else client.write(bytes);
    });
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  onTestFinished(() => {
    proxy.close();
    for (const socket of open) socket.destroy();
  });
  return {
    port: (proxy.address() as AddressInfo).port,
    get cuts() {
      return cuts;
    },
  };
}
