/**
 * A pattern about all of Unicode, given as a text, beside the one that finds the same in ASCII.
 *
 * Node takes about half a millisecond to read such a pattern, and as a literal it reads it twice while it
 * loads the file. So it is made for the first text that has more than ASCII, and most have not.
 */
export function unicodePattern(
  ascii: RegExp,
  unicode: { readonly source: string; readonly flags: string },
): (text: string) => RegExp {
  let made: RegExp | undefined;
  return (text) => {
    if (isAscii(text)) return ascii;
    made ??= new RegExp(unicode.source, unicode.flags);
    return made;
  };
}

export function isAscii(text: string): boolean {
  return ASCII.test(text);
}

const ASCII = /^[\0-\x7f]*$/;
/** The pattern in ASCII of what only other characters can be: it finds nothing. */
export const NOTHING = /(?!)/g;
