/**
 * Credentials that can be told from other text by their form alone. Forms are
 * the issuers' own published ones; anything less certain stays, because a
 * memory that eats ordinary text is worse than none.
 */
const SECRETS: readonly { readonly name: string; readonly pattern: RegExp }[] = [
  {
    name: "private key",
    pattern: /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  },
  { name: "Anthropic key", pattern: /\bsk-ant-[\w-]{20,}/g },
  { name: "OpenAI key", pattern: /\bsk-(?:proj-|svcacct-)?[\w-]{32,}/g },
  { name: "Google key", pattern: /\bAIza[\w-]{35}/g },
  { name: "AWS key", pattern: /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g },
  { name: "GitHub token", pattern: /\b(?:gh[pousr]_\w{36,}|github_pat_\w{40,})/g },
  { name: "GitLab token", pattern: /\bglpat-[\w-]{20,}/g },
  { name: "Slack token", pattern: /\bxox[abeoprs]-[\w-]{10,}/g },
  { name: "Stripe key", pattern: /\b[rs]k_live_\w{20,}/g },
  { name: "npm token", pattern: /\bnpm_\w{36}\b/g },
  { name: "JSON web token", pattern: /\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}/g },
];

/** The text with each credential in it replaced by a note of what it was. */
export function redactSecrets(text: string): string {
  return SECRETS.reduce(
    (redacted, { name, pattern }) => redacted.replace(pattern, `[redacted ${name}]`),
    text,
  );
}
