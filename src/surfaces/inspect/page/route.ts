import { urlPart } from "../../../text/url-part.ts";
/** The places of the page. They are in the fragment, so that Back and links work, and the server sees none of them. */
export type Route =
  | { readonly view: (typeof VIEWS)[number]; readonly asked: URLSearchParams }
  | { readonly view: SessionPart; readonly session: string; readonly seq?: number };

export const SESSION_PARTS = ["transcript", "context", "compactions", "recalled"] as const;

export type SessionPart = (typeof SESSION_PARTS)[number];

const VIEWS = ["sessions", "recall", "memory", "knowledge", "approvals", "health"] as const;

export function routeOf(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [first, id, part] = path.split("/");
  if (first === "session" && id) {
    const view = SESSION_PARTS.find((name) => name === part) ?? "transcript";
    const seq = Number(new URLSearchParams(query).get("seq"));
    return { view, session: decoded(id), ...(seq > 0 ? { seq } : {}) };
  }
  const view = VIEWS.find((name) => name === first) ?? "sessions";
  return { view, asked: new URLSearchParams(query) };
}

export function hrefOf(session: string, part: SessionPart = "transcript", seq?: number): string {
  const place = seq === undefined ? "" : `?seq=${seq}`;
  return `#/session/${urlPart(session)}/${part}${place}`;
}

/** A view that begins with a question. */
export function askingFor(
  view: (typeof VIEWS)[number],
  asked: Readonly<Record<string, string>>,
): string {
  return `#/${view}?${new URLSearchParams(asked)}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
