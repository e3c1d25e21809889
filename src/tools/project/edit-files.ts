import { z } from "zod";
import { defineTool, type Tool, ToolError } from "../../core/tool.ts";
import type { ProjectFolder } from "./project-folder.ts";
import { isSecretPath } from "./read-file.ts";

const TEXT_MAX = 500_000;

/** The tools that change files of the project. Every call needs approval. */
export function editTools(folder: ProjectFolder): readonly Tool[] {
  const path = z.string().min(1).max(1_000).describe("Relative to the project's folder.");
  const approvalOf = (tool: string) => ({
    policy: "ask" as const,
    always: (args: unknown) => (isSecretPath(args, folder) ? undefined : { tool }),
  });
  return [
    defineTool({
      name: "edit_file",
      description:
        "Replace a text in a file of the project. old_text must be in the file exactly once, with its indentation.",
      input: z.object({
        path,
        old_text: z.string().min(1).max(TEXT_MAX),
        new_text: z.string().max(TEXT_MAX),
        every: z.boolean().nullish().describe("Replace each place where old_text is."),
      }),
      ...approvalOf("edit_file"),
      execute({ path, old_text, new_text, every }) {
        const before = folder.read(path);
        const usesCrLf = before.includes("\r\n") && !old_text.includes("\r");
        const [old, fresh] = [old_text, new_text].map((text) =>
          usesCrLf ? text.replaceAll("\n", "\r\n") : text,
        ) as [string, string];
        const parts = before.split(old);
        const places = parts.length - 1;
        if (places === 0) {
          throw new ToolError(
            "invalid_arguments",
            `old_text is not in ${path}. Read the file again, and copy the text exactly.`,
          );
        }
        if (places > 1 && !every) {
          throw new ToolError(
            "invalid_arguments",
            `old_text is in ${path} ${places} times. Give more of its surroundings, or set every.`,
          );
        }
        folder.write(path, parts.join(fresh));
        return `Changed ${path} in ${places === 1 ? "one place" : `${places} places`}.`;
      },
    }),
    defineTool({
      name: "write_file",
      description: "Make a file in the project, or replace all of its text. Prefer edit_file.",
      input: z.object({ path, content: z.string().max(TEXT_MAX) }),
      ...approvalOf("write_file"),
      execute({ path, content }) {
        return `${folder.write(path, content) ? "Made" : "Replaced"} ${path}.`;
      },
    }),
  ];
}
