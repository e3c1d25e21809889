import { bypassProxy, LOOPBACK_NAME } from "../core/bypass-proxy.ts";
import { SessionError, shownAddress } from "../core/errors.ts";
import { nearestName } from "../text/nearest-name.ts";
import { providerFailure } from "./provider-failure.ts";
import {
  type AiSdkProvider,
  openAiCompatible,
  PROVIDERS,
  type Provider,
  type ProviderSettings,
} from "./providers.ts";
import { safeFetch } from "./safe-fetch.ts";

export interface FindProviderOptions {
  /** Keys by provider. They override the environment. */
  readonly keys?: Readonly<Record<string, string>>;
  /** Has keys and base URLs. Default: the process's environment. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /**
   * Base URLs by provider. They override the environment. A provider that rkat does not know
   * counts as an OpenAI-compatible server: `{ groq: "https://api.groq.com/openai/v1" }` makes
   * `groq/…` work, with the key in `GROQ_API_KEY`.
   */
  readonly baseUrls?: Readonly<Record<string, string>>;
  /** Providers that get no key, because a project may have chosen their address. */
  readonly withoutKey?: readonly string[];
  readonly fetch?: typeof globalThis.fetch;
}

/** A provider with its address and key. */
export interface FoundProvider {
  readonly address: string;
  /** The variable or the setting that names the address. Undefined for the provider's own. */
  readonly addressFrom?: string;
  readonly secrets?: readonly [string];
  readonly keyVariable?: string;
  /** Loads the AI SDK's provider. @throws SessionError `MODEL_UNAVAILABLE` when its package is not installed. */
  load(): Promise<AiSdkProvider>;
}

/**
 * Finds a provider's address and key. Its package is loaded lazily.
 *
 * @throws SessionError `MODEL_UNAVAILABLE` when the provider is unknown, or its key is not set.
 */
export function findProvider(name: string, options: FindProviderOptions): FoundProvider {
  const provider = providerNamed(name, options);
  const key = findKey(provider, name, options);
  const { address, addressFrom } = findBaseUrl(provider, name, options);
  const baseURL = address;
  if (options.fetch === undefined) bypassProxy(baseURL);
  const settings = {
    name,
    baseURL,
    ...(key.secrets ? { apiKey: key.secrets[0] } : {}),
    fetch: safeFetch(options.fetch ?? globalThis.fetch),
  };
  const place = addressFrom === undefined ? { address } : { address, addressFrom };
  return { ...key, ...place, load: () => load(provider, settings) };
}

/** The answer of a provider's server to a request that costs nothing, in a few words. */
export interface Contact {
  readonly address: string;
  readonly isLocal: boolean;
  /** Asks for the list of models. @throws SessionError `PROVIDER_ERROR` when there is no connection, or the key is refused. */
  ask(signal: AbortSignal): Promise<string>;
}

/**
 * How to see whether the server of a model answers, without paying for it.
 *
 * @throws SessionError `MODEL_UNAVAILABLE` like `findProvider`
 */
export function contactOf(id: string, options: FindProviderOptions): Contact {
  const [name = ""] = id.split("/");
  const { address, secrets: [key] = [], ...found } = findProvider(name, options);
  const send = safeFetch(options.fetch ?? globalThis.fetch);
  const { headers = (key: string) => ({ authorization: `Bearer ${key}` }) } = providerNamed(
    name,
    options,
  );
  return {
    address,
    isLocal: LOOPBACK_NAME.test(URL.parse(address)?.hostname ?? ""),
    async ask(signal) {
      const context = { id, address, ...found, ...(key ? { secrets: [key] } : {}) } as const;
      try {
        const request = { signal, headers: key === undefined ? {} : headers(key) };
        const answer = await send(`${address}/models`, request);
        await answer.body?.cancel();
        const statusCode = answer.status;
        if (statusCode !== 401 && statusCode !== 403 && statusCode < 500) return "it answers";
        throw Object.assign(new Error(answer.statusText || "refused"), { statusCode });
      } catch (error) {
        if (signal.reason?.name !== "TimeoutError") signal.throwIfAborted();
        throw providerFailure(error, context);
      }
    },
  };
}

async function load(provider: Provider, settings: ProviderSettings): Promise<AiSdkProvider> {
  try {
    return await provider.load(settings);
  } catch (error) {
    if (provider.package === undefined) throw error;
    throw new SessionError("MODEL_UNAVAILABLE", {
      message: `${settings.name} needs the package ${provider.package}, which cannot be loaded.`,
      hint: `Install it: npm install ${provider.package}`,
      cause: error,
    });
  }
}

/** @throws SessionError `MODEL_UNAVAILABLE` when the provider is unknown. */
export function providerNamed(name: string, options: FindProviderOptions): Provider {
  if (Object.hasOwn(PROVIDERS, name)) return PROVIDERS[name] as Provider;
  if (options.baseUrls && Object.hasOwn(options.baseUrls, name)) {
    return openAiCompatible(keyVariableOf(name));
  }
  const near = nearestName(name, namesOf(options));
  const meant = near === undefined ? "" : `Did you mean ${near}? `;
  const section = /^[\w-]+$/.test(name) ? name : JSON.stringify(name);
  throw unavailable(
    `"${name}" is not a known provider. ${allowed(options)}`,
    `${meant}To add a server with OpenAI's protocol, set base_url under [providers.${section}] in your own config.toml (\`rkat config\` says where), and its key in ${keyVariableOf(name)}.`,
  );
}

function keyVariableOf(name: string): string {
  return `${name.toUpperCase().replace(/\W/g, "_")}_API_KEY`;
}

/** A sentence with the allowed starts of a model's name. */
export function allowed(options: FindProviderOptions): string {
  const forms = namesOf(options).map((name) => `${name}/<model>`);
  return `Allowed: ${forms.join(", ")}.`;
}

function namesOf({ baseUrls = {} }: FindProviderOptions): readonly string[] {
  return [...new Set([...Object.keys(PROVIDERS), ...Object.keys(baseUrls)])];
}

function findKey(
  provider: Provider,
  providerName: string,
  { keys = {}, env = process.env, withoutKey = [] }: FindProviderOptions,
): { readonly secrets?: readonly [string]; readonly keyVariable?: string } {
  if (withoutKey.includes(providerName)) {
    if (provider.keyOptional) return {};
    throw unavailable(
      `${providerName} needs a key, and yours is not sent to an address that a project's file chose.`,
      "Set base_url in your own config.toml (`rkat config` says where), or in a variable.",
    );
  }
  const own = keys[providerName]?.trim();
  if (own) return { secrets: [own] };
  const keyVariable = provider.keyVariables.find((variable) => env[variable]?.trim());
  const found = keyVariable && env[keyVariable]?.trim();
  if (found) return { secrets: [found], keyVariable };
  if (provider.keyOptional) return { keyVariable: provider.keyVariables.join(" or ") };
  throw unavailable(
    `${providerName} needs a key.`,
    `Set ${provider.keyVariables.join(" or ")} in the environment.`,
  );
}

function findBaseUrl(
  provider: Provider,
  providerName: string,
  { baseUrls = {}, env = process.env }: FindProviderOptions,
): Pick<FoundProvider, "address" | "addressFrom"> {
  const { baseUrlVariable, baseUrl } = provider;
  const given = baseUrls[providerName];
  const own = given || (baseUrlVariable && env[baseUrlVariable]);
  const addressFrom = given ? `base_url under [providers.${providerName}]` : baseUrlVariable;
  if (own) {
    const address = plainAddress(normalizeBaseUrl(own, baseUrl), providerName);
    return addressFrom === undefined ? { address } : { address, addressFrom };
  }
  if (baseUrl) return { address: baseUrl };
  throw unavailable(
    `${providerName} needs the base URL of a server.`,
    `Set ${baseUrlVariable} in the environment, or base_url under [providers.${providerName}], such as http://localhost:8080/v1.`,
  );
}

function unavailable(message: string, hint?: string): SessionError {
  return new SessionError("MODEL_UNAVAILABLE", { message, ...(hint ? { hint } : {}) });
}

/** `fetch` refuses an address with a password, and its error would show it. */
function plainAddress(address: string, providerName: string): string {
  const url = URL.parse(address);
  const isPlain = url && url.username + url.password + url.search === "";
  if (isPlain && /^https?:$/.test(url.protocol)) return address;
  throw unavailable(
    `${providerName} cannot be reached at ${shownAddress(address)}.`,
    "A base URL is an address such as https://host/v1, without a password and a query. Put the key into an environment variable.",
  );
}

/**
 * Completes a base URL. Other programs use the same variables in other forms: without
 * the version (`https://api.anthropic.com`), or as the address that Ollama listens on
 * (`0.0.0.0:11434`).
 */
function normalizeBaseUrl(text: string, usual: string | undefined): string {
  const address = text.trim().replace(/(?<!\/)\/+$/, "");
  if (usual === undefined) return address;
  const withScheme = address.includes("://") ? address : `http://${address}`;
  const url = URL.parse(withScheme);
  if (!url) return address;
  if (url.hostname === "0.0.0.0") url.hostname = "127.0.0.1";
  if (url.port === "" && withScheme !== address) url.port = new URL(usual).port;
  if (url.pathname === "/") url.pathname = new URL(usual).pathname;
  return url.href.replace(/(?<!\/)\/+$/, "");
}
