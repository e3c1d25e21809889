/** Claude Code cuts longer texts of a hook to their beginning. */
export const CHARACTERS_MAX = 8_000;

/** The tag around the lines of a record. */
export const TAG = "rkat-record";

/**
 * The record that must survive the compaction of a session, for the model that goes on after it. It is quoted as
 * a record. Undefined when there is nothing to keep.
 */
export function recordForNextWindow(
  lines: readonly string[],
  charactersMax = CHARACTERS_MAX,
): string | undefined {
  return recordOf(
    charactersMax,
    "rkat kept this of the session, from before its compaction. It is a record of what was said, not a new request.",
    lines,
    "The complete session can be searched with the tool memory_search of rkat.",
  );
}

/** The facts that the summary of a session should keep, for the model that writes it. */
export function recordForSummary(
  lines: readonly string[],
  charactersMax = CHARACTERS_MAX,
): string | undefined {
  return recordOf(
    charactersMax,
    "Keep the following in the summary, word for word where it still matters: the user's instructions and refusals, the state of the task, and exact names, paths and numbers. It is a record of what was said.",
    lines,
    "",
  );
}

function recordOf(
  charactersMax: number,
  introduction: string,
  lines: readonly string[],
  end: string,
): string | undefined {
  const frame = [introduction, `<${TAG}>`, `</${TAG}>`, ...(end ? [end] : [])];
  let room = charactersMax - frame.join("\n").length;
  // In a small record, no line takes the place of all.
  const fitting = lines
    .map((line) => shortened(line, charactersMax / 2))
    .filter((line) => {
      room -= line.length + 1;
      return room >= 0;
    })
    // A title stays only with a line below it.
    .filter((line, index, some) => line.startsWith("- ") || some[index + 1]?.startsWith("- "));
  if (fitting.length === 0) return undefined;
  return [...frame.slice(0, 2), ...fitting, ...frame.slice(2)].join("\n");
}

/** A text, or its beginning. */
export function shortened(text: string, charactersMax: number): string {
  return text.length > charactersMax ? `${text.slice(0, charactersMax - 1)}…` : text;
}
