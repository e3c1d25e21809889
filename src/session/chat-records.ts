import type { HostRecord, ReadHostItem } from "../core/host-record.ts";
import type { SessionService } from "../core/session-service.ts";
import { LocalSessionService } from "./local-session-service.ts";
import type { SessionStores } from "./service-options.ts";

/** The records of chats of another loop, and the memory of them and of all other sessions. */
export interface ChatRecords extends Pick<SessionService, "searchMemory"> {
  /** The session of a chat, whose id is made of the chat's. */
  of(chatId: string): HostRecord;
  /** Brings memory up to date. The stores stay open. */
  close(): Promise<void>;
}

export function chatRecords(stores: SessionStores, read: ReadHostItem): ChatRecords {
  const service = new LocalSessionService({
    model: "none",
    stores,
    builtinTools: false,
    persistent: true,
  });
  return {
    of: (chatId) => service.hostRecord(`chat:${chatId}`, { labels: { chat: chatId } }, read),
    searchMemory: (request) => service.searchMemory(request),
    close: () => service.close(),
  };
}
