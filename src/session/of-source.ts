import type { SessionChoice } from "../core/event-store.ts";
import { given } from "../core/fields.ts";
import {
  type SourceConditions,
  type SourceView,
  sourceFilter,
  sourceView,
} from "../core/session-source.ts";
import type { SessionStore } from "../core/session-store.ts";

type Sources = Pick<SessionStore, "sources" | "withSource"> | undefined;

/** A request as a log or a memory takes it: they know sessions by their ids only. */
export async function ofSource<Request extends SourceConditions>(
  request: Request,
  sessions: Sources,
  { project: own }: { readonly project?: string | undefined },
): Promise<Omit<Request, keyof SourceConditions> & { readonly sessions?: SessionChoice }> {
  const { agent, project, branch, ...rest } = request;
  const source = sourceFilter(given({ agent, project, branch }), own);
  if (!source) return rest;
  const ids = (await sessions?.withSource(source, !source.own)) ?? [];
  return { ...rest, sessions: source.own ? { except: ids } : { only: ids } };
}

/** Adds where the session of each hit came from, if another agent held it. */
export async function withSources<Hit extends { readonly sessionId: string }>(
  hits: readonly Hit[],
  sessions: Sources,
): Promise<readonly (Hit & { readonly from?: SourceView })[]> {
  const ids = new Set(hits.map(({ sessionId }) => sessionId));
  const found = await sessions?.sources([...ids]);
  if (!found || found.size === 0) return hits;
  return hits.map((hit) => {
    const source = found.get(hit.sessionId);
    return source ? { ...hit, from: sourceView(source, hit.sessionId, undefined) } : hit;
  });
}
