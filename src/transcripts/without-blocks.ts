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
