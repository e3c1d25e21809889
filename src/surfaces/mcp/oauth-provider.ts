import type {
  AuthProvider,
  FetchLike,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
} from "@modelcontextprotocol/client";
import { z } from "zod";
import { errorText } from "../../core/errors.ts";
import { given } from "../../core/fields.ts";
import type { McpSignIn } from "../../core/mcp-server.ts";
import { timelyFetch } from "./server-transport.ts";

// The content of the file. Fields that are not named here stay as they are.
const tokens = z.looseObject({
  access_token: z.string(),
  token_type: z.string(),
  refresh_token: z.string().optional(),
  scope: z.string().optional(),
  issuer: z.string().optional(),
});
const client = z.looseObject({
  client_id: z.string(),
  client_secret: z.string().optional(),
  issuer: z.string().optional(),
});
const kept = z.object({
  tokens,
  client,
  /** The server that gave the tokens, and for what. It alone is given them to renew. */
  giver: z.string(),
  resource: z.string().optional(),
});

/** The description of rkat for a server that signs people in. */
function metadataFor(redirect: string): OAuthClientProvider["clientMetadata"] {
  return {
    client_name: "rkat",
    redirect_uris: [redirect],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  };
}

/**
 * The tokens of an earlier sign-in, for a run in which nobody can be asked: they are renewed, and where that is not
 * possible the error says what to do. The file is read at each use, because another process may have renewed them.
 */
export function signedIn(server: string, signIn: McpSignIn): AuthProvider | undefined {
  const read = () => kept.safeParse(signIn.read()).data;
  if (read() === undefined) return undefined;
  let used: string | undefined;
  let renewing: Promise<void> | undefined;
  const renew = async (): Promise<void> => {
    const found = read();
    // Another process has renewed it.
    if (found !== undefined && found.tokens.access_token !== used) return;
    const { refresh_token: refreshToken } = found?.tokens ?? {};
    try {
      if (found === undefined || refreshToken === undefined) throw new SignedOut();
      signIn.write({ ...found, tokens: await renewed(found, refreshToken) });
    } catch (error) {
      if (!(error instanceof SignedOut)) {
        throw new Error(`the sign-in was not renewed: ${errorText(error)}`, { cause: error });
      }
      // Unless another process was faster, and used the token up.
      if (read()?.tokens.refresh_token !== refreshToken) return;
      signIn.remove();
      const what = `the sign-in is no longer valid. Sign in again: \`rkat mcp login ${server}\``;
      throw new Error(what, { cause: error });
    }
  };
  return {
    async token() {
      used = read()?.tokens.access_token;
      return used;
    },
    async onUnauthorized() {
      renewing ??= renew().finally(() => {
        renewing = undefined;
      });
      await renewing;
    },
  };
}

/** The server no longer takes what it gave. */
class SignedOut extends Error {}

async function renewed(
  { client: clientInformation, giver, resource, tokens: before }: z.output<typeof kept>,
  refreshToken: string,
) {
  const { discoverAuthorizationServerMetadata, OAuthError, OAuthErrorCode, refreshAuthorization } =
    await import("@modelcontextprotocol/client");
  const timely = timelyFetch(giver);
  const fetchFn: FetchLike = (url, init) => timely(url, { ...init, redirect: "error" });
  const metadata = await discoverAuthorizationServerMetadata(giver, { fetchFn });
  const refused: readonly string[] = [
    OAuthErrorCode.InvalidGrant,
    OAuthErrorCode.InvalidClient,
    OAuthErrorCode.UnauthorizedClient,
  ];
  try {
    const after = await refreshAuthorization(giver, {
      clientInformation,
      refreshToken,
      fetchFn,
      ...given({ metadata, resource }),
    });
    return { ...before, ...after };
  } catch (error) {
    const isOver = error instanceof OAuthError && refused.includes(error.code);
    throw isOver ? new SignedOut(error.message, { cause: error }) : error;
  }
}

/** A sign-in by a person: nothing is kept before it is complete. */
export interface Asking {
  readonly provider: OAuthClientProvider;
  /** Keeps what the server gave. False if it gave nothing. */
  keep(): boolean;
}

export function askingPerson(
  signIn: McpSignIn,
  redirect: string,
  {
    clientId,
    state,
    show,
  }: { clientId?: string; state: string; show(address: URL): Promise<void> },
): Asking {
  let known: StoredOAuthClientInformation | undefined = clientId
    ? { client_id: clientId }
    : undefined;
  let received: z.output<typeof tokens> | undefined;
  let resource: string | undefined;
  let verifier = "";
  let discovery: OAuthDiscoveryState | undefined;
  return {
    provider: {
      redirectUrl: redirect,
      clientMetadata: metadataFor(redirect),
      state: () => state,
      clientInformation: () => known,
      saveClientInformation(information) {
        known = information;
      },
      tokens: () => received,
      saveTokens(sent) {
        received = tokens.parse(sent);
      },
      saveResourceUrl(url) {
        resource = url;
      },
      saveCodeVerifier(code) {
        verifier = code;
      },
      codeVerifier: () => verifier,
      discoveryState: () => discovery,
      saveDiscoveryState(found) {
        discovery = found;
      },
      redirectToAuthorization: show,
    },
    keep() {
      const giver = discovery?.authorizationServerUrl;
      if (received === undefined || known === undefined || giver === undefined) return false;
      signIn.write({ tokens: received, client: known, giver, ...given({ resource }) });
      return true;
    },
  };
}
