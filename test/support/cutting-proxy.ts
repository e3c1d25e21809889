import { localProxy } from "./local-proxy.ts";

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
  const proxy = await localProxy(port, (client, server) => {
    let cutsAnswer = false;
    const cut = () => {
      cuts += 1;
      for (const socket of [client, server]) socket.destroy();
    };
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
  return {
    port: proxy.port,
    get cuts() {
      return cuts;
    },
  };
}
