import { imageTokens } from "./image-tokens.ts";
import { textWeight } from "./text-weight.ts";

/** The pages of a PDF are read as text and as pictures. */
const TOKENS_PER_PAGE = 2000;
/** Compressed PDFs do not show their pages. One of this many bytes has about one page more. */
const BYTES_PER_PAGE = 50_000;
/** Sound: 16 000 bytes are a second, which is about 32 tokens. */
const BYTES_PER_TOKEN = 500;
/** A file behind an address that is not fetched. */
const UNKNOWN_PAGES = 5;

/** Estimated tokens of a file in a message. It is never fetched, and its base64 is no text. */
export function fileTokens(mediaType: string, data: string, model = ""): number {
  if (/^image(\/|$)/.test(mediaType)) return imageTokens(data, model);
  if (/^https?:/.test(data)) return UNKNOWN_PAGES * TOKENS_PER_PAGE;
  if (/^text(\/|$)/.test(mediaType)) {
    return Math.ceil(textWeight(Buffer.from(data, "base64").toString()) / 4);
  }
  const bytes = Math.ceil(data.length * 0.75);
  if (mediaType !== "application/pdf") return Math.ceil(bytes / BYTES_PER_TOKEN);
  const shown = Buffer.from(data, "base64").toString("latin1");
  const pages = shown.match(/\/Type\s*\/Page(?![a-zA-Z])/g)?.length;
  return (pages ?? Math.ceil(bytes / BYTES_PER_PAGE)) * TOKENS_PER_PAGE;
}
