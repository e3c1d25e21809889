import { SessionError } from "../core/errors.ts";

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/**
 * A `fetch` that never follows a redirect: the key would go along, because `fetch` takes headers
 * such as `x-api-key` to another origin.
 *
 * It throws `PROVIDER_ERROR`. A retry would get the same answer, so there is none.
 */
export function withoutRedirects(send: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await send(input, { ...init, redirect: "manual" });
    if (!REDIRECTS.has(response.status)) return response;
    await response.body?.cancel();
    const asked = input instanceof Request ? input.url : String(input);
    const target = URL.parse(response.headers.get("location") ?? "", asked);
    throw new SessionError("PROVIDER_ERROR", {
      detail: `${new URL(asked).origin} redirects to ${target?.origin ?? "another address"} (HTTP ${response.status}). Redirects are not followed, because your key would go there.`,
      hint: "Check the provider's base URL. If the provider has moved, set the new address yourself.",
    });
  };
}
