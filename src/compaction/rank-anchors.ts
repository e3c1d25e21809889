import { indexableText, isSummary, type Message, toolResults, toolUses } from "../core/message.ts";
import type { AnchorKind } from "./anchor-forms.ts";
import { type Anchor, anchorsIn } from "./anchors.ts";
import { summaryText, userText } from "./render-transcript.ts";

/** The weight of one mention. A tool's listing names many things that no one talks about. */
const WEIGHTS = { user: 2, assistant: 1.5, call: 1, summary: 1, result: 0.5 } as const;

/** A path says more than a number does. */
const KIND_WEIGHTS: Readonly<Record<AnchorKind, number>> = {
  paths: 1.2,
  errors: 1.2,
  links: 1,
  names: 1,
  numbers: 0.7,
};

/** The anchors of messages, each once: what was mentioned often, late, and by people comes first. */
export function rankAnchors(messages: readonly Message[]): readonly Anchor[] {
  const found = new Map<string, { readonly anchor: Anchor; weight: number; last: number }>();
  messages.forEach((message, index) => {
    for (const { text, weight } of textsOf(message)) {
      for (const anchor of anchorsIn(text)) {
        const known = found.get(anchor.text) ?? { anchor, weight: 0, last: 0 };
        known.weight += weight;
        known.last = index;
        found.set(anchor.text, known);
      }
    }
  });
  const score = ({ anchor, weight, last }: { anchor: Anchor; weight: number; last: number }) =>
    Math.log2(1 + weight) * (0.5 + last / messages.length) * KIND_WEIGHTS[anchor.kind];
  // Sorting is stable: of equals, the one mentioned first comes first.
  return [...found.values()]
    .map((each) => ({ anchor: each.anchor, score: score(each) }))
    .sort((one, other) => other.score - one.score)
    .map(({ anchor }) => anchor);
}

/** The texts of a message, with the weight of a mention in each. Reasoning does not count. */
export function textsOf(
  message: Message,
): readonly { readonly text: string; readonly weight: number }[] {
  if (isSummary(message)) return [{ text: summaryText(message), weight: WEIGHTS.summary }];
  if (message.role === "system") return [{ text: message.content, weight: WEIGHTS.user }];
  if (message.role === "user") {
    return [{ text: userText(message.content), weight: WEIGHTS.user }];
  }
  return [
    { text: indexableText(message), weight: WEIGHTS.assistant },
    ...toolUses(message).flatMap(({ args }) =>
      stringsIn(args).map((text) => ({ text, weight: WEIGHTS.call })),
    ),
    ...toolResults(message).map(({ content }) => ({ text: content, weight: WEIGHTS.result })),
  ];
}

/** The texts in a tool's arguments, however deep. */
function stringsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(stringsIn);
}
