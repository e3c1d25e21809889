import type { Message } from "../../src/core/message.ts";
import type { Stores } from "../../src/core/stores.ts";

/** What is said in a message, one line for each block. How blocks are joined to messages depends on what was there before. */
function linesOf(message: Message): readonly string[] {
  switch (message.role) {
    case "block_assistant":
      return message.blocks.map((block) => JSON.stringify(block));
    case "tool_results":
      return message.results.map((result) => JSON.stringify(result));
    default:
      return [JSON.stringify(message)];
  }
}

/** What is said in each session, after its id and title. */
export async function saidIn(stores: Stores): Promise<readonly string[]> {
  const said: string[] = [];
  for (const { id, settings } of await stores.sessions.list({ limit: 100 })) {
    said.push(`${id} ${settings.source?.title}`);
    for await (const { event } of stores.events.read(id, 0)) {
      if (event.type !== "message_added") continue;
      const about = `${event.origin?.author} ${event.origin?.time}`;
      for (const line of linesOf(event.message)) {
        // Reasoning is in no memory, also beside an answer that is.
        const memory = line.startsWith('{"block_type":"reasoning"') || event.memory;
        said.push(`${about} ${memory} ${line}`);
      }
    }
  }
  return said;
}
