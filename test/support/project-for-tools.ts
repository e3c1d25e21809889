import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Tool } from "../../src/core/tool.ts";
import { projectTools } from "../../src/tools/project/project-tools.ts";
import { temporaryFolder } from "./obey.ts";
import { systemEnvironment } from "./system-environment.ts";

/** A folder with files, the tools that a model has in it, and a folder beside it. */
export async function projectForTools(files: Readonly<Record<string, string>> = {}) {
  const place = await temporaryFolder();
  const [folder, outside] = [join(place, "project"), join(place, "outside")];
  mkdirSync(folder);
  mkdirSync(outside);
  writeFileSync(join(outside, "secret.txt"), "outside-9417");
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const env = { ...systemEnvironment(), HOME: place, OPENAI_API_KEY: "k" };
  const tools = projectTools(folder, "all", env);
  const named = (name: string) => {
    const tool = tools.find(({ definition }) => definition.name === name);
    if (!tool) throw new Error(`There is no tool ${name}.`);
    return tool;
  };
  return {
    folder,
    outside,
    named,
    names: tools.map(({ definition }) => definition.name),
    /** What the model reads. A failure has its code before it. */
    async call(
      name: string,
      args: unknown,
      signal: AbortSignal = new AbortController().signal,
    ): Promise<string> {
      try {
        const output = await named(name).execute(args, { sessionId: "s", toolUseId: "t", signal });
        return typeof output === "string" ? output : output.content;
      } catch (error) {
        const { code, message } = error as { code?: string; message: string };
        return `${code}: ${message}`;
      }
    },
    policy: (name: string, args: unknown) => policyOf(named(name), args),
  };
}

function policyOf({ policy }: Tool, args: unknown): string {
  return (typeof policy === "function" ? policy(args) : policy) ?? "allow";
}
