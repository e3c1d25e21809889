/** Letters and signs as full-width forms have the same meaning to a reader. */
const FULL_WIDTH = 0xfee0;

/**
 * A text that can stand inside `<tag>…</tag>` without ending it, however it spells the tag:
 * `</record>`, `</ RECORD >` and `＜/record＞` begin with `<\` afterwards. All else stays as it is.
 */
export function unclosable(tag: string, text: string): string {
  return text.replace(tagPattern(tag), "<\\$1");
}

/** An opening or closing tag, also with other letter cases, spaces, invisible characters and full-width forms. */
function tagPattern(tag: string): RegExp {
  const gap = "[\\s\\p{Cf}]*";
  const name = [...tag].map((letter) => `[${letter}${wide(letter)}]`).join("\\p{Cf}*");
  return new RegExp(
    `[<${wide("<")}\\ufe64](${gap}[/${wide("/")}\\u2044\\u2215]?${gap}${name})`,
    "giu",
  );
}

function wide(character: string): string {
  return String.fromCodePoint((character.codePointAt(0) ?? 0) + FULL_WIDTH);
}
