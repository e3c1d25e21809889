import { textWeight } from "./text-weight.ts";

/*
 * Estimates the tokens of an image, by the rule of each provider. The size in
 * pixels is read from the head of the file, so that no image is decoded and
 * the length of its base64 means nothing.
 */

interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** An image whose size cannot be read counts as a screen of this size. */
const UNKNOWN_SIZE: ImageSize = { width: 1920, height: 1080 };

/** Tokens of a base64 image for a `provider/model`. For an unknown model, the rule with the highest count. */
export function imageTokens(base64: string, model = ""): number {
  const size = imageSize(base64) ?? UNKNOWN_SIZE;
  const rule = ruleOf(model);
  return rule ? rule.tokens(size) : Math.max(...RULES.map(({ tokens }) => tokens(size)));
}

/** Whether two models count the tokens of every image alike. */
export function countsImagesAlike(model: string | undefined, other: string | undefined): boolean {
  return model === other || ruleOf(model) === ruleOf(other);
}

function ruleOf(model = ""): Rule | undefined {
  return RULES.find(({ models }) => models.test(model));
}

interface Rule {
  readonly models: RegExp;
  tokens(size: ImageSize): number;
}

/** The first whose `models` match counts. */
const RULES: readonly Rule[] = [
  {
    models: /claude-(\d|instant|opus-4(?!-[7-9])|(sonnet|haiku)-4)/,
    tokens: (size) => claudeTokens(size, 1568, 1568),
  },
  { models: /claude|^anthropic\//, tokens: (size) => claudeTokens(size, 2576, 4784) },
  {
    models: /gpt-[\d.]+-(mini|nano)|o4-mini/,
    tokens: (size) => Math.ceil(patches(size, 32, 1536) * 1.62),
  },
  { models: /gpt-|\bo[13]\b|^(openai|azure)\//, tokens: tileTokens },
  { models: /gemini-[3-9]/, tokens: () => 1120 },
  { models: /gemini|^(google|vertex)/, tokens: geminiTokens },
];

/**
 * Patches of 28 by 28 pixels, of an image that was scaled down to the longest
 * edge and the number of patches that the model takes.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/vision
 */
function claudeTokens(size: ImageSize, edgeMax: number, tokensMax: number): number {
  return patches(scaled(size, edgeMax / Math.max(size.width, size.height)), 28, tokensMax);
}

/**
 * 85 tokens, and 170 for each tile of 512 by 512 pixels, of an image that was
 * scaled down to fit 2 048 by 2 048, and then to a shorter side of 768.
 *
 * @see https://platform.openai.com/docs/guides/images-vision
 */
function tileTokens(size: ImageSize): number {
  const fits = scaled(size, 2048 / Math.max(size.width, size.height));
  const { width, height } = scaled(fits, 768 / Math.min(fits.width, fits.height));
  return 85 + 170 * Math.ceil(width / 512) * Math.ceil(height / 512);
}

/**
 * 258 tokens for a small image, and for each tile of a larger one.
 *
 * @see https://ai.google.dev/gemini-api/docs/tokens
 */
function geminiTokens({ width, height }: ImageSize): number {
  if (width <= 384 && height <= 384) return 258;
  const tile = Math.min(768, Math.max(256, Math.floor(Math.min(width, height) / 1.5)));
  return 258 * Math.ceil(width / tile) * Math.ceil(height / tile);
}

function patches({ width, height }: ImageSize, side: number, most: number): number {
  return Math.min(most, Math.ceil(width / side) * Math.ceil(height / side));
}

/** Made smaller by a factor, never larger. */
function scaled({ width, height }: ImageSize, factor: number): ImageSize {
  const by = Math.min(1, factor);
  return {
    width: Math.max(1, Math.round(width * by)),
    height: Math.max(1, Math.round(height * by)),
  };
}

/** The number of base64 characters that are read of a file: a JPEG may carry a preview and colours before its size. */
const HEAD_CHARACTERS = 128 * 1024;

/** The size that the head of a PNG, GIF, WebP or JPEG file says. */
export function imageSize(base64: string): ImageSize | undefined {
  const comma = base64.startsWith("data:") ? base64.indexOf(",") + 1 : 0;
  const short = bytesOf(base64.slice(comma, comma + 64));
  const size =
    sizeOfPng(short) ??
    sizeOfGif(short) ??
    sizeOfWebp(short) ??
    (short.getUint16(0) === 0xffd8
      ? sizeOfJpeg(bytesOf(base64.slice(comma, comma + HEAD_CHARACTERS)))
      : undefined);
  return size && size.width > 0 && size.height > 0 ? size : undefined;
}

/** The minimum size of a head, in bytes. */
function bytesOf(base64: string): DataView {
  const binary = decodeBase64(base64.slice(0, base64.length - (base64.length % 4)));
  const bytes = new Uint8Array(Math.max(32, binary.length));
  for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at);
  return new DataView(bytes.buffer);
}

function decodeBase64(text: string): string {
  try {
    return atob(text);
  } catch {
    return "";
  }
}

function sizeOfPng(head: DataView): ImageSize | undefined {
  if (head.getUint32(0) !== 0x89504e47) return undefined;
  return { width: head.getUint32(16), height: head.getUint32(20) };
}

function sizeOfGif(head: DataView): ImageSize | undefined {
  if (head.getUint32(0) !== 0x47494638) return undefined;
  return { width: head.getUint16(6, true), height: head.getUint16(8, true) };
}

/** The three forms of a WebP file: lossy, lossless and extended. */
function sizeOfWebp(head: DataView): ImageSize | undefined {
  if (head.getUint32(0) !== 0x52494646 || head.getUint32(8) !== 0x57454250) return undefined;
  switch (head.getUint32(12)) {
    case 0x56503820:
      return {
        width: head.getUint16(26, true) & 0x3fff,
        height: head.getUint16(28, true) & 0x3fff,
      };
    case 0x5650384c: {
      const bits = head.getUint32(21, true);
      return { width: (bits & 0x3fff) + 1, height: ((bits >> 14) & 0x3fff) + 1 };
    }
    case 0x56503858:
      return {
        width: (head.getUint32(24, true) & 0xffffff) + 1,
        height: (head.getUint32(26, true) >>> 8) + 1,
      };
    default:
      return undefined;
  }
}

/** Goes from segment to segment until one begins a frame, which says the size. */
function sizeOfJpeg(head: DataView): ImageSize | undefined {
  let at = 2;
  while (at + 9 < head.byteLength && head.getUint8(at) === 0xff) {
    const marker = head.getUint8(at + 1);
    // Any number of these may stand before a marker.
    if (marker === 0xff) {
      at += 1;
      continue;
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { width: head.getUint16(at + 7), height: head.getUint16(at + 5) };
    at += 2 + head.getUint16(at + 2);
  }
  return undefined;
}

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
