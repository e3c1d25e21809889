import { join } from "node:path";
import { onTestFinished } from "vitest";
import { aiSdkModels } from "../../src/ai-sdk.ts";
import { createSessionService, type SessionService, type Stores } from "../../src/index.ts";
import { sqliteStores } from "../../src/sqlite.ts";
import type { ServiceSetup } from "../../src/testing.ts";
import { scriptedProvider } from "./scripted-provider.ts";
import type { OpenedService } from "./surfaces.ts";

/** The SDK with the model that the command has: a provider's real package, and a server with the script. */
export async function sdkWithProvider(place: string, setup: ServiceSetup): Promise<SessionService> {
  const { service, close } = await serviceWithProvider(
    setup,
    sqliteStores({ path: join(place, "rkat.db") }),
  );
  onTestFinished(close);
  return service;
}

/** The same on any stores. */
export async function serviceWithProvider(
  setup: ServiceSetup,
  stores: Stores,
): Promise<OpenedService> {
  const provider = await scriptedProvider(setup.replies);
  const service = createSessionService({
    model: "openai/gpt-test",
    models: aiSdkModels({ keys: { openai: "test" }, baseUrls: { openai: provider.urls.openai } }),
    stores,
    compaction: { ...setup.compaction },
  });
  const close = async () => {
    await service.close();
    await stores.close();
  };
  return { service, close };
}
