/** The name in a web address that means this machine. */
export const LOOPBACK_NAME: RegExp = /^(?:localhost|\[::1\]|127\.\d+\.\d+\.\d+)$/;

const PROXIES = ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"];
const BYPASSES = ["no_proxy", "NO_PROXY"];

type Environment = Record<string, string | undefined>;

/**
 * Lets requests to a server on this machine bypass the proxy of the environment, which cannot reach that server and would
 * be shown the key. Node reads `NO_PROXY` at each request, so the address is added there. Does nothing for other addresses.
 */
export function bypassProxy(address: string | URL, env: Environment = process.env): void {
  const name = URL.parse(String(address))?.hostname ?? "";
  if (!LOOPBACK_NAME.test(name) || !PROXIES.some((variable) => env[variable])) return;
  const given = BYPASSES.filter((variable) => env[variable]);
  for (const variable of given.length > 0 ? given : ["NO_PROXY"]) {
    const names = env[variable]?.split(/[\s,]+/) ?? [];
    if (!names.includes(name) && !names.includes("*")) env[variable] = [...names, name].join(",");
  }
}

/** A sentence about the environment's proxy for requests to another machine; empty without a proxy. */
export function proxyNote(address: string, env: Environment = process.env): string {
  const url = URL.parse(address);
  if (!url || LOOPBACK_NAME.test(url.hostname)) return "";
  const variable = PROXIES.find(
    (name) => name.toLowerCase().startsWith(`${url.protocol.slice(0, -1)}_`) && env[name],
  );
  if (variable === undefined) return "";
  return env.NODE_USE_ENV_PROXY
    ? ` Requests go through the proxy in ${variable}: check that too.`
    : ` ${variable} is set, and Node uses it only with NODE_USE_ENV_PROXY=1.`;
}
