import fc from "fast-check";
import { expect, test } from "vitest";
import { FORMS } from "../../test/support/forms-of-secrets.ts";
import { LOOKALIKES } from "../../test/support/lookalikes.ts";
import { HARMLESS, random, SECRETS } from "../../test/support/sample-secrets.ts";
import { trials } from "../../test/support/trials.ts";
import { countSecrets, findSecrets, redactSecrets } from "./redact-secrets.ts";

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
  expect(
    redactSecrets('variable "db_password" {\n  type = string\n  default = "swordfish"\n}'),
  ).toContain('default = "[redacted password]"');
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

/** What of a credential is still in a text. */
function partsIn(text: string, secret: string): readonly string[] {
  const parts = secret.split(/\s+|\\n/).filter((part) => part.length >= 12 && !OF_BLOCK.test(part));
  return [secret, ...parts].filter((part) => text.includes(part));
}

/** Headers and ends of keys say nothing. */
const OF_BLOCK = /BEGIN|END|PRIVATE|KEY|Proc|DEK|Comment|Version|ssh/;

test("at least 600 forms and 450 texts that look like them are tried", () => {
  expect(Object.keys(FORMS).length).toBeGreaterThan(600);
  expect(new Set(LOOKALIKES).size).toBeGreaterThan(450);
});

test.each(Object.entries(FORMS))("finds the form: %s", (_, [text, secret]) => {
  const redacted = redactSecrets(text);
  expect(partsIn(redacted, secret)).toEqual([]);
  expect(redacted).toContain("[redacted ");
});

const lines = (by: (line: string, at: number) => string) => (text: string) =>
  text.split("\n").map(by).join("\n");

/** How a text stands in others: quoted, indented, commented, escaped, beside other texts. */
const SURROUNDED: Readonly<Record<string, (text: string) => string>> = {
  "between sentences": (text) => `Here it is:\n\n${text}\n\nThanks, and tell nobody.`,
  indented: lines((line) => `        ${line}`),
  "indented by tabs": lines((line) => `\t\t${line}`),
  quoted: lines((line) => `> ${line}`),
  "quoted twice": lines((line) => `> > ${line}`),
  "in a comment": lines((line) => `# ${line}`),
  "in a comment of code": lines((line) => `// ${line}`),
  "in a diff": lines((line) => `+${line}`),
  "with line numbers": lines((line, at) => `${at + 1}\t${line}`),
  "with arrows": lines((line, at) => `   ${at + 1}→${line}`),
  "in a fence": (text) => `\`\`\`\n${text}\n\`\`\``,
  "with Windows lines": (text) => text.replaceAll("\n", "\r\n"),
  "in JSON": (text) => JSON.stringify({ content: text, type: "text" }),
  "in JSON in JSON": (text) => JSON.stringify(JSON.stringify({ text })),
  "in JSON, three times": (text) => JSON.stringify(JSON.stringify(JSON.stringify([text]))),
  "in HTML": (text) =>
    text
      .replaceAll("&", "&amp;")
      .replaceAll("<", "&lt;")
      .replaceAll(">", "&gt;")
      .replaceAll('"', "&quot;"),
  twice: (text) => `${text}\n${text}`,
};

test.each(Object.entries(SURROUNDED))("finds every form %s", (_, surrounded) => {
  const missed = Object.entries(FORMS).filter(([, [text, secret]]) => {
    const redacted = redactSecrets(surrounded(text));
    return partsIn(redacted, secret).length > 0 || redactSecrets(redacted) !== redacted;
  });
  expect(missed.map(([name]) => name)).toEqual([]);
});

test("finds every form between any other texts", () => {
  const form = fc.constantFrom(...Object.entries(FORMS));
  const other = fc.constantFrom(...LOOKALIKES, ...HARMLESS);
  fc.assert(
    fc.property(form, other, other, ([, [text, secret]], before, behind) => {
      const redacted = redactSecrets(`${before}\n\n${text}\n\n${behind}`);
      expect(partsIn(redacted, secret)).toEqual([]);
    }),
    { numRuns: trials(50, 20_000) },
  );
});

test("leaves every text alone that only looks like one, also beside others and in JSON", () => {
  const changed = LOOKALIKES.filter((text) => redactSecrets(text) !== text);
  expect(changed).toEqual([]);
  const text = fc.constantFrom(...LOOKALIKES, ...HARMLESS);
  fc.assert(
    fc.property(text, text, (one, other) => {
      const both = `${one}\n\n${other}`;
      expect(redactSecrets(both)).toBe(both);
      expect(redactSecrets(JSON.stringify(one))).toBe(JSON.stringify(one));
    }),
    { numRuns: trials(150, 20_000) },
  );
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
    { numRuns: trials(80, 300) },
  );
});

test("a pass phrase in the quotes of a sentence is replaced, and a message in quotes is not", () => {
  expect(redactSecrets('my wifi password is "Blue Horse 42!"')).toBe(
    'my wifi password is "[redacted password]"',
  );
  for (const text of [
    'The password is "too short, 8 characters at least".',
    'The label of the password is "Forgotten it?"',
    "The password is 'required on page 2'.",
  ])
    expect(redactSecrets(text)).toBe(text);
});
