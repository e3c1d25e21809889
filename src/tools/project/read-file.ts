import { z } from "zod";
import { headWithin, utf8Bytes } from "../../core/tokens.ts";
import { defineTool, type Tool } from "../../core/tool.ts";
import { looksSecret, type ProjectFolder } from "./project-folder.ts";

const LINES_DEFAULT = 1_000;
const LINES_MAX = 5_000;
const OUTPUT_BYTES_MAX = 60_000;
const LINE_BYTES_MAX = 4_000;

/** Shows the model a text file of the project. A file that may hold credentials needs approval. */
export function readFileTool(folder: ProjectFolder): Tool {
  return defineTool({
    name: "read_file",
    description: "Read a text file of the project.",
    input: z.object({
      path: z.string().min(1).max(1_000).describe("Relative to the project's folder."),
      from_line: z.int().min(1).nullish().describe("The first line to read. Default 1."),
      lines: z.int().min(1).nullish().describe(`Default ${LINES_DEFAULT}, at most ${LINES_MAX}.`),
    }),
    policy: (args) => (isSecretPath(args, folder) ? "ask" : undefined),
    always: (args) => (isSecretPath(args, folder) ? undefined : { tool: "read_file" }),
    execute({ path, from_line, lines }) {
      const all = folder.read(path).split("\n");
      if (all.at(-1) === "") all.pop();
      const from = (from_line ?? 1) - 1;
      const shown: string[] = [];
      let bytes = 0;
      for (const line of all.slice(from, from + Math.min(lines ?? LINES_DEFAULT, LINES_MAX))) {
        const head = headWithin(line, LINE_BYTES_MAX);
        const text = head === line ? line : `${head} [line cut]`;
        bytes += utf8Bytes(text) + 1;
        if (bytes > OUTPUT_BYTES_MAX) break;
        shown.push(text);
      }
      const next = from + shown.length + 1;
      const isWhole = from === 0 && next > all.length;
      const note = `[lines ${from + 1} to ${next - 1} of ${all.length}${next > all.length ? "" : `; continue with from_line ${next}`}]`;
      return isWhole ? shown.join("\n") || "[empty]" : [...shown, note].join("\n");
    },
  });
}

/** Whether the arguments of a call name a file that may hold credentials. */
export function isSecretPath(args: unknown, folder: ProjectFolder): boolean {
  const { path } = (args ?? {}) as { readonly path?: unknown };
  if (typeof path !== "string") return false;
  try {
    return looksSecret(folder.pathOf(path));
  } catch {
    // The call fails without any question.
    return false;
  }
}
