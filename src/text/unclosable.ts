/**
 * A text that can stand inside `<tag>…</tag>` without ending it, however it spells the tag:
 * `</record>`, `</ RECORD >` and `＜/record＞` begin with `<\` afterwards. All else stays as it is.
 */
export function unclosable(tag: string, text: string): string {
  return text.replace(tagPattern(tag), "<\\$1");
}

/** Characters that take no room. */
const INVISIBLE = "\\u00ad\\u061c\\u180e\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u206f\\ufeff";

/**
 * An opening or closing tag, also with other letter cases, spaces, invisible characters and full-width
 * forms. Flags for cases and Unicode would make it several times slower.
 */
function tagPattern(tag: string): RegExp {
  const gap = `[\\s${INVISIBLE}]*`;
  const name = [...tag].map((letter) => {
    const upper = letter.toUpperCase();
    return `[${letter}${upper}${wide(letter)}${wide(upper)}]`;
  });
  const slash = `[/${wide("/")}\\u2044\\u2215]`;
  // The second gap needs the slash. Two gaps in a row would take quadratic time on a long run of spaces.
  const spelled = `${gap}(?:${slash}${gap})?${name.join(`[${INVISIBLE}]*`)}`;
  return new RegExp(`[<${wide("<")}\\ufe64](${spelled})`, "g");
}

/** The full-width form, which has the same meaning to a reader. */
function wide(character: string): string {
  return String.fromCodePoint((character.codePointAt(0) ?? 0) + 0xfee0);
}
