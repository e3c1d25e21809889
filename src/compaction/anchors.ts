/** What a text is held by: a name or a figure that cannot be said in other words. */
export interface Anchor {
  readonly kind: AnchorKind;
  /** What a reader would look for. */
  readonly text: string;
  /** The same with the words before it, where it says nothing by itself: `port 7443`. */
  readonly shown: string;
}

/** In the order in which they count: a path may look like names with strokes between them. */
const ANCHOR_KINDS = ["links", "paths", "errors", "names", "numbers"] as const;

export type AnchorKind = (typeof ANCHOR_KINDS)[number];

/** A longer one is data, not a name. */
const CHARACTERS_MAX = 120;

/** What is taken of a very long text, such as a file that a tool has read: its two ends. */
const TEXT_CHARACTERS_MAX = 100_000;

/**
 * Finds the anchors of a text, in order: paths, links, error codes, identifiers,
 * and numbers. Every mention counts.
 *
 * It knows forms, not words, so it works the same in every language. What looks
 * like a credential is none.
 */
export function anchorsIn(text: string): Anchor[] {
  const anchors: Anchor[] = [];
  const source = shortened(text);
  for (const match of source.matchAll(ANCHOR)) {
    const { index, groups = {} } = match;
    const kind = ANCHOR_KINDS.find((name) => groups[name] !== undefined);
    const found = kind && trimmed(groups[kind] ?? "");
    if (!kind || !found || found.length > CHARACTERS_MAX || isCredential(found)) continue;
    const shown = kind === "numbers" ? withWordsBefore(source, index, found) : found;
    anchors.push({ kind, text: found, shown });
  }
  return anchors;
}

const EXTENSIONS =
  "[cm]?[jt]sx?|jsonl?|toml|ya?ml|md|txt|csv|tsv|html?|s?css|py|ipynb|rs|go|java|kt|rb|php|c|cc|cpp|h|hpp|cs|swift|sh|sql|db|sqlite|lock|log|env|ini|cfg|conf|xml|svg|png|jpe?g|gif|pdf|docx?|xlsx?|zip|t?gz|wasm|proto|vue|svelte|tf|lua|zig|exe|dll|so";

/** What each looks like. None begins inside a word, so that few places are tried and no text takes long. */
const FORMS: Readonly<Record<AnchorKind, string>> = {
  links: "\\b[a-z][a-z0-9+.-]{1,20}://[^\\s<>\"'`)\\]}|\\\\]+|[\\w.+-]+@[\\w-]+(?:\\.[\\w-]+)+",
  paths: [
    "[A-Za-z]:\\\\[\\w.\\\\ -]*[\\w-]",
    "(?:~|\\.{1,2})?(?:/[\\w.@+-]+){2,}/?",
    "(?:~|\\.{1,2})/[\\w.@+-]+",
    `(?:[\\w.@+-]+/)+[\\w@+-][\\w.@+-]*\\.(?:${EXTENSIONS})\\b`,
    "@?[\\w.+-]+(?:/[\\w.+-]+){2,}",
    "@[\\w-]+/[\\w.-]+",
    `[\\w-][\\w.-]*\\.(?:${EXTENSIONS})\\b`,
  ].join("|"),
  errors: [
    "E(?:ACCES|ADDRINUSE|ADDRNOTAVAIL|AGAIN|AI_AGAIN|BADF|BUSY|CONNABORTED|CONNREFUSED|CONNRESET|EXIST|HOSTUNREACH|INTEGRITY|INTR|INVAL|IO|ISDIR|LOOP|MFILE|NAMETOOLONG|NETUNREACH|NODEV|NOENT|NOMEM|NOSPC|NOSYS|NOTDIR|NOTEMPTY|NOTFOUND|PERM|PIPE|PROTO|RESOLVE|ROFS|TIMEDOUT|XDEV|XIST)\\b",
    "[A-Z]{1,6}\\d{3,6}\\b",
    "0x[0-9A-Fa-f]+\\b",
    "(?:HTTP|[Ss]tatus|[Ee]rror|[Ee]xit code|[Ss]ignal|SIG)[ :#]?(?:code )?-?\\d{1,6}\\b",
    "SIG[A-Z]{3,7}\\b",
    "[A-Z][A-Za-z]+(?:Error|Exception)\\b",
  ].join("|"),
  names: [
    "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    "(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\\d)[0-9a-f]{7,40}\\b",
    "[A-Za-z]\\w*(?:::\\w+)+",
    "--[a-z][\\w-]+",
    "[A-Za-z]\\w*_\\w+",
    "[a-z]+[A-Z]\\w*",
    "[A-Z][a-z0-9]+[A-Z]\\w*",
    "[A-Z]{2,10}-\\d+\\b",
    "[a-z]\\w*(?:-\\w+)*-v?\\d[\\w.]*",
    "[A-Za-z]\\w*(?:\\.[A-Za-z]\\w+)+(?:\\(\\))?",
    "[A-Za-z_]\\w*\\(\\)",
    "v\\d+(?:\\.\\d+)+[\\w.-]*",
    "#\\d+\\b",
    "\\d{1,3}(?:\\.\\d{1,3}){3}(?::\\d{1,5})?\\b",
    "`[^`\\n]{2,60}`",
  ].join("|"),
  numbers: [
    "\\d{4}-\\d{2}-\\d{2}(?:[T ]\\d{2}:\\d{2}(?::\\d{2})?)?",
    "\\d{1,2}:\\d{2}(?::\\d{2})?(?:\\s?[AaPp][Mm])?\\b",
    "[$€£¥]\\s?\\d[\\d.,]{0,20}[kKmMbB]?",
    "-?\\d[\\d.,]{0,20}\\s?(?:%|°C?|[kKMGT]i?B|[mµn]s\\b|px\\b|rpm\\b|fps\\b|dB\\b|[kM]?Hz\\b|[kmc]?m\\b|kg\\b|g\\b|[kM]?W\\b|[smhd]\\b|(?:second|minute|hour|day|week|month|year|token|byte|row|line|user|mile|dollar|euro)s?\\b)",
    "\\d{1,12}(?:\\.\\d{1,12}){1,3}\\b",
    "-?\\d[\\d,]{0,20}\\d{2}\\b",
  ].join("|"),
};

const ANCHOR = new RegExp(
  `(?<![\\w@./-])(?:${ANCHOR_KINDS.map((kind) => `(?<${kind}>${FORMS[kind]})`).join("|")})`,
  "gu",
);

function shortened(text: string): string {
  if (text.length <= TEXT_CHARACTERS_MAX) return text;
  const half = TEXT_CHARACTERS_MAX / 2;
  return `${text.slice(0, half)} ${text.slice(-half)}`;
}

/** Without the quotes around it and the full stop behind it. */
function trimmed(text: string): string {
  return text
    .replace(/^`|`$/g, "")
    .replace(/[.,;:!?]+$/, "")
    .trim();
}

/** Forms in which keys are issued, links with a password, and what is too random to be a name. */
function isCredential(text: string): boolean {
  if (/^[a-z][a-z0-9+.-]*:\/\/[^/@]*:[^/@]*@/.test(text)) return true;
  if (/^(sk|pk|rk|gh[pousr]|github_pat|glpat|xox\w|npm|AKIA|ASIA|AIza|eyJ)[-_\w]{12,}/.test(text))
    return true;
  return (
    /^[\w+/=-]{32,}$/.test(text) && /[a-z]/.test(text) && /[A-Z]/.test(text) && /\d/.test(text)
  );
}

/** A number says nothing without what it counts: up to two words before it, on its line. */
function withWordsBefore(text: string, index: number, found: string): string {
  const before = text.slice(Math.max(0, index - 40), index);
  const words = WORDS_AT_END.exec(before)?.[0] ?? "";
  return words + found;
}

const WORDS_AT_END = /(?<![\p{L}\p{M}\p{N}_'’-])(?:\p{L}[\p{L}\p{M}'’]{0,20}[ :=]{1,2}){1,2}$/u;
