import type { DurableEvent } from "../../core/event.ts";
import { eventText } from "../history/event-text.ts";
import { spacedText } from "../history/search-words.ts";
import type { Connection } from "./connection.ts";

/** Lets an event be found by its words. */
export function indexEvent(db: Connection, position: number, event: DurableEvent): void {
  const said = eventText(event);
  if (!said) return;
  db.run("INSERT INTO event_text (rowid, text) VALUES (?, ?)", position, spacedText(said.text));
}

/** The opposite; the index has no text of its own and must be told the words again. */
export function unindexEvent(db: Connection, position: number, event: DurableEvent): void {
  const said = eventText(event);
  if (!said) return;
  db.run(
    "INSERT INTO event_text (event_text, rowid, text) VALUES ('delete', ?, ?)",
    position,
    spacedText(said.text),
  );
}
