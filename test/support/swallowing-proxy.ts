import { localProxy } from "./local-proxy.ts";

/** A network that may lose everything without a word. */
export interface SwallowingProxy {
  readonly port: number;
  /** While it is true, connections stay open, and no byte arrives. */
  swallows: boolean;
}

/** Passes bytes on to a server of this machine, or swallows them. */
export async function swallowingProxy(port: number): Promise<SwallowingProxy> {
  const pass = (bytes: Buffer, to: { write(bytes: Buffer): unknown }) => {
    if (!state.swallows) to.write(bytes);
  };
  const proxy = await localProxy(port, (client, server) => {
    client.on("data", (bytes) => pass(bytes, server));
    server.on("data", (bytes) => pass(bytes, client));
  });
  const state = { port: proxy.port, swallows: false };
  return state;
}
