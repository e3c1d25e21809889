import fc from "fast-check";
import { expect, test } from "vitest";
import { SECRETS } from "../../test/support/sample-secrets.ts";
import { trials } from "../../test/support/trials.ts";
import { findIssuedSecrets } from "./issued-secrets.ts";
import { SECRET_FORMS } from "./secret-forms.ts";

test("the findings are the same as when every form is tried at every place", () => {
  const piece = fc.oneof(
    fc.constantFrom(...Object.values(SECRETS).map(([text]) => text)),
    fc.constantFrom("sk-", "ghp_", "eyJ", ".ey", "-us1", "Q~", "1//0", "a".repeat(32), "Ab1_", " "),
    fc.string({ unit: "binary-ascii", maxLength: 4 }),
    fc.string({ maxLength: 4 }),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 6 }), (pieces) => {
      const text = pieces.join("");
      const found: unknown[] = [];
      findIssuedSecrets(text, (kind, start, end) => found.push([kind, start, end]));
      expect(found).toEqual(foundPlainly(text));
    }),
    { numRuns: trials(12, 500) },
  );
});

test.each(SECRET_FORMS.map(({ kind, form }) => [kind, form]))(
  "the shortest texts of a form are found as when every form is tried: %s %s",
  (_, form) => {
    const shortest = form.replace(/\{(\d+),\d+\}/g, "{$1}").replaceAll("\\b", "");
    const example = fc.stringMatching(new RegExp(`^(?:${shortest})$`));
    fc.assert(
      fc.property(example, fc.constantFrom("", "."), (secret, end) => {
        const text = `It is ${secret}${end} `;
        const found: unknown[] = [];
        findIssuedSecrets(text, (kind, start, to) => found.push([kind, start, to]));
        expect(found).toEqual(foundPlainly(text));
      }),
      { numRuns: trials(2, 30) },
    );
  },
);

const FORMS = SECRET_FORMS.map((one) => ({ ...one, form: new RegExp(one.form, "y") }));

function foundPlainly(text: string): unknown[] {
  const found: unknown[] = [];
  let foundEnd = 0;
  for (let at = 0; at < text.length; ) {
    const start = at;
    const endOfWord = at > foundEnd && /\w/.test(text.charAt(at - 1));
    const fitting = FORMS.find(({ form }) => {
      form.lastIndex = start;
      return !endOfWord && form.test(text);
    });
    at = fitting?.form.lastIndex ?? at + 1;
    if (!fitting || fitting.check?.(text.slice(start, at)) === false) continue;
    found.push([fitting.kind, start, at]);
    foundEnd = at;
  }
  return found;
}
