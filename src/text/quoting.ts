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

/**
 * A text without its blocks `<tag>…</tag>`, in one pass. `opening` is a global pattern of the opening tags, with the name
 * as its first group. A tag without an end is something that a person wrote about.
 */
export function withoutBlocks(text: string, opening: RegExp): string {
  if (!text.includes("<")) return text;
  const kept: string[] = [];
  const endless = new Set<string>();
  let at = 0;
  for (;;) {
    opening.lastIndex = at;
    const found = opening.exec(text);
    if (!found) return kept.join("") + text.slice(at);
    const [tag, name = ""] = found;
    const close = `</${name}>`;
    const end = endless.has(name) ? -1 : text.indexOf(close, found.index);
    if (end < 0) endless.add(name);
    const next = end < 0 ? found.index + tag.length : end + close.length;
    kept.push(text.slice(at, end < 0 ? next : found.index));
    at = next;
  }
}

/** A word as it can be pasted into a shell: a hint may have a path or an id that someone else chose. */
export function shellWord(word: string): string {
  if (/^[\w.:/@%+=,][\w.:/@%+=,-]*$/.test(word)) return word;
  return `'${word.replaceAll("'", "'\\''")}'`;
}
