import { memorySchema } from "./memory-schema.ts";
import { sessionSchema } from "./session-schema.ts";

/**
 * How a store became what it is: SQL, step by step. The schema version of a
 * store is the number of steps it has taken.
 *
 * A step that was released is never changed; what it got wrong, the next one mends.
 */
export const MIGRATIONS: readonly string[] = [sessionSchema, memorySchema];
