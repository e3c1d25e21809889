import { createHash } from "node:crypto";
import { serve } from "@hono/node-server";
import {
  createMcpHandler,
  getOAuthProtectedResourceMetadataUrl,
  McpServer,
  OAuthError,
  OAuthErrorCode,
  oauthMetadataResponse,
  requireBearerAuth,
} from "@modelcontextprotocol/server";
import { onTestFinished } from "vitest";
import { z } from "zod";

export interface SignedServer {
  readonly url: string;
  /** Each token that it gave, by what it was for. */
  readonly given: { readonly access: string[]; readonly refresh: string[] };
  /** Refuses a token from now on. */
  expire(token: string): void;
  /** From now on it takes what is asked at a path, and does not answer. Resolves when something is. */
  silent(path: string): Promise<void>;
  /** Answers again. */
  speak(): void;
  /** Paths that were asked for. */
  readonly asked: string[];
  /** What a person does at the address where they sign in: returns what their browser was told in the end. */
  signInAt(address: string): Promise<{ readonly status: number; readonly text: string }>;
}

/**
 * An MCP server that gives its tools to those who signed in, and the server where they do that: it registers clients,
 * and gives codes for tokens (with S256 and the same redirection), and each refresh token once. One that `shows` its tools
 * asks who calls them only. One that does not register clients knows the client `known`.
 */
export async function signedMcpServer({
  denies = false,
  registers = true,
  shows = false,
} = {}): Promise<SignedServer> {
  const given: { access: string[]; refresh: string[] } = { access: [], refresh: [] };
  const [valid, refreshable, asked] = [new Set<string>(), new Set<string>(), [] as string[]];
  const codes = new Map<string, { challenge: string; redirect: string }>();
  let origin = "";
  let silence: { readonly path: string; asked(): void } | undefined;
  const tools = createMcpHandler(() => {
    const server = new McpServer({ name: "wiki", version: "1" });
    server.registerTool("look", { inputSchema: z.object({ page: z.string() }) }, ({ page }) => ({
      content: [{ type: "text", text: `the page ${page}` }],
    }));
    return server;
  });
  const json = (value: object, status = 200) => Response.json(value, { status });
  const tokens = () => {
    const access = `access-${crypto.randomUUID()}`;
    const refresh = `refresh-${crypto.randomUUID()}`;
    valid.add(access);
    refreshable.add(refresh);
    given.access.push(access);
    given.refresh.push(refresh);
    return json({
      access_token: access,
      token_type: "Bearer",
      expires_in: 3600,
      refresh_token: refresh,
    });
  };
  const exchange = (form: URLSearchParams): Response => {
    if (form.get("grant_type") === "refresh_token") {
      return refreshable.delete(form.get("refresh_token") ?? "")
        ? tokens()
        : json({ error: "invalid_grant" }, 400);
    }
    const code = codes.get(form.get("code") ?? "");
    codes.delete(form.get("code") ?? "");
    const challenge = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    const fits = code?.challenge === challenge && code.redirect === form.get("redirect_uri");
    return fits ? tokens() : json({ error: "invalid_grant" }, 400);
  };
  const answer = async (request: Request): Promise<Response> => {
    const { pathname, searchParams: query } = new URL(request.url);
    asked.push(pathname);
    if (silence?.path === pathname) {
      silence.asked();
      await new Promise(() => {});
    }
    const metadata = {
      issuer: origin,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      ...(registers ? { registration_endpoint: `${origin}/register` } : {}),
      response_types_supported: ["code"],
      code_challenge_methods_supported: ["S256"],
      token_endpoint_auth_methods_supported: ["none"],
    };
    const resource = new URL(`${origin}/mcp`);
    const known = oauthMetadataResponse(request, {
      oauthMetadata: metadata,
      resourceServerUrl: resource,
      dangerouslyAllowInsecureIssuerUrl: true,
    });
    if (known) return known;
    if (pathname === "/register") {
      const wanted: unknown = await request.json();
      return json({ ...(wanted as object), client_id: `client-${crypto.randomUUID()}` }, 201);
    }
    if (pathname === "/authorize") {
      const back = new URL(query.get("redirect_uri") ?? "");
      const code = crypto.randomUUID();
      codes.set(code, { challenge: query.get("code_challenge") ?? "", redirect: back.href });
      if (denies) back.searchParams.set("error", "access_denied");
      else back.searchParams.set("code", code);
      back.searchParams.set("state", query.get("state") ?? "");
      return Response.redirect(back.href, 302);
    }
    if (pathname === "/token") return exchange(new URLSearchParams(await request.text()));
    if (shows && !(await request.clone().text()).includes("tools/call"))
      return await tools.fetch(request);
    const gate = requireBearerAuth({
      resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(resource),
      verifier: {
        async verifyAccessToken(token) {
          if (!valid.has(token)) throw new OAuthError(OAuthErrorCode.InvalidToken, "not valid");
          return { token, clientId: "any", scopes: [], expiresAt: Date.now() / 1000 + 3600 };
        },
      },
    });
    const who = await gate(request);
    return who instanceof Response ? who : await tools.fetch(request, { authInfo: who });
  };
  const server = serve({
    fetch: answer,
    hostname: "127.0.0.1",
    port: 0,
    // The client package asks for the global class Response.
    overrideGlobalObjects: false,
  });
  await new Promise<void>((listening) => server.once("listening", listening));
  const place = server.address();
  if (place === null || typeof place === "string") throw new Error("no port");
  origin = `http://127.0.0.1:${place.port}`;
  onTestFinished(() => {
    server.close();
    if ("closeAllConnections" in server) server.closeAllConnections();
  });
  return {
    url: `${origin}/mcp`,
    given,
    asked,
    async silent(path) {
      await new Promise<void>((resolve) => {
        silence = { path, asked: resolve };
      });
    },
    speak() {
      silence = undefined;
    },
    expire: (token) => void valid.delete(token),
    async signInAt(address) {
      const response = await fetch(address);
      return { status: response.status, text: await response.text() };
    },
  };
}
