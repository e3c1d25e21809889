import { expect } from "vitest";
import { redactSecrets } from "../../src/secrets/redact-secrets.ts";
import { damagedText, fuzz } from "../support/fuzz.ts";
import { HARMLESS, SECRETS } from "../support/sample-secrets.ts";

const texts = damagedText([...Object.values(SECRETS).map(([text]) => text), ...HARMLESS]);

fuzz(
  "redacting a damaged text twice is redacting it once",
  texts,
  { short: 2_000, long: 1_000_000 },
  (text) => {
    const once = redactSecrets(text);
    expect(redactSecrets(once)).toBe(once);
  },
);
