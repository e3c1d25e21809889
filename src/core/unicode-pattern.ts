/**
 * A Unicode pattern, compiled only for the first text that is not ASCII. ASCII texts use `ascii`.
 *
 * Node needs about half a millisecond to compile such a pattern, and compiles a literal twice while
 * it loads the file. Most texts never need it.
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
/** Matches nothing. The ASCII pattern for characters that ASCII does not have. */
export const NOTHING = /(?!)/g;
