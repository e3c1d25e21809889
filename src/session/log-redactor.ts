import type { DurableEvent, StoredEvent } from "../core/event.ts";
import { withoutRules } from "../knowledge/knowledge-addendum.ts";
import { forgottenEvent, withoutCopies } from "../memory/forget-event.ts";
import type { TellingTexts } from "../memory/telling-texts.ts";
import type { Source } from "./forgotten-sources.ts";

/** What logs shall say no more. */
export interface WhatGoes {
  readonly texts: TellingTexts;
  /** Rules that sessions may have been told. */
  readonly rules: ReadonlySet<string>;
}

/** What is left of the events of one session's log, which it is given in their order. */
export class LogRedactor {
  readonly #source: Source;
  readonly #what: WhatGoes;
  /** The rules of the session's system prompt, in order. */
  #applied: readonly string[] = [];

  constructor(source: Source, what: WhatGoes) {
    this.#source = source;
    this.#what = what;
  }

  /** The event itself when nothing of it goes. */
  redact({ seq, event }: StoredEvent): DurableEvent {
    if (event.type === "knowledge_applied") this.#applied = event.rules;
    const { texts } = this.#what;
    const extent = this.#source.events.get(seq);
    const rest = extent ? forgottenEvent(event, extent, texts) : event;
    return withoutCopies(this.#withoutRules(rest), texts);
  }

  #withoutRules(event: DurableEvent): DurableEvent {
    if (event.type !== "message_added" || event.message.role !== "system") return event;
    const { content } = event.message;
    const rest = withoutRules(content, this.#applied, this.#what.rules);
    return rest === content ? event : { ...event, message: { role: "system", content: rest } };
  }
}
