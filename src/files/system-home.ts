import { homedir } from "node:os";
import { isAbsolute, parse } from "node:path";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Your home folder, as other programs know it. Where the system knows none, or only a relative one, it is the root,
 * as in a container that runs under an id without a name: a relative one would be a folder of the project.
 */
export function systemHome(env: Environment): string {
  const home = env.HOME || env.USERPROFILE || homeOfAccount();
  return isAbsolute(home) ? home : parse(process.execPath).root;
}

function homeOfAccount(): string {
  try {
    return homedir();
  } catch {
    // The id of the process has no name.
    return "";
  }
}
