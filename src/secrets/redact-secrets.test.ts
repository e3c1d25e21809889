import fc from "fast-check";
import { expect, test } from "vitest";
import { HARMLESS, SECRETS } from "../../test/support/sample-secrets.ts";
import { trials } from "../../test/support/trials.ts";
import { findSecrets } from "./find-secrets.ts";
import { mayHaveSecret } from "./redact-secrets.ts";
import { SECRET_FORMS } from "./secret-forms.ts";

test("an ordinary sentence is not searched", () => {
  expect(mayHaveSecret("Staging uses port 4310, and the nightly build runs at two.")).toBe(false);
  expect(mayHaveSecret("")).toBe(false);
});

test.each(Object.entries(SECRETS))("is searched: %s", (_, [text]) => {
  expect(mayHaveSecret(text)).toBe(true);
});

test.each(SECRET_FORMS.map(({ kind, form }) => [kind, form]))(
  "every text of an issuer's form is searched: %s %s",
  (_, form) => {
    const text = fc.stringMatching(new RegExp(`^(?:${form.replaceAll("\\b", "")})$`));
    fc.assert(
      fc.property(text, (secret) => mayHaveSecret(`It is ${secret} today.`)),
      { numRuns: 20 },
    );
  },
);

test("a text that is not searched has no credential", () => {
  const pieces = [
    ...Object.values(SECRETS).flatMap(([text]) => [text, ...text.split(/\s+/)]),
    ...HARMLESS.flatMap((text) => text.split(" ")),
    ..." \n\t\"'`:=;,/@-_.{}[]()<>?&#|".split(""),
    ...["password", "pwd", "Passphrase", "api key", "login", "--user", "curl -u", "?sig=", "&pwd="],
    ...["://", "-----BEGIN PRIVATE KEY-----", "Bearer ", "a1B2c3D4e5F6", "swordfish7", "Cookie: a"],
  ];
  const text = fc.array(fc.oneof(fc.constantFrom(...pieces), fc.string({ maxLength: 6 })), {
    maxLength: 10,
  });
  fc.assert(
    fc.property(text, fc.constantFrom("", " ", "\n"), (all, between) => {
      const joined = all.join(between);
      return mayHaveSecret(joined) || findSecrets(joined).length === 0;
    }),
    { numRuns: trials(500, 3000) },
  );
});
