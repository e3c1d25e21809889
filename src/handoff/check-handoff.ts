import { textSize } from "../compaction/cut-text.ts";
import { textsIn } from "../core/json-values.ts";
import { toolUses } from "../core/message.ts";
import {
  CUT,
  type HandoffSource,
  inOneLine,
  isTyped,
  type Quote,
  quotable,
  quoteBlock,
  quotesOf,
} from "./handoff-source.ts";

const MARK = /^\[(user|assistant|tool) #(\d+)\]$/;
const MARKED_LINE = /^> \[(user|assistant|tool) #(\d+)(?:; [^\]]*)?\] (.*)$/;

/**
 * Names the problems of a handoff; a sound one has none. It looks at the text alone, as the
 * next agent does:
 *
 * - It takes no more than `tokensMax`.
 * - The last message of the person is in it, word for word.
 * - Each quote has a mark, and each of its parts stands in the message that the mark names.
 */
export function checkHandoff(text: string, source: HandoffSource, tokensMax: number): string[] {
  const problems: string[] = [];
  if (textSize(text) > tokensMax * 4) problems.push(`it takes more than ${tokensMax} tokens`);
  const last = lastRequest(source);
  if (last && !text.includes(quoteBlock(last))) {
    problems.push("the last message of the person is not in it word for word");
  }
  const sourceText = textsByMark(source);
  for (const { at, by, text: quoted } of quotesIn(text)) {
    const whole = sourceText.get(`${by} #${at}`) ?? "";
    const parts = quoted.split(CUT.trim()).map(inOneLine);
    if (!parts.every((part) => whole.includes(part))) {
      problems.push(`[${by} #${at}] does not say: ${quoted}`);
    }
  }
  return problems;
}

/** The last message that a person typed. */
export function lastRequest({ messages }: HandoffSource): Quote | undefined {
  const index = messages.findLastIndex((each) => isTyped(each) && quotesOf(each).length > 0);
  return messages[index] && quotesOf(messages[index])[0];
}

/** The texts of each message, on one line, by the mark of side and number. */
function textsByMark(source: HandoffSource): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  const add = ({ at, by, text }: Quote) => {
    const mark = `${by} #${at}`;
    texts.set(mark, `${texts.get(mark) ?? ""} ${inOneLine(quotable(text))}`);
  };
  for (const each of source.messages) {
    for (const quote of quotesOf(each)) add(quote);
    for (const { reason } of each.denied ?? []) {
      if (reason !== undefined) add({ at: each.at, by: "user", text: reason });
    }
    // Strings in arguments, as they are without the quotes and escapes of JSON.
    for (const text of argumentsIn(each)) add({ at: each.at, by: "assistant", text });
  }
  const { task } = source;
  if (task) {
    add({ at: task.at, by: "user", text: task.goal });
    for (const text of [...task.open, ...(task.done ?? [])])
      add({ at: task.at, by: "assistant", text });
  }
  return texts;
}

function argumentsIn({ message }: HandoffSource["messages"][number]): readonly string[] {
  return toolUses(message).flatMap(({ args }) => textsIn(args));
}

function quotesIn(text: string): readonly Quote[] {
  const quotes: Quote[] = [];
  let block: { readonly at: number; readonly by: Quote["by"]; lines: string[] } | undefined;
  const end = () => {
    if (block) quotes.push({ at: block.at, by: block.by, text: block.lines.join("\n") });
    block = undefined;
  };
  for (const line of text.split("\n")) {
    const [, by, at] = MARK.exec(line) ?? [];
    const [, lineBy, lineAt, said = ""] = MARKED_LINE.exec(line) ?? [];
    if (by !== undefined) {
      end();
      block = { at: Number(at), by: by as Quote["by"], lines: [] };
    } else if (block && line.startsWith("> ")) block.lines.push(line.slice(2));
    else {
      end();
      if (lineBy) quotes.push({ at: Number(lineAt), by: lineBy as Quote["by"], text: said });
    }
  }
  end();
  return quotes;
}
