import fc from "fast-check";
import { expect, test } from "vitest";
import { ANY_CHARACTER } from "../../test/support/any-character.ts";
import { trials } from "../../test/support/trials.ts";
import { controlTable, visibleCode, visibleText, withoutControls } from "./visible-text.ts";

test("each character that a pattern of Unicode calls hidden is shown, unless it joins or styles its neighbours", () => {
  const inEmoji = String.raw`(?<=^|\p{Extended_Pictographic}|\p{Emoji_Modifier}|\uFE0F)\u200D(?=\p{Extended_Pictographic}|$)|(?<=\p{Extended_Pictographic}|[0-9#*])[\uFE0E\uFE0F]`;
  const joined = "Arab Beng Deva Gujr Guru Knda Mlym Orya Sinh Taml Telu"
    .split(" ")
    .map((script) => String.raw`\p{scx=${script}}`)
    .join("");
  const unseen = String.raw`[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\p{Zl}\p{Zp}\u2800\uFFF9-\uFFFB]`;
  const hidden = new RegExp(`(?!${inEmoji}|(?<=[${joined}])[\\u200C\\u200D])${unseen}`, "gu");
  const telling = fc.constantFrom(
    ..."a 1 # \u200c \u200d \ufe0e \ufe0f 👍 🏽 © \u0628 \u0915 \u0301 \u202e \ud83d \udc4d \u2028 \u{e0001}".split(
      " ",
    ),
  );
  const characters = fc.oneof(telling, fc.string({ unit: ANY_CHARACTER, maxLength: 2 }));
  fc.assert(
    fc.property(fc.array(characters, { maxLength: 8 }), (parts) => {
      const text = parts.join("");
      expect(visibleText(text)).toBe(text.replace(hidden, visibleCode));
    }),
    { numRuns: trials(150, 3000) },
  );
});

test("breaks become line feeds, and control characters except tabs and line feeds are replaced", () => {
  const [few, many] = [controlTable(""), controlTable("\r\u2028\f")];
  const telling = fc.constantFrom(..."a é 東 🎉 \u0000 \u001b \u007f \u0085 \u2028".split(" "));
  const breaks = fc.constantFrom("\r", "\n", "\r\n", "\t", "\f");
  const texts = fc.array(
    fc.oneof(telling, breaks, fc.string({ unit: ANY_CHARACTER, maxLength: 2 })),
  );
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
    { numRuns: trials(60, 1000) },
  );
});
