import { createHash } from "node:crypto";
import { homedir } from "node:os";
import { type DurableEvent, type EventEnvelope, isTransient } from "../../core/event.ts";
import { given } from "../../core/fields.ts";
import { wordsOf } from "../../core/message.ts";
import { MessageAssembler } from "../../core/message-assembler.ts";
import type { CompactionView } from "../../core/operations/history.ts";
import type { ReadSources, SourceMessage, SourcesView } from "../../core/operations/sources.ts";
import { OPERATIONS } from "../../core/operations.ts";
import type { SessionService } from "../../core/session-service.ts";
import { headWithin } from "../../core/tokens.ts";
import { toWire } from "../../core/wire.ts";
import { redactEvent, redactJson } from "../../secrets/redact-message.ts";
import { redactSecrets } from "../../secrets/redact-secrets.ts";
import { readPageFiles } from "./page-files.ts";

/** A page as one file, and the credentials in it that were replaced, by kind. */
export interface ExportedPage {
  readonly html: string;
  readonly events: number;
  readonly redacted: Readonly<Record<string, number>>;
}

type ExportedEvent = EventEnvelope & { readonly payload: DurableEvent };

/**
 * One session as a file that needs no server: to attach to an issue, or to hand over. Credentials are replaced. Paths
 * begin with the name of the project's folder, or with `~` for a home.
 */
export async function exportPage(
  service: SessionService,
  sessionId: string,
  version: string,
): Promise<ExportedPage> {
  const view = await service.read({ sessionId });
  const events = await eventsUpTo(service, sessionId, view.seq);
  const { title, project, ...source } = view.source;
  const shown = {
    ...view,
    history: [],
    instructions: [],
    lastAssistantText: null,
    task: { goal: "", subTasks: [], scratchpad: {}, activeFiles: [] },
    labels: Object.fromEntries(
      Object.entries(view.labels).map(([name, value]) => [name, redactSecrets(value)]),
    ),
    source: {
      ...source,
      ...given({
        title: title === undefined ? undefined : redactSecrets(title),
        project: project === undefined ? undefined : nameOfFolder(project),
      }),
    },
  };
  const path = `sessions/${encodeURIComponent(sessionId.toWellFormed())}`;
  const said = wordsById(events);
  const context = await service.context({ sessionId });
  const recalled = redactJson(context.recalled);
  const answers: Record<string, unknown> = {
    [path]: toWire(OPERATIONS.read.result, shown),
    [`${path}/context`]: toWire(OPERATIONS.context.result, { ...context, recalled }),
    [`${path}/cost`]: toWire(
      OPERATIONS.sessionCost.result,
      await service.sessionCost({ sessionId }),
    ),
  };
  // Once for each place: what a compaction did to a message says the same again.
  const redacted = notesIn(JSON.stringify([answers, events]));
  for (const { seq, payload } of events) {
    if (payload.type !== "compaction_completed") continue;
    answers[`${path}/compaction?event=${seq}`] = toWire(
      OPERATIONS.readCompaction.result,
      await compaction(service, sessionId, seq, said),
    );
  }
  for (const [key, asked] of drilled(sessionId, events)) {
    const found = await sources(service, asked, sessionId, said);
    if (found) answers[`sources?${key}`] = toWire(OPERATIONS.readSources.result, found);
  }
  const at = new Date().toISOString();
  const data = {
    writes: false,
    version,
    exported: { session: sessionId, redacted, at },
    answers,
    events,
  };
  const json = withoutFolders(JSON.stringify(data), project);
  return { html: withData(json), events: events.length, redacted };
}

/** Messages that are read at once. */
const PAGE = 1000;
/** UTF-8 bytes of a message in a list. */
const SHOWN_BYTES = 200;

/**
 * The effect of a compaction on all messages. Their texts are cut from the redacted ones, because half a credential in the
 * service's answer is not seen as one.
 */
async function compaction(
  service: SessionService,
  sessionId: string,
  event: number,
  said: ReadonlyMap<number, string>,
): Promise<CompactionView> {
  const view = await service.readCompaction({ sessionId, event, limit: PAGE });
  const messages = [...view.messages];
  while (messages.length < view.messageCount) {
    const offset = messages.length;
    const next = await service.readCompaction({ sessionId, event, limit: PAGE, offset });
    if (next.messages.length === 0) break;
    messages.push(...next.messages);
  }
  return {
    ...view,
    summary: view.summary === null ? null : redactSecrets(view.summary),
    messages: messages.map((message) => {
      const words = said.get(message.id) ?? "";
      const names = message.names.filter((name) => words.includes(name));
      return { ...message, names, text: headWithin(words, SHOWN_BYTES) };
    }),
  };
}

/** The sources of each summary and of each record that came back, by the query with which the page asks for them. */
function drilled(
  sessionId: string,
  events: readonly ExportedEvent[],
): ReadonlyMap<string, ReadSources> {
  const asked = new Map<string, ReadSources>();
  for (const { seq, payload } of events) {
    if (payload.type === "compaction_completed" && payload.summary !== null) {
      const key = { session_id: sessionId, event: seq };
      asked.set(JSON.stringify(key), { sessionId, event: seq });
    }
    if (payload.type !== "memory_recalled") continue;
    for (const { id } of payload.records) asked.set(JSON.stringify({ id }), { id });
  }
  return asked;
}

/** The messages of the file that something rests on. What other sessions said is not in it. */
async function sources(
  service: SessionService,
  asked: ReadSources,
  sessionId: string,
  said: ReadonlyMap<number, string>,
): Promise<SourcesView | undefined> {
  const messages: SourceMessage[] = [];
  for (let offset = 0; ; offset += PAGE) {
    // It may have been forgotten since.
    const view = await service
      .readSources({ ...asked, limit: PAGE, offset })
      .catch(() => undefined);
    if (!view) return undefined;
    for (const message of view.messages) {
      if (message.sessionId !== sessionId || !said.has(message.id)) continue;
      messages.push({ ...message, text: headWithin(said.get(message.id) ?? "", SHOWN_BYTES) });
    }
    if (offset + PAGE < view.messageCount) continue;
    // Its text is in the file already.
    return { kind: view.kind, content: "", madeFrom: [], messageCount: messages.length, messages };
  }
}

function wordsById(events: readonly ExportedEvent[]): ReadonlyMap<number, string> {
  const assembler = new MessageAssembler();
  const words = new Map<number, string>();
  for (const { seq, timestamp_ms, event_id, payload: event } of events) {
    const message = assembler.push({ schema_version: 1, event_id, seq, timestamp_ms, event });
    if (message) words.set(message.id, wordsOf(message.message).replaceAll(/\s+/g, " ").trim());
  }
  return words;
}

async function eventsUpTo(
  service: SessionService,
  sessionId: string,
  last: number,
): Promise<readonly ExportedEvent[]> {
  const events: ExportedEvent[] = [];
  for await (const event of service.subscribe({ sessionId, afterSeq: 0 })) {
    if (isTransient(event.payload)) continue;
    events.push({ ...event, payload: redactEvent(withoutBefore(event.payload)) });
    if (event.seq >= last) break;
  }
  return events;
}

/** The events of the file say what the model saw before a compaction. */
function withoutBefore(event: DurableEvent): DurableEvent {
  if (!("before" in event) || event.type === "memory_recalled") return event;
  const { before: _, ...rest } = event;
  return rest;
}

/** Where a path may begin in JSON, which writes an end of a line as a letter. */
const BEGINS = String.raw`(?<=[^\w.~-]|\\[nrt])`;
/** A home folder of any machine. It names a person. */
const HOMES = new RegExp(
  String.raw`${BEGINS}(?:[A-Z]:)?[\\/]+(?:home|Users)[\\/]+[\p{L}\p{M}\p{N}_.@-]+`,
  "giu",
);

/** JSON in which no path says where the project is, or whose home it is in. */
function withoutFolders(json: string, project = ""): string {
  return json
    .replaceAll(pathIn(project), () => nameOfFolder(project))
    .replaceAll(pathIn(homedir()), "~")
    .replaceAll(HOMES, "~");
}

/** Finds a path in JSON, and in JSON that is a text in JSON, where more separators are between its parts. */
function pathIn(path: string): RegExp {
  const parts = path.split(/[\\/]+/);
  if (parts.at(-1) === "") parts.pop();
  if (parts.length < 2) return /(?!)/g;
  const escaped = parts.map((part) => part.replaceAll(/[.*+?^${}()|[\]]/g, "\\$&"));
  return new RegExp(String.raw`${BEGINS}${escaped.join(String.raw`[\\/]+`)}(?![\w-])`, "g");
}

function nameOfFolder(path: string): string {
  return path.split(/[/\\]/).findLast((part) => part !== "") ?? path;
}

/** How many notes stand in the place of credentials, by kind. */
function notesIn(text: string): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const [, kind = ""] of text.matchAll(/\[redacted ([^\]"\\]{1,60})\]/g)) {
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return counts;
}

/** The page with its script and style inside. Only these two, which it knows by their hashes, are run and used. */
function withData(json: string): string {
  const { script, style, html } = readPageFiles();
  const code = script.replaceAll("</script", "<\\/script");
  const policy = [
    "default-src 'none'",
    `script-src '${hashOf(code)}'`,
    `style-src '${hashOf(style)}'`,
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  // A replacement as a function, because a text may have the signs that replacements have a meaning for.
  return html
    .replace(
      /<meta charset[^>]*>/,
      (meta) => `${meta}\n    <meta http-equiv="Content-Security-Policy" content="${policy}" />`,
    )
    .replace(/<link rel="stylesheet"[^>]*>/, () => `<style>${style}</style>`)
    .replace(
      /<script type="module"[^>]*><\/script>/,
      () =>
        `<script type="application/json" id="data">${inHtml(json)}</script>\n    <script type="module">${code}</script>`,
    );
}

function inHtml(json: string): string {
  return json
    .replaceAll("<", "\\u003c")
    .replaceAll("\u2028", "\\u2028")
    .replaceAll("\u2029", "\\u2029");
}

function hashOf(text: string): string {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}
