import type { KnowledgeEntry } from "../core/knowledge.ts";
import { knowledgeAddendum } from "../knowledge/knowledge-addendum.ts";
import { redactSecrets } from "../secrets/redact-secrets.ts";
import { unclosable } from "../text/quoting.ts";

const TAG = "rkat-rules";

/**
 * The standing rules of a project, for a session that begins. With `sessions`, only those that rest on
 * messages of one of them, or that you added by hand.
 */
export function rulesOf(
  rules: readonly KnowledgeEntry[],
  rulesMax: number,
  sessions?: ReadonlySet<string>,
): string | undefined {
  const isHere = ({ restsOn = [] }: KnowledgeEntry) =>
    sessions === undefined ||
    restsOn.some(({ origin, sessionId }) =>
      sessionId === undefined ? origin === "added" : sessions.has(sessionId),
    );
  const addendum = knowledgeAddendum(rules.filter(isHere), rulesMax);
  return addendum && `<${TAG}>\n${unclosable(TAG, redactSecrets(addendum.text))}\n</${TAG}>\n`;
}
