import type { HandoffReport } from "../../../handoff/write-handoff.ts";
import { plural, thousands } from "./amounts.ts";
import { printable } from "./printable.ts";
import type { Style } from "./style.ts";
import { renderFacts } from "./table.ts";

const AGENTS = { "claude-code": "Claude Code", codex: "Codex", markdown: "" } as const;

/** What a handoff kept and lost, and how to start the next agent with it. */
export function renderHandoff(
  { messages, tokens, tokensMax, quotes, lastMessages, names, redacted }: HandoffReport,
  {
    file,
    start,
    to,
  }: {
    readonly file: string | undefined;
    readonly start: string | undefined;
    readonly to: keyof typeof AGENTS;
  },
  style: Style,
): string {
  const secrets = Object.entries(redacted).map(([kind, count]) => `${kind} ${thousands(count)}`);
  const sections = Object.entries(quotes).map(([title, count]) => `${title} ${count}`);
  const lost = names.found - names.kept;
  const facts = renderFacts(
    [
      ["wrote", file && style.bold(printable(file))],
      ["size", `${thousands(tokens)} of at most ${thousands(tokensMax)} tokens`],
      [
        "from",
        `${plural(messages, "message")}, the last ${thousands(lastMessages)} in full or shortened`,
      ],
      ["quotes", sections.join(", ")],
      ["names kept", `${thousands(names.kept)} of ${thousands(names.found)}`],
      ["left out", lost > 0 ? printable(leftOut(names.lost, lost)) : undefined],
      ["redacted", secrets.length > 0 ? printable(secrets.join(", ")) : undefined],
    ],
    style,
  );
  if (start === undefined) return facts;
  return `${facts}
${AGENTS[to]} cannot open a session of another agent. Start a new one with the text as its first prompt:

  ${style.cyan(printable(start))}
`;
}

function leftOut(lost: readonly string[], count: number): string {
  const named = lost.slice(0, 5).join(", ");
  return count > 5 ? `${named} and ${thousands(count - 5)} more` : named;
}
