import { Hono } from "hono";
import { HTTPException } from "hono/http-exception";
import { expect, onTestFinished, test } from "vitest";
import { createSessionService, ephemeralStores } from "../../index.ts";
import { scriptedModel } from "../../testing.ts";
import { type Acting, actingService, callers } from "./acting-service.ts";
import { FairShare } from "./fair-share.ts";

test("requests of one user that do not end leave room for another's", async () => {
  const service = createSessionService({ model: scriptedModel([]), stores: ephemeralStores() });
  onTestFinished(() => service.close());
  const app = new Hono<Acting>();
  const callerOf = callers(service, { userTokens: { ada: "a", bob: "b" } });
  app.use(actingService(callerOf, new FairShare(4)));
  const ended = Promise.withResolvers<void>();
  app.get("/slow", async (context) => {
    await ended.promise;
    return context.text("done");
  });
  app.get("/quick", (context) => context.text(context.get("user") ?? ""));
  app.onError((error) => (error instanceof HTTPException ? error.getResponse() : Response.error()));
  const ask = async (token: string, path: string) =>
    (await app.request(path, { headers: { authorization: `Bearer ${token}` } })).status;
  const slow = [ask("a", "/slow"), ask("a", "/slow")];
  expect(await ask("a", "/quick")).toBe(429);
  expect(await ask("b", "/quick")).toBe(200);
  ended.resolve();
  expect(await Promise.all(slow)).toEqual([200, 200]);
  expect(await ask("a", "/quick")).toBe(200);
});
