/** What a text of the user is, without what the program put into it. */
export interface PromptText {
  readonly text: string;
  /** Whether a person typed it. */
  readonly isTyped: boolean;
  /** Whether it is worth remembering. */
  readonly isForMemory: boolean;
}

/** Blocks that the program puts before or after what was typed, and the output of its own commands. */
const INJECTED =
  /<(system-reminder|ide_opened_file|ide_selection|ide_diagnostics|task-notification|local-command-caveat|local-command-stdout|local-command-stderr|user-prompt-submit-hook|claude-mem-context|rkat-memory|new-diagnostics)\b[^>]*>/g;

/** The output of a shell command that the user ran, and notes of the program. */
const OUTPUT = /^<(?:bash-stdout|bash-stderr)>/;
const NOTE =
  /^(?:\[Request interrupted by user|Stop hook feedback:|Caveat: The messages below|\[Image: (?:source|original))/;

/**
 * Tells what a person typed from what the program injected: `<system-reminder>` and its kind are cut out, a command
 * becomes `/name arguments`, and outputs of shell commands are marked. Nothing is left of a text that was only
 * injected, nor of a command that sets up the program, such as `/model`.
 */
export function promptText(given: string): PromptText | undefined {
  const text = withoutInjected(given).trim();
  if (text === "") return undefined;
  if (OUTPUT.test(text) || NOTE.test(text)) return { text, isTyped: false, isForMemory: false };
  return /^<(?:command-(?:name|message)|bash-input)>/.test(text)
    ? commandIn(text)
    : { text, isTyped: true, isForMemory: true };
}

/** `<command-name>/review</command-name> … <command-args>the last commit</command-args>` */
function commandIn(text: string): PromptText | undefined {
  if (text.startsWith("<bash-input>")) {
    const bash = between(text, "bash-input");
    return { text: bash === undefined ? text : `! ${bash}`, isTyped: true, isForMemory: true };
  }
  const name = between(text, "command-name") ?? between(text, "command-message") ?? "";
  const args = between(text, "command-args") ?? "";
  const slash = name.startsWith("/") ? name : `/${name}`;
  if (SETTINGS.has(slash)) return undefined;
  const isPrompt = args !== "";
  return { text: `${slash} ${args}`.trim(), isTyped: isPrompt, isForMemory: isPrompt };
}

/** Commands that set up the program. They begin no turn, so they are left out. */
const SETTINGS = new Set(
  `/add-dir /agents /clear /color /compact /config /context /copy /cost /doctor /effort /exit /export /fast /help
  /hooks /ide /login /logout /mcp /memory /model /output-style /permissions /plugin /quit /reload-plugins
  /remote-control /rename /resume /rewind /sandbox /skills /status /tag /tasks /terminal-setup /theme /usage
  /vim`.split(/\s+/),
);

function between(text: string, tag: string): string | undefined {
  const open = `<${tag}>`;
  const start = text.indexOf(open);
  const end = start < 0 ? -1 : text.indexOf(`</${tag}>`, start);
  return end < 0 ? undefined : text.slice(start + open.length, end).trim();
}

/** Cuts the blocks out, in one pass. A tag without an end is something that a person wrote about. */
function withoutInjected(text: string): string {
  if (!text.includes("<")) return text;
  const kept: string[] = [];
  const endless = new Set<string>();
  let at = 0;
  for (;;) {
    INJECTED.lastIndex = at;
    const found = INJECTED.exec(text);
    if (!found) return kept.join("") + text.slice(at);
    const [tag, name = ""] = found;
    const close = `</${name}>`;
    const end = endless.has(name) ? -1 : text.indexOf(close, found.index);
    if (end < 0) endless.add(name);
    const next = end < 0 ? found.index + tag.length : end + close.length;
    kept.push(text.slice(at, end < 0 ? next : found.index));
    at = next;
  }
}
