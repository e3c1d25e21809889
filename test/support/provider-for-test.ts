import { onTestFinished } from "vitest";
import {
  type ProviderScript,
  type ProviderServer,
  startProviderServer,
} from "./provider-server/provider-server.ts";

/** A provider's server that ends with the test. */
export async function providerForTest(script?: ProviderScript): Promise<ProviderServer> {
  const server = await startProviderServer(script);
  onTestFinished(() => server.close());
  return server;
}
