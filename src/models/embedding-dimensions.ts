/** Dimensions by model name. */
const DIMENSIONS: Readonly<Record<string, number>> = {
  "text-embedding-3-small": 1536,
  "text-embedding-3-large": 3072,
  "text-embedding-ada-002": 1536,
  "nomic-embed-text": 768,
  "mxbai-embed-large": 1024,
  "all-minilm": 384,
  "bge-m3": 1024,
  "snowflake-arctic-embed2": 1024,
  embeddinggemma: 768,
  "gemini-embedding-001": 3072,
};

/** Undefined when not known. A tag, as in `nomic-embed-text:latest`, is ignored. */
export function embeddingDimensions(modelId: string): number | undefined {
  const name = modelId.split(":")[0] ?? "";
  return Object.hasOwn(DIMENSIONS, name) ? DIMENSIONS[name] : undefined;
}
