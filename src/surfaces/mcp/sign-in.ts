import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { FetchLike, OAuthClientProvider } from "@modelcontextprotocol/client";
import { errorText, SessionError } from "../../core/errors.ts";
import type { McpServer } from "../../core/mcp-server.ts";
import { askingPerson } from "./oauth-provider.ts";
import { httpTransport, timelyFetch } from "./server-transport.ts";

const ASKED_MS = 5 * 60_000;

export interface SignInOptions {
  /** The id of a client that the server already knows. Default: rkat registers itself. */
  readonly clientId?: string;
  /** The port on this machine that the browser comes back to. Default: a free one. */
  readonly port?: number;
  /** Shows a person the address where they sign in. */
  show(address: URL): Promise<void>;
  readonly signal: AbortSignal;
}

/**
 * Signs a person in to a server, by OAuth as the client package has it:
 *
 *     rkat ── asks for tools ──► server          401: who are you?
 *     rkat ── shows an address ► the person      who signs in, in a browser
 *     browser ── comes back ───► 127.0.0.1       with a code, which rkat changes into tokens
 *
 * Returns false where the server asks for no sign-in.
 *
 * @throws SessionError `NOT_POSSIBLE`
 */
export async function signInTo(
  { name, address }: McpServer,
  { port = 0, show, signal, clientId }: SignInOptions,
): Promise<boolean> {
  const { signIn } = address ?? {};
  if (!address || !signIn) throw refused(name, "it has no address, or a token of its own");
  const state = crypto.randomUUID();
  const callback = await listenForCallback(state, port).catch((error: unknown) => {
    throw refused(name, errorText(error), error);
  });
  try {
    let isShown = false;
    const asking = askingPerson(signIn, callback.address, {
      state,
      ...(clientId === undefined ? {} : { clientId }),
      async show(page) {
        if (!/^https?:$/.test(page.protocol)) throw new Error("its address is no web address");
        if (isShown) return;
        isShown = true;
        await show(page);
      },
    });
    const transport = await httpTransport(address, asking.provider, (url, init) =>
      timelyFetch(address.url)(url, init),
    );
    const isOpen = await isOpenWithout(transport).catch((error: unknown) => {
      if (isShown) return false;
      throw error;
    });
    if (isOpen && !(await isAskedLater(address.url, asking.provider))) return false;
    const given = await callback.answered(AbortSignal.any([signal, AbortSignal.timeout(ASKED_MS)]));
    await transport.finishAuth(given);
    if (!asking.keep()) throw new Error("it gave no token");
    callback.succeeded();
    return true;
  } catch (error) {
    signal.throwIfAborted();
    throw refused(name, errorText(error), error);
  } finally {
    callback.close();
  }
}

function refused(name: string, why: string, cause?: unknown): SessionError {
  return new SessionError("NOT_POSSIBLE", {
    message: `There is no sign-in to ${name}: ${why.replace(/\.$/, "")}.`,
    hint: "A server that registers no clients takes the id of one of yours by --client-id, and one that gives tokens by hand takes one by --api-key-env of `rkat mcp add`.",
    cause,
  });
}

async function isOpenWithout(
  transport: Awaited<ReturnType<typeof httpTransport>>,
): Promise<boolean> {
  const { Client } = await import("@modelcontextprotocol/client");
  const client = new Client(
    { name: "rkat", version: "1" },
    { versionNegotiation: { mode: "auto" } },
  );
  try {
    await client.connect(transport);
    await client.listTools();
    return true;
  } finally {
    await client.close();
  }
}

/** Some servers show their tools to everyone, and ask who you are when one is called. */
async function isAskedLater(url: string, provider: OAuthClientProvider): Promise<boolean> {
  const { auth, discoverOAuthProtectedResourceMetadata } = await import(
    "@modelcontextprotocol/client"
  );
  const timely = timelyFetch(url);
  const fetchFn: FetchLike = (to, init) => timely(to, { ...init, redirect: "error" });
  const isKnown = await discoverOAuthProtectedResourceMetadata(url, {}, fetchFn).then(
    () => true,
    () => false,
  );
  return isKnown && (await auth(provider, { serverUrl: url, fetchFn })) === "REDIRECT";
}

interface Callback {
  readonly address: string;
  /** The parameters of the address that the browser came back to. */
  answered(signal: AbortSignal): Promise<URLSearchParams>;
  /** Tells the person that it went well. */
  succeeded(): void;
  /** Tells the person that it failed, unless it succeeded. */
  close(): void;
}

const FAILED = [400, "The sign-in failed. The terminal says why."] as const;

/** Waits on this machine for the browser that comes back with this `state`. Others get a 404, and change nothing. */
async function listenForCallback(state: string, port: number): Promise<Callback> {
  const arrival = Promise.withResolvers<URLSearchParams>();
  // A browser may come back twice, and shows the person what it is told the second time.
  const outcome = Promise.withResolvers<readonly [status: number, text: string]>();
  const server: Server = createServer((request, response) => {
    const asked = URL.parse(request.url ?? "/", "http://127.0.0.1");
    const given = asked?.searchParams;
    if (asked?.pathname !== "/callback" || given?.get("state") !== state) {
      say(response, 404, "There is nothing here.");
      return;
    }
    arrival.resolve(given);
    void outcome.promise.then((end) => say(response, ...end));
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const { port: used } = server.address() as AddressInfo;
  return {
    address: `http://127.0.0.1:${used}/callback`,
    answered: (signal) => Promise.race([arrival.promise, untilAborted(signal)]),
    succeeded: () => outcome.resolve([200, "rkat is signed in. You can close this window."]),
    close() {
      outcome.resolve(FAILED);
      server.close();
      server.closeIdleConnections();
    },
  };
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}

function say(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    "content-type": "text/plain; charset=utf-8",
    "cache-control": "no-store",
    connection: "close",
  });
  response.end(`${text}\n`);
}
