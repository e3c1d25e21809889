import fc from "fast-check";
import { expect, test } from "vitest";
import { HARMLESS, random, SECRETS } from "../../test/support/sample-secrets.ts";
import { findSecrets } from "./find-secrets.ts";
import { countSecrets, redactSecrets } from "./redact-secrets.ts";

for (const [name, [text, secret]] of Object.entries(SECRETS)) {
  test(`finds: ${name}`, () => {
    const redacted = redactSecrets(text);
    expect(redacted).toContain("[redacted ");
    for (let at = 0; at + 8 <= secret.length; at += 1) {
      const part = secret.slice(at, at + 8);
      if (!/PRIVATE|BEGIN|-----|Version/.test(part)) expect(redacted).not.toContain(part);
    }
    expect(redacted).not.toContain(secret);
    expect(redactSecrets(redacted)).toBe(redacted);
  });
}

test("keeps the text around a credential", () => {
  expect(redactSecrets("postgres://app:hunter2x@db:5432/shop")).toBe(
    "postgres://app:[redacted password]@db:5432/shop",
  );
  expect(redactSecrets(`a ghp_${random(36)}, b`)).toBe("a [redacted GitHub token], b");
  expect(redactSecrets("DB_PASSWORD=swordfish\nDB_HOST=db")).toBe(
    "DB_PASSWORD=[redacted password]\nDB_HOST=db",
  );
  const key = `-----BEGIN RSA PRIVATE KEY-----\n${random(64)}\n-----END RSA PRIVATE KEY-----`;
  expect(redactSecrets(`before ${key} after`)).toBe("before [redacted private key] after");
  expect(redactSecrets(`before ${key.slice(0, 60)}`)).toBe("before [redacted private key]");
});

test("a note after a word is prose, as the credential in its place was", () => {
  const once = redactSecrets(
    `-----BEGIN RSA PRIVATE KEY-----\n${random(12)} ghp_${random(36)}, it works`,
  );
  expect(once).toContain("[redacted GitHub token]");
  expect(redactSecrets(once)).toBe(once);
});

for (const text of HARMLESS) {
  test(`leaves alone: ${text.slice(0, 60)}`, () => {
    expect(redactSecrets(text)).toBe(text);
  });
}

test("a credential that ends right before the word of another hides neither", () => {
  const token = `448684486:AA${random(33)}`;
  for (const [text, secret] of [
    ["curl -u ada:lovelace1815 https://x.example", "lovelace1815"],
    [`Bearer ${random(20)}1`, `${random(20)}1`],
    [`Cookie: id=${random(20)}`, random(20)],
    [`Authorization: Basic ${random(24)}`, random(24)],
  ] as const) {
    const once = redactSecrets(token + text);
    expect(once).not.toContain(secret);
    expect(redactSecrets(once)).toBe(once);
  }
});

test("a credential right behind another is found", () => {
  const azure = `abc8Q~${random(34)}`;
  expect(redactSecrets(`${azure}${azure} ok`)).toBe(
    "[redacted Azure client secret][redacted Azure client secret] ok",
  );
});

test("counts by kind", () => {
  const texts = [`ghp_${random(36)} and ghs_${random(36)}`, "DB_PASSWORD=swordfish", "none"];
  expect(countSecrets(texts)).toEqual({ "GitHub token": 2, password: 1 });
});

test("findings are disjoint, in order and inside the text, and redacting twice is redacting once", () => {
  const pieces = [
    ...Object.values(SECRETS).map(([text]) => text),
    ...HARMLESS,
    ..."\n \"':=;,/@-_.{}[]()<>".split(""),
    "password",
    "token",
    "://",
    "-----BEGIN PRIVATE KEY-----",
    "Bearer ",
    "=",
    "a".repeat(40),
  ];
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.constantFrom(...pieces), fc.string()), { maxLength: 8 }),
      (all) => {
        const text = all.join("");
        let end = 0;
        for (const secret of findSecrets(text)) {
          expect(secret.start).toBeGreaterThanOrEqual(end);
          expect(secret.end).toBeGreaterThan(secret.start);
          end = secret.end;
        }
        expect(end).toBeLessThanOrEqual(text.length);
        const once = redactSecrets(text);
        expect(redactSecrets(once)).toBe(once);
      },
    ),
    { numRuns: 300 },
  );
});
