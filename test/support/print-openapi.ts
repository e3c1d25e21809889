import { openApiDocument } from "../../src/surfaces/rest/openapi-document.ts";

/** The document that `test/fixtures/rest-api.d.ts` is generated from; its first line says how. */
export const documentText = JSON.stringify(openApiDocument({ version: "0.0.0", token: true }));

if (import.meta.main) process.stdout.write(documentText);
