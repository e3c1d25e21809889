import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

/** What a coding agent's extension needs to find rkat. */
export interface InstalledRkat {
  /** The command line of rkat, with absolute paths. The last word is `bin/rkat.js` of the package. */
  readonly command: readonly string[];
  /** The folder of the agent's settings. */
  readonly folder: string;
}

interface ExtensionFile {
  readonly path: string;
  readonly text: string;
}

/** The extension of pi, in the folder that pi loads extensions from. `folder` is `~/.pi/agent`. */
export function piExtension({ command, folder }: InstalledRkat): ExtensionFile {
  return {
    path: join(folder, "extensions", "rkat.ts"),
    text: `// Written by \`rkat install pi\`. \`rkat uninstall pi\` removes it.
import { rkatExtension } from ${JSON.stringify(doorOf(command, "pi"))};

export default rkatExtension({ command: ${JSON.stringify(command)} });
`,
  };
}

/** The plugin of opencode, in the folder that opencode loads plugins from. `folder` is `~/.config/opencode`. */
export function opencodePlugin({ command, folder }: InstalledRkat): ExtensionFile {
  return {
    path: join(folder, "plugins", "rkat.js"),
    text: `// Written by \`rkat install opencode\`. \`rkat uninstall opencode\` removes it.
import { rkatPlugin } from ${JSON.stringify(doorOf(command, "opencode"))};

export default rkatPlugin({ command: ${JSON.stringify(command)} });
`,
  };
}

function doorOf(command: readonly string[], name: string): string {
  const packageFolder = dirname(dirname(command.at(-1) ?? ""));
  return pathToFileURL(join(packageFolder, "dist", `${name}.js`)).href;
}
