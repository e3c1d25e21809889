import { indexableText, type Message } from "rkat";

/**
 * The tasks that look open in a request, by number, to an agent that does whatever looks open. A task is asked for by "Task 3:
 * what about it?" and answered by "Task 3 is done.". A task that a request speaks of is open unless the request says in
 * some place that it is not: by its answer, or by what stands beside the quoted words of the user.
 */
export function openTasks(messages: readonly Message[]): ReadonlySet<number> {
  const asked = new Set<number>();
  const answered = new Set<number>();
  for (const message of messages) {
    const text = message.role === "user" ? wordsOf(message.content) : indexableText(message);
    for (const [, number] of text.matchAll(DONE)) answered.add(Number(number));
    if (message.role !== "user" || text.startsWith(RECORDS)) continue;
    if (message.kind !== "compaction_summary") {
      for (const [, number] of text.matchAll(ASKED)) asked.add(Number(number));
      continue;
    }
    const [told = "", quoted = ""] = text.split(QUOTES);
    // The heading of the user's own words says that they are answered where nothing else is said.
    const whole = quoted.includes(ANSWERED_HEADING);
    for (const [lines, isAnswered] of [
      [told.split("\n"), false],
      [quoted.split("\n• "), whole],
    ] as const) {
      for (const line of lines) {
        const [, outcome] = OUTCOME.exec(line) ?? [];
        const isOpen = outcome === undefined ? !isAnswered : outcome.includes("not answered");
        for (const [, number] of line.matchAll(ASKED))
          (isOpen ? asked : answered).add(Number(number));
      }
    }
  }
  return new Set([...asked].filter((task) => !answered.has(task)));
}

/** What became of a request, before its words. */
const OUTCOME = /^\W*\[([^\]]+)\]/;
const ASKED = /Task (\d+): what about it\?/g;
const DONE = /Task (\d+) is done\./g;

/** The beginning of records of memory. They are quotes, and say so. */
const RECORDS = "[Recalled from memory]";

/** Where the user's own words begin, below a summary. */
const QUOTES = /\n\n(?=\[What the user said earlier)/;
const ANSWERED_HEADING = "answered where nothing else is said";

function wordsOf(content: Extract<Message, { role: "user" }>["content"]): string {
  if (typeof content === "string") return content;
  return content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}
