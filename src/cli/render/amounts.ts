/** A whole number with spaces between thousands: 12 345. */
export function thousands(count: number): string {
  return String(count).replace(/\B(?=(?:\d{3}){1,7}$)/g, " ");
}

/** "1 session", "2 sessions", "1 200 entries". */
export function plural(count: number, unit: string, units = `${unit}s`): string {
  return `${thousands(count)} ${count === 1 ? unit : units}`;
}

const STEPS = [
  ["second", 60],
  ["minute", 60],
  ["hour", 24],
  ["day", 30],
  ["month", 12],
] as const;

/** The age of a time at `now`: "3 hours ago". */
export function timeAgo(time: string, now: number): string {
  const { amount, unit } = ageOf(time, now);
  return unit === undefined ? "just now" : `${plural(amount, unit)} ago`;
}

const SHORT = { second: "s", minute: "min", hour: "h", day: "d", month: "mo", year: "y" } as const;

/** The same for a table: "3 h ago". */
export function shortTimeAgo(time: string, now: number): string {
  const { amount, unit } = ageOf(time, now);
  return unit === undefined ? "just now" : `${thousands(amount)} ${SHORT[unit]} ago`;
}

function ageOf(
  time: string,
  now: number,
): { readonly amount: number; readonly unit?: keyof typeof SHORT } {
  let amount = Math.max(0, Math.round((now - Date.parse(time)) / 1000));
  if (amount < 5) return { amount };
  for (const [unit, size] of STEPS) {
    if (amount < size) return { amount, unit };
    amount = Math.floor(amount / size);
  }
  return { amount, unit: "year" };
}
