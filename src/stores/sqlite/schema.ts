import { indexSchema } from "./index-schema.ts";
import { knowledgeSchema } from "./knowledge-schema.ts";
import { sessionSchema } from "./session-schema.ts";

/** Written to the file. Raise it with every change of a table, and say how a store of the last release becomes one. */
export const SCHEMA_VERSION = 6;

/** All tables of a new store. */
export const SCHEMA = [sessionSchema, indexSchema, knowledgeSchema].join("\n");
