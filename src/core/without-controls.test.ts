import fc from "fast-check";
import { expect, test } from "vitest";
import { controlTable, withoutControls } from "./without-controls.ts";

test("breaks become line feeds, and control characters except tabs and line feeds are replaced", () => {
  const [few, many] = [controlTable(""), controlTable("\r\u2028\f")];
  const telling = fc.constantFrom(..."a é 東 🎉 \u0000 \u001b \u007f \u0085 \u2028".split(" "));
  const breaks = fc.constantFrom("\r", "\n", "\r\n", "\t", "\f");
  const texts = fc.array(fc.oneof(telling, breaks, fc.string({ unit: "binary", maxLength: 2 })));
  fc.assert(
    fc.property(texts, fc.constantFrom(1, 50), (parts, times) => {
      const text = parts.join("").repeat(times);
      const control = /(?![\t\n])\p{Cc}/gu;
      expect(withoutControls(text, few)).toBe(
        text.replaceAll("\r\n", "\n").replace(control, "\u{FFFD}"),
      );
      expect(withoutControls(text, many)).toBe(
        text.replace(/\r\n?|[\u2028\f]/g, "\n").replace(control, "\u{FFFD}"),
      );
    }),
    { numRuns: 1000 },
  );
});
