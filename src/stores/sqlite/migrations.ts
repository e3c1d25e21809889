import { knowledgeSchema } from "./knowledge-schema.ts";
import { memoryIndexSchema } from "./memory/memory-index-schema.ts";
import { memorySchema } from "./memory/memory-schema.ts";
import { memoryVectorSchema } from "./memory/memory-vector-schema.ts";
import { sessionSchema } from "./session-schema.ts";

/**
 * How a store became what it is: SQL, step by step. The schema version of a
 * store is the number of steps it has taken.
 *
 * A step that was released is never changed; what it got wrong, the next one mends.
 */
export const MIGRATIONS: readonly string[] = [
  sessionSchema,
  memorySchema,
  memoryIndexSchema,
  memoryVectorSchema,
  knowledgeSchema,
];
