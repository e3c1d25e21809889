import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { withSpooled } from "./disk-file.ts";

test("an upload whose service closes fails with the reason of that, whatever its end says", async () => {
  const closing = new AbortController();
  const reason = new Error("The service was closed.");
  async function* bytes() {
    yield Buffer.from("{");
    closing.abort(reason);
    await setImmediate();
    throw new Error("The body broke off.");
  }
  const spooled = withSpooled(bytes(), "chat.jsonl", closing.signal, async () => {});
  await expect(spooled).rejects.toBe(reason);
});
