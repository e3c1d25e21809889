import { withoutBlocks } from "../../text/quoting.ts";
import { wordSet } from "../../text/word-set.ts";

/** The text that a person typed. */
export interface PromptText {
  readonly text: string;
  /** Whether it is worth remembering. */
  readonly isForMemory: boolean;
}

/** Blocks that the program puts before or after what was typed. */
const INJECTED =
  /<(system-reminder|ide_opened_file|ide_selection|ide_diagnostics|task-notification|teammate-message|local-command-caveat|local-command-stdout|local-command-stderr|user-prompt-submit-hook|session-start-hook|post-tool-use-hook|claude-mem-context|rkat-memory|new-diagnostics|cross-session-message|agent-message|channel(?=\s+source=))\b[^>]*>/g;

/** A shell command that the user ran beside the conversation, and its output. Models do not answer it. */
const SHELL = /^<(?:bash-input|bash-stdout|bash-stderr)>/;
const NOTE =
  /^(?:Stop hook feedback:|Caveat: The messages below|\[Image: (?:source|original)|This session is being continued from a previous conversation)/;
/** The program's sentence below a notification of a task. */
const OUTPUT = /^Read the output file to retrieve the result: [^\n]*$/;
/** A message of another session or program: the sentence alone may be typed. */
const PEER = /^Another Claude session sent a message:\s*(?=<)/;
const INTERRUPTED = /^\[Request interrupted by user(?: for tool use)?\]/;

/**
 * The typed part of a text: `<system-reminder>` and other injected blocks are cut out, and a command becomes
 * `/name arguments`. Undefined for a text that was only injected, a shell command, and a command that sets up the
 * program, such as `/model`.
 */
export function promptText(given: string): PromptText | undefined {
  if (PEER.test(given.trim())) return undefined;
  const text = withoutBlocks(given, INJECTED).trim().replace(INTERRUPTED, "").trim();
  if (text === "" || SHELL.test(text) || NOTE.test(text)) return undefined;
  if (text !== given.trim() && OUTPUT.test(text)) return undefined;
  if (/^<command-(?:name|message)>/.test(text)) return commandIn(text);
  return { text: between(text, "user-memory-input") ?? text, isForMemory: true };
}

/** `<command-name>/review</command-name> … <command-args>the last commit</command-args>` */
function commandIn(text: string): PromptText | undefined {
  const name = between(text, "command-name") ?? between(text, "command-message") ?? "";
  const args = between(text, "command-args") ?? "";
  const slash = name.startsWith("/") ? name : `/${name}`;
  if (SETTINGS.has(slash)) return undefined;
  return { text: `${slash} ${args}`.trim(), isForMemory: true };
}

/** Commands that set up the program. They begin no turn, so they are left out. */
const SETTINGS =
  wordSet(`/add-dir /agents /clear /color /compact /config /context /copy /cost /doctor /effort /exit /export /fast /help
  /hooks /ide /login /logout /mcp /memory /model /output-style /permissions /plugin /quit /reload-plugins
  /remote-control /rename /resume /rewind /sandbox /skills /status /tag /tasks /terminal-setup /theme /usage
  /vim`);

function between(text: string, tag: string): string | undefined {
  const open = `<${tag}>`;
  const start = text.indexOf(open);
  const end = start < 0 ? -1 : text.indexOf(`</${tag}>`, start);
  return end < 0 ? undefined : text.slice(start + open.length, end).trim();
}
