const UNITS = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 } as const;
const SPELLING = /^(?:(?<h>\d+)h)?(?:(?<m>\d+)m(?!s))?(?:(?<s>\d+)s)?(?:(?<ms>\d+)ms)?$/;

/** Milliseconds of a duration such as `1h30m`, `90s` or a number of seconds. Undefined for anything else. */
export function parseDuration(value: unknown): number | undefined {
  const text = typeof value === "number" ? String(value) : value;
  if (typeof text !== "string" || text === "") return undefined;
  if (/^\d+(\.\d+)?$/.test(text)) return positive(Math.round(Number(text) * 1000));
  const parts = SPELLING.exec(text)?.groups;
  if (parts === undefined) return undefined;
  const units = Object.entries(UNITS);
  return positive(units.reduce((sum, [unit, ms]) => sum + Number(parts[unit] ?? 0) * ms, 0));
}

/** The shortest text that `parseDuration` reads back. */
export function formatDuration(durationMs: number): string {
  let rest = durationMs;
  let spelled = "";
  for (const [unit, ms] of Object.entries(UNITS)) {
    const count = Math.floor(rest / ms);
    if (count > 0) spelled += `${count}${unit}`;
    rest -= count * ms;
  }
  return spelled || "0s";
}

function positive(ms: number): number | undefined {
  return Number.isSafeInteger(ms) && ms > 0 ? ms : undefined;
}
