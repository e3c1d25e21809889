/** The most alternatives that the braces of one glob may stand for. */
const ALTERNATIVES_MAX = 100;

/**
 * Whether paths fit a glob: `*` is any part of a name, `**` any folders, `?` one letter, `{ts,tsx}` one
 * of several. A glob without a slash fits names in every folder.
 *
 * A path is compared in time proportional to its length times the glob's length, whatever the glob is.
 */
export function globMatcher(glob: string): (path: string) => boolean {
  const everywhere = glob.includes("/") ? glob : `**/${glob}`;
  const patterns = alternativesOf(everywhere.replace(/^\.?\//, "")).map((pattern) =>
    pattern.split("/").map((segment) => [...segment]),
  );
  return (path) => {
    const names = path.split("/").map((name) => [...name]);
    return patterns.some((pattern) => fits(pattern, names, isAnyFolders, fitsName));
  };
}

function fitsName(pattern: readonly string[], name: readonly string[]): boolean {
  return fits(
    pattern,
    name,
    (letter) => letter === "*",
    (letter, other) => letter === "?" || letter === other,
  );
}

function isAnyFolders(segment: readonly string[]): boolean {
  return segment.length === 2 && segment[0] === "*" && segment[1] === "*";
}

/** Whether items fit a pattern in which some elements stand for any number of items. */
function fits<Pattern, Item>(
  pattern: readonly Pattern[],
  items: readonly Item[],
  isAny: (element: Pattern) => boolean,
  isLike: (element: Pattern, item: Item) => boolean,
): boolean {
  let [at, item, afterAny, tried] = [0, 0, -1, 0];
  while (item < items.length) {
    const element = pattern[at];
    if (element !== undefined && isAny(element)) {
      at += 1;
      [afterAny, tried] = [at, item];
    } else if (element !== undefined && isLike(element, items[item] as Item)) {
      at += 1;
      item += 1;
    } else {
      // Only the last "any" can take one more item: items of an earlier one change nothing.
      if (afterAny < 0) return false;
      tried += 1;
      [at, item] = [afterAny, tried];
    }
  }
  return pattern.slice(at).every(isAny);
}

/** The globs without braces that one with braces stands for. */
function alternativesOf(glob: string): readonly string[] {
  let done = [""];
  let rest = glob;
  for (;;) {
    const open = rest.indexOf("{");
    const close = rest.indexOf("}", open);
    if (open < 0 || close < 0) return done.map((start) => start + rest);
    const choices = rest.slice(open + 1, close).split(",");
    if (done.length * choices.length > ALTERNATIVES_MAX) return done.map((start) => start + rest);
    const before = rest.slice(0, open);
    done = done.flatMap((start) => choices.map((choice) => start + before + choice));
    rest = rest.slice(close + 1);
  }
}
