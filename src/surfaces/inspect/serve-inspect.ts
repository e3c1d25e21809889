import { given } from "../../core/fields.ts";
import { listen } from "../http/listen.ts";
import { createRestApp, type RestApp } from "../rest/rest-app.ts";
import type { RestServer, ServeRestOptions } from "../rest/serve-rest.ts";
import { createInspectApp, type InspectOptions } from "./inspect-app.ts";

/** Serves the page at the root of a port of the loopback interface. 0 picks any free port. */
export async function serveInspect({
  port,
  ...options
}: Omit<InspectOptions, "at" | "hosts" | "anyAddress"> & {
  readonly port: number;
}): Promise<RestServer> {
  const { app, close, ...server } = await listen({ port }, (names) =>
    createInspectApp({ ...options, ...names }),
  );
  return { ...server, close: ({ graceMs = 0 } = {}) => close(() => app.drain(graceMs)) };
}

const AT = "/inspect";

/**
 * Serves REST, and the page below `/inspect/`. The page has the tokens of REST, or one of its own where that has none.
 * Each of the two looks at the names of a request itself.
 */
export async function serveRestAndPage(
  { port, host, ...options }: ServeRestOptions & { readonly port: number },
  page: Pick<InspectOptions, "token" | "write" | "project" | "check">,
): Promise<RestServer> {
  const { app, close, ...server } = await listen(
    { port, ...given({ host }), ...options },
    (names) => {
      const rest = createRestApp({ ...options, ...names });
      const inspect = createInspectApp({ ...options, ...page, ...names, at: AT });
      return bothOf(rest, inspect);
    },
  );
  return { ...server, close: ({ graceMs = 10_000 } = {}) => close(() => app.drain(graceMs)) };
}

function bothOf(rest: RestApp, page: RestApp): RestApp {
  return {
    async fetch(request) {
      const path = URL.parse(request.url)?.pathname ?? "";
      const isOfPage = path === AT || path.startsWith(`${AT}/`);
      return await (isOfPage ? page : rest).fetch(request);
    },
    async drain(graceMs) {
      await Promise.all([rest.drain(graceMs), page.drain(graceMs)]);
    },
  };
}
