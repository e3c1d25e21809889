/** The place of a number in an ascending list, or -1. */
export function placeOf(numbers: Uint32Array, number: number): number {
  const place = placeFrom(numbers, number);
  return numbers[place] === number ? place : -1;
}

/** The first place in an ascending list whose number is not below `least`. Starts looking at `from`. */
export function placeFrom(numbers: Uint32Array, least: number, from = 0): number {
  let [start, end] = [from, numbers.length];
  while (start < end) {
    const middle = (start + end) >> 1;
    if ((numbers[middle] as number) < least) start = middle + 1;
    else end = middle;
  }
  return start;
}
