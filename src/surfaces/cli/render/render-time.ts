const STEPS = [
  ["second", 60],
  ["minute", 60],
  ["hour", 24],
  ["day", 30],
  ["month", 12],
] as const;

/** How long ago something was, in the words that people use. */
export function timeAgo(time: string, now: number): string {
  let amount = Math.max(0, Math.round((now - Date.parse(time)) / 1000));
  if (amount < 5) return "just now";
  for (const [unit, size] of STEPS) {
    if (amount < size) return count(amount, unit);
    amount = Math.floor(amount / size);
  }
  return count(amount, "year");
}

function count(amount: number, unit: string): string {
  return `${amount} ${unit}${amount === 1 ? "" : "s"} ago`;
}
