import { expect, onTestFinished, test } from "vitest";
import { Calendar, instant, timeSpan } from "./calendar.ts";

test("a time without a zone is UTC", () => {
  expect(instant("2025-01-10T09:00")).toBe(Date.UTC(2025, 0, 10, 9));
  expect(instant("2025-01-10T09:00+02:00")).toBe(Date.UTC(2025, 0, 10, 7));
  expect(instant(undefined)).toBeNaN();
});

test("a time without a zone is UTC in every zone, however it is written", () => {
  const nine = Date.UTC(2025, 0, 10, 9);
  const before = process.env.TZ;
  onTestFinished(() => {
    if (before === undefined) delete process.env.TZ;
    else process.env.TZ = before;
  });
  for (const zone of ["UTC", "America/New_York", "Asia/Kolkata"]) {
    process.env.TZ = zone;
    const times = ["2025-01-10 09:00", "2025-01-10t09:00", "10 Jan 2025 09:00", "2025/01/10 9:00"];
    expect(times.map(instant)).toEqual(times.map(() => nine));
    const days = ["2025-01-10", "2025/01/10", "Jan 10, 2025", "2025-1-10", "+002025-01-10"];
    expect(days.map(instant)).toEqual(days.map(() => Date.UTC(2025, 0, 10)));
    const zoned = ["2025-01-10 10:00+01:00", "2025-01-10 04:00 EST", "2025-01-10T09:00:00.000Z"];
    const dated = [new Date(nine).toString(), new Date(nine).toUTCString()];
    expect([...zoned, ...dated].map(instant)).toEqual([...zoned, ...dated].map(() => nine));
  }
  expect(["", "x", "2025-13-01", "2025-01-10T09:00+02"].map(instant)).toEqual(Array(4).fill(NaN));
});

test("a day as the upper bound is all of that day", () => {
  const { since, until } = timeSpan({ since: "2025-01-10", until: "2025-01-10" });
  expect(until - since).toBe(86_399_999);
  expect(timeSpan({})).toEqual({ since: -Infinity, until: Infinity });
});

test("a day begins with its first moment where clocks are changed at midnight", () => {
  for (const [zone, day, hours] of [
    ["America/Sao_Paulo", "2018-11-04", 23],
    ["America/Havana", "2024-03-10", 23],
    ["America/Havana", "2024-11-03", 25],
    ["America/Santiago", "2024-09-08", 23],
    ["Africa/Cairo", "2024-04-26", 23],
    ["Atlantic/Azores", "2024-10-27", 25],
    ["Asia/Beirut", "2024-03-31", 23],
    ["Europe/Berlin", "2024-10-27", 25],
    ["Asia/Kolkata", "1969-12-31", 24],
  ] as const) {
    const format = new Intl.DateTimeFormat("sv", { timeZone: zone });
    const { from, to } = new Calendar({ ms: Date.parse(`${day}T16:00Z`), zone }).days(0);
    const ends = [from - 1, from, to - 1, to].map((ms) => format.format(ms) === day);
    expect([zone, ends]).toEqual([zone, [false, true, true, false]]);
    expect((to - from) / 3_600_000).toBe(hours);
  }
});
