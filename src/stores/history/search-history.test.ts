import { expect, onTestFinished, test } from "vitest";
import { timeRange } from "./search-history.ts";

test("a time without a zone is in UTC, wherever the process runs", () => {
  const { TZ } = process.env;
  onTestFinished(() => {
    if (TZ === undefined) delete process.env.TZ;
    else process.env.TZ = TZ;
  });
  process.env.TZ = "America/New_York";
  const { sinceMs, untilMs } = timeRange({ since: "2025-01-20T10:00", until: "2025-01-20" });
  expect(sinceMs).toBe(Date.UTC(2025, 0, 20, 10));
  expect(untilMs).toBe(Date.UTC(2025, 0, 21) - 1);
});
