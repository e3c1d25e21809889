import { plural, thousands } from "../render/amounts.ts";
import { oneLine, printable, textWidth } from "../render/printable.ts";
import { shortId } from "../render/render-sessions.ts";
import type { Style } from "../render/style.ts";
import type { ChatStatus } from "./conversation.ts";

const GAUGE_COLUMNS = 10;

/** The line below the editor. A narrow terminal gets fewer of its parts. */
export function renderStatus(status: ChatStatus, columns: number, style: Style): readonly string[] {
  const { model, sessionId } = status;
  const session = sessionId === undefined ? "new session" : shortId(sessionId);
  const gauges = gaugesOf(status);
  const forms = [
    [model, session, gauges[0]],
    [model, gauges[0]],
    [model, gauges[1]],
    [gauges[1]],
    [gauges[2]],
  ].map((parts) => parts.filter((part) => part !== undefined).join(" · "));
  const form = forms.find((text) => textWidth(text) <= columns) ?? forms.at(-1) ?? "";
  return [style.dim(oneLine(form, columns))];
}

/** The fill level of the history, from the longest form to the shortest. */
function gaugesOf({
  usedTokens,
  tokensMax,
  compacts,
}: ChatStatus): readonly (string | undefined)[] {
  if (usedTokens === undefined) return [];
  if (!tokensMax) return [plural(usedTokens, "token")];
  const share = Math.round((100 * usedTokens) / tokensMax);
  const full = Math.min(GAUGE_COLUMNS, Math.round(share / GAUGE_COLUMNS));
  const bar = "█".repeat(full) + "░".repeat(GAUGE_COLUMNS - full);
  const of = `${bar} ${share} % of ${thousands(tokensMax)} tokens`;
  return [compacts ? `${of}, then a compaction` : of, `${bar} ${share} %`, `${share} %`];
}

export interface ChatStart {
  readonly version: string;
  readonly model: string | undefined;
  readonly folder: string;
  /** The size of memory; undefined when memory is off. */
  readonly memory?: { readonly entries: number; readonly sessions: number };
  readonly rules: number;
  /** A sentence about the tools of the model. */
  readonly tools?: string;
}

/** The first screen of a chat. */
export function renderStart(start: ChatStart, style: Style): string {
  const { version, model, folder } = start;
  const facts = [model ?? "no model yet", folder].map((fact) => oneLine(fact, 200)).join(" · ");
  return [
    `${style.bold(`rkat ${version}`)} · ${facts}`,
    ...(start.tools === undefined ? [] : [style.dim(printable(start.tools))]),
    style.dim(rememberedBy(start)),
    style.dim("/help lists the commands. Ctrl-D leaves."),
  ].join("\n");
}

function rememberedBy({ memory, rules }: ChatStart): string {
  const learned = rules === 0 ? "" : ` ${plural(rules, "rule")} for new sessions: /rules.`;
  if (!memory) return `Memory is off.${learned}`;
  if (memory.entries === 0) return `Nothing is remembered yet.${learned}`;
  const { entries, sessions } = memory;
  const count = `${plural(entries, "entry", "entries")} of ${plural(sessions, "session")}`;
  return `Remembers ${count}: /memory searches, /resume continues.${learned}`;
}
