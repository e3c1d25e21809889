import { existsSync, realpathSync } from "node:fs";
import { dirname } from "node:path";
import { z } from "zod";
import { headWithin, utf8Bytes } from "../../core/tokens.ts";
import { type Tool, ToolError } from "../../core/tool.ts";
import { systemHome } from "../../files/make-folders.ts";
import { TextFinder } from "../../text/find-text.ts";
import { ownTool } from "../own-tool.ts";
import { commandEnvironment } from "./command-environment.ts";
import { hasCredentials, mayHoldCredentials } from "./credential-files.ts";
import { findTools } from "./find-files.ts";
import { ProjectFolder } from "./project-folder.ts";
import { runCommandTool } from "./run-command.ts";

/**
 * The tools with which a model works in a project's folder. None in your home folder, or in one that
 * holds it: there is no project, and all your files are there.
 */
export function projectTools(
  path: string,
  which: "all" | "read" | "none",
  env: Readonly<Record<string, string | undefined>>,
  /** Names of variables that commands see besides the harmless ones. */
  named: readonly string[] = [],
): readonly Tool[] {
  // The list of trusted folders is in the folder of this variable.
  const homes = [systemHome(env), env.RKAT_HOME].filter((home) => home !== undefined);
  if (which === "none" || homes.some((home) => holdsHome(path, home))) return [];
  const folder = new ProjectFolder(path);
  const reading = [...findTools(folder), readFileTool(folder)];
  return which === "read"
    ? reading
    : [...reading, ...editTools(folder), runCommandTool(folder, commandEnvironment(env, named))];
}

function holdsHome(path: string, home: string): boolean {
  if (!existsSync(home)) return false;
  const folder = realpathSync(path);
  let above = realpathSync(home);
  while (above !== folder && above !== dirname(above)) above = dirname(above);
  return above === folder;
}

const TEXT_MAX = 500_000;

/** The tools that change files of the project. Every call needs approval. */
function editTools(folder: ProjectFolder): readonly Tool[] {
  const path = z.string().min(1).max(1_000).describe("Relative to the project's folder.");
  const approvalOf = (tool: string) => ({
    policy: "ask" as const,
    always: (args: unknown) => (isSecretPath(args, folder) ? undefined : { tool }),
  });
  return [
    ownTool({
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
        const parts = new TextFinder(old).split(before);
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
    ownTool({
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

const LINES_DEFAULT = 1_000;
const LINES_MAX = 5_000;
const OUTPUT_BYTES_MAX = 60_000;
const LINE_BYTES_MAX = 4_000;

const READ_FILE = z.object({
  path: z.string().min(1).max(1_000).describe("Relative to the project's folder."),
  from_line: z.int().min(1).nullish().describe("The first line to read. Default 1."),
  lines: z.int().min(1).nullish().describe(`Default ${LINES_DEFAULT}, at most ${LINES_MAX}.`),
});

/** Shows the model a text file of the project. A file that may hold credentials needs approval. */
function readFileTool(folder: ProjectFolder): Tool {
  // One call is judged once, by the arguments that the model sent.
  const judged = new WeakMap<object, boolean>();
  const needsApproval = (args: unknown) => {
    const { success, data } = READ_FILE.safeParse(args);
    if (!success || typeof args !== "object" || args === null) return false;
    const known = judged.get(args);
    if (known !== undefined) return known;
    const needs = isSecretPath(args, folder) || hasSecrets(data, folder);
    judged.set(args, needs);
    return needs;
  };
  return ownTool({
    name: "read_file",
    description: "Read a text file of the project.",
    input: READ_FILE,
    policy: (args) => (needsApproval(args) ? "ask" : undefined),
    always: (args) => (needsApproval(args) ? undefined : { tool: "read_file" }),
    execute(input, _, args) {
      const { output, isSecret } = partOf(folder.read(input.path), input);
      if (judged.get(args as object) === false && isSecret()) {
        throw new ToolError(
          "denied",
          `${input.path} has changed since the call was checked, and may hold credentials now. Read it again.`,
        );
      }
      return output;
    },
  });
}

/** The part of a text that a call reads, and whether credentials are in it or near it. */
function partOf(text: string, { from_line, lines }: z.output<typeof READ_FILE>) {
  const all = text.split("\n");
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
  return {
    output: isWhole ? shown.join("\n") || "[empty]" : [...shown, note].join("\n"),
    isSecret() {
      const before = all.slice(0, from).reduce((length, line) => length + line.length + 1, 0);
      const length = all.slice(from, next - 1).reduce((sum, line) => sum + line.length + 1, 0);
      return hasCredentials(text, before, before + length);
    },
  };
}

/** Whether a call would show credentials. One that fails asks no question. */
function hasSecrets(input: z.output<typeof READ_FILE>, folder: ProjectFolder): boolean {
  try {
    return partOf(folder.read(input.path), input).isSecret();
  } catch {
    return false;
  }
}

/** Whether the arguments of a call name a file that may hold credentials. */
function isSecretPath(args: unknown, folder: ProjectFolder): boolean {
  const { path } = (args ?? {}) as { readonly path?: unknown };
  if (typeof path !== "string") return false;
  try {
    return mayHoldCredentials(folder.pathOf(path));
  } catch {
    // The call fails without any question.
    return false;
  }
}
