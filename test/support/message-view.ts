import type { Message } from "../../src/core/message.ts";
import type { MessageView } from "../../src/window/message-view.ts";

/** The view of a host whose messages are rkat's own. */
export const messageView: MessageView<Message> = {
  read: (message) => ({ message }),
  summary: (content) => ({ role: "user", content }),
  shorten: (message, outputs) =>
    message.role === "tool_results"
      ? {
          ...message,
          results: message.results.map((result) => ({
            ...result,
            content: outputs.get(result.tool_use_id) ?? result.content,
          })),
        }
      : message,
};
