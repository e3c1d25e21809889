import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** A network that fails. */
export interface CuttingProxy {
  readonly port: number;
  /** How many connections it has cut. */
  readonly cuts: number;
}

/** The names that `Statements.prepared` gives. */
const PREPARED = /rkat_[0-9a-f]{32}/g;

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
  // Only the first request of a prepared statement has its text. Later ones have its name.
  const names = new Set<string>();
  const isWatched = (bytes: Buffer) => {
    if (!texts.some((text) => bytes.includes(text))) {
      return [...names].some((name) => bytes.includes(name));
    }
    for (const [name] of bytes.toString("latin1").matchAll(PREPARED)) names.add(name);
    return true;
  };
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
      if (isWatched(bytes) && Math.random() < share) {
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
