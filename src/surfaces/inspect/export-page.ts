import { createHash } from "node:crypto";
import { type DurableEvent, type EventEnvelope, isTransient } from "../../core/event.ts";
import { given } from "../../core/fields.ts";
import { OPERATIONS } from "../../core/operations.ts";
import type { SessionService } from "../../core/session-service.ts";
import { toWire } from "../../core/wire.ts";
import { redactEvent } from "../../secrets/redact-message.ts";
import { redactSecrets } from "../../secrets/redact-secrets.ts";
import { readPageFiles } from "./page-files.ts";

/** A page as one file, and the credentials in it that were replaced, by kind. */
export interface ExportedPage {
  readonly html: string;
  readonly events: number;
  readonly redacted: Readonly<Record<string, number>>;
}

/**
 * One session as a file that needs no server: to attach to an issue, or to hand over. Credentials are replaced. Of the
 * folder only its name is in it.
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
        project: project?.split(/[/\\]/).at(-1),
      }),
    },
  };
  const path = `sessions/${encodeURIComponent(sessionId)}`;
  const answers = {
    [path]: toWire(OPERATIONS.read.result, shown),
    [`${path}/context`]: toWire(OPERATIONS.context.result, await service.context({ sessionId })),
    [`${path}/cost`]: toWire(
      OPERATIONS.sessionCost.result,
      await service.sessionCost({ sessionId }),
    ),
  };
  const redacted = notesIn(JSON.stringify([answers, events]));
  const at = new Date().toISOString();
  const data = {
    writes: false,
    version,
    exported: { session: sessionId, redacted, at },
    answers,
    events,
  };
  return { html: withData(data), events: events.length, redacted };
}

async function eventsUpTo(
  service: SessionService,
  sessionId: string,
  last: number,
): Promise<readonly EventEnvelope[]> {
  const events: EventEnvelope[] = [];
  for await (const event of service.subscribe({ sessionId, afterSeq: 0 })) {
    if (isTransient(event.payload)) continue;
    events.push({ ...event, payload: withoutFolder(redactEvent(event.payload)) });
    if (event.seq >= last) break;
  }
  return events;
}

function withoutFolder(event: DurableEvent): DurableEvent {
  if (event.type !== "session_created" || !event.settings.source) return event;
  const { project: _, ...source } = event.settings.source;
  return { ...event, settings: { ...event.settings, source } };
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
function withData(data: object): string {
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
        `<script type="application/json" id="data">${inHtml(data)}</script>\n    <script type="module">${code}</script>`,
    );
}

function inHtml(data: object): string {
  return JSON.stringify(data)
    .replaceAll("<", "\\u003c")
    .replaceAll("\u2028", "\\u2028")
    .replaceAll("\u2029", "\\u2029");
}

function hashOf(text: string): string {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}
