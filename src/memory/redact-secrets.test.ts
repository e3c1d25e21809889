import { expect, test } from "vitest";
import { redactSecrets } from "./redact-secrets.ts";

test("credentials are told by their form and replaced by what they were", () => {
  const key = `sk-ant-${"a1B2".repeat(8)}`;
  expect(redactSecrets(`use ${key} here`)).toBe("use [redacted Anthropic key] here");
  expect(redactSecrets(`AKIA${"ABCD".repeat(4)}`)).toBe("[redacted AWS key]");
  expect(redactSecrets(`a ghp_${"x".repeat(36)}, b`)).toBe("a [redacted GitHub token], b");
});

test("a private key goes whole, even when its end is missing", () => {
  const key = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----";
  expect(redactSecrets(`before ${key} after`)).toBe("before [redacted private key] after");
  expect(redactSecrets(`before ${key.slice(0, 40)}`)).toBe("before [redacted private key]");
});

test("ordinary text, hashes, ids and code stay as they are", () => {
  const text =
    "password='hunter2'; commit 9fceb02d0ae598e95dc970b74767f19372d61af8; task-sk-1; 019467d9-7e3a-7000-8000-000000000000";
  expect(redactSecrets(text)).toBe(text);
});
