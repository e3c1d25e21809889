/**
 * Completes a base URL. Other programs use the same variables in other forms: without
 * the version (`https://api.anthropic.com`), or as the address that Ollama listens on
 * (`0.0.0.0:11434`).
 */
export function normalizeBaseUrl(text: string, usual: string | undefined): string {
  const address = text.trim().replace(/\/+$/, "");
  if (usual === undefined) return address;
  const withScheme = /^https?:\/\//.test(address) ? address : `http://${address}`;
  const url = URL.parse(withScheme);
  // An invalid URL fails where it is used, with the user's own text.
  if (!url) return address;
  if (url.hostname === "0.0.0.0") url.hostname = "127.0.0.1";
  if (url.port === "" && withScheme !== address) url.port = new URL(usual).port;
  if (url.pathname === "/") url.pathname = new URL(usual).pathname;
  return url.href.replace(/\/+$/, "");
}
