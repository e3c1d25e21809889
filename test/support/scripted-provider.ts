import { setTimeout as sleep } from "node:timers/promises";
import type { ScriptedReply } from "../../src/testing.ts";
import { providerForTest } from "./provider-for-test.ts";
import type { ProviderServer } from "./provider-server/provider-server.ts";
import type { ProviderReply } from "./provider-server/reply.ts";

/** A provider's server that says what a scripted model would. `delay` waits before a slow reply. */
export function scriptedProvider(
  replies: readonly ScriptedReply[] = [],
  delay: (ms: number) => Promise<unknown> = (ms) => sleep(ms, undefined, { ref: false }),
): Promise<ProviderServer> {
  return providerForTest(async ({ closed }, call) => {
    const reply = replies[call] ?? "ok";
    if (typeof reply === "string") return reply;
    if (!(reply instanceof Error) && reply.delayMs !== undefined) {
      await Promise.race([closed, delay(reply.delayMs)]);
    }
    return providerReply(reply);
  });
}

function providerReply(reply: Exclude<ScriptedReply, string>): ProviderReply {
  // A status that says: the request is at fault, another try will not mend it.
  if (reply instanceof Error) return { status: 400, message: reply.message };
  if (reply.error) return { status: 400, message: "The script says so.", code: "invalid_request" };
  const { reasoning, text, toolCalls, breaksOff } = reply;
  return {
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(text === undefined ? {} : { text }),
    ...(toolCalls ? { toolCalls } : {}),
    ...(breaksOff ? { interruption: "end" } : {}),
  };
}
