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

/** How long before `now` a time was: "3 hours ago". */
export function timeAgo(time: string, now: number): string {
  let amount = Math.max(0, Math.round((now - Date.parse(time)) / 1000));
  if (amount < 5) return "just now";
  for (const [unit, size] of STEPS) {
    if (amount < size) return `${plural(amount, unit)} ago`;
    amount = Math.floor(amount / size);
  }
  return `${plural(amount, "year")} ago`;
}
