import type { AssistantBlock } from "../../core/message.ts";

/** What a line adds to its answer. */
interface Added {
  readonly blocks: readonly AssistantBlock[];
  /** Whether the first block is the rest of the last one before. */
  readonly continues: boolean;
}

/**
 * Finds what each line adds to its answer. Most lines have one new block. Some versions write again what they wrote
 * before: all blocks of the answer so far, or its last block with more text.
 */
export class AddedBlocks {
  readonly #answers = new Map<string, readonly AssistantBlock[]>();

  /** Takes the next line of an answer. */
  next(answer: string, blocks: readonly AssistantBlock[]): Added {
    const known = this.#answers.get(answer) ?? [];
    const start = [0, known.length - 1].find((from) => repeats(known, from, blocks));
    const all = [...known.slice(0, start ?? known.length), ...blocks];
    this.#answers.set(answer, all);
    const last = known.at(-1);
    const again = all[known.length - 1];
    const rest = start === undefined || !last || !again ? undefined : restOf(last, again);
    const added = all.slice(known.length);
    return { blocks: rest ? [rest, ...added] : added, continues: rest !== undefined };
  }

  /** No more lines of this answer follow. */
  end(answer: string): void {
    this.#answers.delete(answer);
  }
}

/** Whether the blocks are those of the answer from `start` on. The last of these may have grown. */
function repeats(
  known: readonly AssistantBlock[],
  start: number,
  blocks: readonly AssistantBlock[],
): boolean {
  const again = known.slice(Math.max(0, start));
  if (again.length === 0 || again.length > blocks.length) return false;
  return again.every((block, index) => {
    const other = blocks[index];
    const isLast = index === again.length - 1;
    return other !== undefined && goesOn(block, other) && (isLast || !restOf(block, other));
  });
}

function goesOn(block: AssistantBlock, later: AssistantBlock): boolean {
  if (block.block_type === "tool_use") {
    return later.block_type === "tool_use" && block.data.id === later.data.id;
  }
  if (later.block_type === "tool_use") return false;
  return block.block_type === later.block_type && later.data.text.startsWith(block.data.text);
}

/** The text that a block has more than before. */
function restOf(block: AssistantBlock, later: AssistantBlock): AssistantBlock | undefined {
  if (block.block_type === "tool_use" || later.block_type === "tool_use") return undefined;
  const text = later.data.text.slice(block.data.text.length);
  return text === "" ? undefined : { ...later, data: { text } };
}
