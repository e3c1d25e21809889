import type { Context } from "hono";

const DESCRIPTION = "Sessions that remember: context compaction and semantic memory for agents.";

const LINKS = { openapi: "/openapi.json", health: "/health", sessions: "/sessions" };

/**
 * The answer of `GET /`: where to go on, as text, or as JSON for a client that asks for it. Strangers
 * may read it, so a caller leaves out the version when the request lacks a token.
 */
export function startPage(
  context: Context,
  { version, needsToken }: { readonly version: string | undefined; readonly needsToken: boolean },
): Response {
  context.header("vary", "accept");
  if (/\bapplication\/json\b/.test(context.req.header("accept") ?? "")) {
    return context.json({
      name: "rkat",
      ...(version === undefined ? {} : { version }),
      description: DESCRIPTION,
      needs_token: needsToken,
      links: LINKS,
    });
  }
  const token = needsToken
    ? "\nEvery route but /health needs `Authorization: Bearer <token>`.\n"
    : "";
  return context.text(`${version === undefined ? "rkat" : `rkat ${version}`}
${DESCRIPTION}

GET  ${LINKS.openapi}   all routes, as an OpenAPI document
GET  ${LINKS.health}         whether the server is up
GET  ${LINKS.sessions}       the sessions
POST ${LINKS.sessions}       create a session: curl --json '{}' ${new URL(LINKS.sessions, context.req.url)}
${token}`);
}
