/** In order of precedence: a path may look like names with dots between them. */
export const ANCHOR_KINDS = ["links", "paths", "errors", "names", "numbers"] as const;

export type AnchorKind = (typeof ANCHOR_KINDS)[number];

/** One look of an anchor. */
export interface AnchorForm {
  readonly kind: AnchorKind;
  /** The characters that it can begin with, as a class of a regular expression. */
  readonly begins: string;
  /**
   * A pattern over the kinds of characters after the first one, in this order: `A` and
   * `a` for letters, `0` for digits, `_`, and then the sign behind the word. Without it, the form is tried
   * at every word that begins so.
   */
  readonly needs?: string;
  /** The source of a regular expression. It takes linear time from one place. */
  readonly form: string;
  /** Goes on behind a `+`, where another anchor may begin. From many places together it is quadratic. */
  readonly wide?: true;
}

const EXTENSIONS =
  "[cm]?[jt]sx?|jsonl?|toml|ya?ml|md|txt|csv|tsv|html?|s?css|py|ipynb|rs|go|java|kt|rb|php|c|cc|cpp|h|hpp|cs|swift|sh|sql|db|sqlite|lock|log|env|ini|cfg|conf|xml|svg|png|jpe?g|gif|pdf|docx?|xlsx?|zip|t?gz|wasm|proto|vue|svelte|tf|lua|zig|exe|dll|so";

/** A hash or its beginning: it has letters and digits. */
const HEXADECIMAL = "(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{7,40}\\b";

/** The looks of anchors. The first that fits counts; `wide` ones come before the others. */
export const ANCHOR_FORMS: readonly AnchorForm[] = [
  {
    kind: "links",
    begins: "[a-z]",
    form: "[a-z][a-z0-9+.-]{1,20}://[^\\s<>\"'`)\\]}|\\\\]+",
    wide: true,
  },
  {
    kind: "links",
    begins: "[\\w.+-]",
    form: "[\\w.+-]+@[\\w-]+(?:\\.[\\w-]+)+",
    wide: true,
  },
  {
    kind: "paths",
    begins: "[~./]",
    form: "(?:~|\\.{1,2})?(?:/[\\w.@+-]+){2,}/?",
    wide: true,
  },
  { kind: "paths", begins: "[~.]", form: "(?:~|\\.{1,2})/[\\w.@+-]+", wide: true },
  {
    kind: "paths",
    begins: "[\\w.@+-]",
    form: `(?:[\\w.@+-]+/)+[\\w@+-][\\w.@+-]*\\.(?:${EXTENSIONS})\\b`,
    wide: true,
  },
  {
    kind: "paths",
    begins: "[\\w.@+-]",
    form: "@?[\\w.+-]+(?:/[\\w.+-]+){2,}",
    wide: true,
  },
  { kind: "paths", begins: "@", form: "@[\\w-]+/[\\w.-]+", wide: true },

  { kind: "paths", begins: "[A-Za-z]", needs: "[:]", form: "[A-Za-z]:\\\\[\\w.\\\\ -]*[\\w-]" },
  { kind: "paths", begins: "[\\w-]", needs: "[.-]", form: `[\\w-][\\w.-]*\\.(?:${EXTENSIONS})\\b` },

  {
    kind: "errors",
    begins: "E",
    needs: "[A-Z]",
    form: "E(?:ACCES|ADDRINUSE|ADDRNOTAVAIL|AGAIN|AI_AGAIN|BADF|BUSY|CONNABORTED|CONNREFUSED|CONNRESET|EXIST|HOSTUNREACH|INTEGRITY|INTR|INVAL|IO|ISDIR|LOOP|MFILE|NAMETOOLONG|NETUNREACH|NODEV|NOENT|NOMEM|NOSPC|NOSYS|NOTDIR|NOTEMPTY|NOTFOUND|PERM|PIPE|PROTO|RESOLVE|ROFS|TIMEDOUT|XDEV|XIST)\\b",
  },
  { kind: "errors", begins: "[A-Z]", needs: "\\d", form: "[A-Z]{1,6}\\d{3,6}\\b" },
  { kind: "errors", begins: "0", needs: "a", form: "0x[0-9A-Fa-f]+\\b" },
  {
    kind: "errors",
    begins: "[HSsEe]",
    needs: "[Aa][^Aa\\d :#-]*[\\d :#-]",
    form: "(?:HTTP|[Ss]tatus|[Ee]rror|[Ee]xit code|[Ss]ignal|SIG)[ :#]?(?:code )?-?\\d{1,6}\\b",
  },
  { kind: "errors", begins: "S", needs: "[A-Z]", form: "SIG[A-Z]{3,7}\\b" },
  { kind: "errors", begins: "[A-Z]", needs: "[A-Z]", form: "[A-Z][A-Za-z]+(?:Error|Exception)\\b" },

  {
    kind: "names",
    begins: "[0-9a-f]",
    needs: "-",
    form: "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
  },
  { kind: "names", begins: "[a-f]", needs: "\\d", form: HEXADECIMAL },
  { kind: "names", begins: "\\d", needs: "[a-z]", form: HEXADECIMAL },
  { kind: "names", begins: "[A-Za-z]", needs: "[:]", form: "[A-Za-z]\\w*(?:::\\w+)+" },
  { kind: "names", begins: "-", needs: "-", form: "--[a-z][\\w-]+" },
  { kind: "names", begins: "[A-Za-z]", needs: "_", form: "[A-Za-z][A-Za-z0-9]*_\\w+" },
  { kind: "names", begins: "[a-z]", needs: "[A-Z]", form: "[a-z]+[A-Z]\\w*" },
  { kind: "names", begins: "[A-Z]", needs: "[A-Z]", form: "[A-Z][a-z0-9]+[A-Z]\\w*" },
  { kind: "names", begins: "[A-Z]", needs: "-", form: "[A-Z]{2,10}-\\d+\\b" },
  { kind: "names", begins: "[a-z]", needs: "-", form: "[a-z]\\w*(?:-\\w+)*-v?\\d[\\w.]*" },
  {
    kind: "names",
    begins: "[A-Za-z]",
    needs: "[.]",
    form: "[A-Za-z]\\w*(?:\\.[A-Za-z]\\w+)+(?:\\(\\))?",
  },
  { kind: "names", begins: "[A-Za-z_]", needs: "[(]", form: "[A-Za-z_]\\w*\\(\\)" },
  { kind: "names", begins: "v", needs: "[.]", form: "v\\d+(?:\\.\\d+)+[\\w.-]*" },
  { kind: "names", begins: "#", needs: "\\d", form: "#\\d+\\b" },
  {
    kind: "names",
    begins: "\\d",
    needs: "[.]",
    form: "\\d{1,3}(?:\\.\\d{1,3}){3}(?::\\d{1,5})?\\b",
  },
  { kind: "names", begins: "`", needs: "[^`]", form: "`[^`\\n]{2,60}`" },

  {
    kind: "numbers",
    begins: "\\d",
    needs: "-",
    form: "\\d{4}-\\d{2}-\\d{2}(?:[T ]\\d{2}:\\d{2}(?::\\d{2})?)?",
  },
  {
    kind: "numbers",
    begins: "\\d",
    needs: "[:]",
    form: "\\d{1,2}:\\d{2}(?::\\d{2})?(?:\\s?[AaPp][Mm])?\\b",
  },
  {
    kind: "numbers",
    begins: "[$€£¥]",
    needs: "[\\d ]",
    form: "[$€£¥]\\s?\\d[\\d.,]{0,20}[kKmMbB]?",
  },
  {
    kind: "numbers",
    begins: "[\\d-]",
    needs: "[A-Za-z %.,]",
    form: "-?\\d(?:[\\d.,]{0,20}\\d)?(?![\\d.,])\\s?(?:%|°C?|[kKMGT]i?B|[mµn]s\\b|px\\b|rpm\\b|fps\\b|dB\\b|[kM]?Hz\\b|[kmc]?m\\b|kg\\b|g\\b|[kM]?W\\b|[smhd]\\b|(?:second|minute|hour|day|week|month|year|token|byte|row|line|user|mile|dollar|euro)s?\\b)",
  },
  { kind: "numbers", begins: "\\d", needs: "[.]", form: "\\d{1,12}(?:\\.\\d{1,12}){1,3}\\b" },
  { kind: "numbers", begins: "[\\d-]", needs: "[\\d,]", form: "-?\\d[\\d,]{0,20}\\d{2}\\b" },
];
