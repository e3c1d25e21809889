/**
 * A number that is written in groups, such as `4821 193 211` or `DE89 3704-0044`, and the same in other groups or
 * without them, are one number.
 */
const SEPARATORS = "[ ,.'’_/\\u00a0\\u202f-]";
const GROUP = "[A-Z]{0,3}\\d{1,12}";
const GROUPED = new RegExp(`${GROUP}(?:${SEPARATORS}${GROUP})+`, "g");
const SEPARATOR = new RegExp(SEPARATORS);

/** Shorter ones are too often two numbers that stand side by side. */
const DIGITS_MIN = 6;
/** No number that people tell has more. */
const CHARACTERS_MAX = 40;
/** Decimals, versions, dates and times. */
const OTHERS =
  /^(?:\d+[.,]\d+|\d+(?:\.\d+){2,3}|\d{4}[-/.]\d\d[-/.]\d\d|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})$/;

/** The numbers in groups of a text: as they are written, and joined. */
export function* groupedNumbers(text: string): Generator<string> {
  for (const [grouped] of text.matchAll(GROUPED)) {
    const joined = grouped.split(SEPARATOR).join("");
    if (joined.length > CHARACTERS_MAX || OTHERS.test(grouped) || !isNumber(joined)) continue;
    yield grouped;
    yield joined;
  }
}

/** Whether a name is a number that may be written in groups. */
export function isNumber(name: string): boolean {
  return /^[A-Z\d]+$/.test(name) && name.replace(/\D/g, "").length >= DIGITS_MIN;
}

/** Where a text has one of the numbers in groups. */
export function* placesOfNumbers(text: string, numbers: ReadonlySet<string>) {
  if (numbers.size === 0) return;
  for (const { 0: grouped, index } of text.matchAll(GROUPED)) {
    const groups = grouped.split(SEPARATOR);
    let start = index;
    for (const [at, group] of groups.entries()) {
      let [joined, end] = [group, start + group.length];
      for (let next = at + 1; next < groups.length && joined.length < CHARACTERS_MAX; next += 1) {
        const more = groups[next] ?? "";
        joined += more;
        end += 1 + more.length;
        if (numbers.has(joined)) yield { start, end, number: joined };
      }
      start += group.length + 1;
    }
  }
}
