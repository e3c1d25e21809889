import { isObject } from "../core/fields.ts";
import { jsonText } from "../core/json-values.ts";
import { type Message, type ToolUse, toolResults, toolUses } from "../core/message.ts";
import { filesOfCall } from "../core/working-memory.ts";
import { commandLine } from "./command-lines.ts";

/** A tool whose name says that it changes a file. */
const CHANGES = /write|edit|patch|create|delete|remove|move|rename|replace|insert/i;

/** The files that a call names, and whether its tool changes files. */
export function filesIn({ name, args }: Pick<ToolUse, "name" | "args">) {
  const patched = patchedFiles(args);
  return {
    files: [...filesOfCall({ args }), ...patched],
    isChange: CHANGES.test(name) || patched.length > 0,
  };
}

/** The files of a patch as Codex writes it: `*** Update File: src/server.ts`. */
function patchedFiles(args: unknown): readonly string[] {
  const text = typeof args === "string" ? args : jsonText(args ?? "");
  if (!text.includes("*** ")) return [];
  const found = text.matchAll(/\*\*\* (?:Update|Add|Delete) File: ([^"\\\n]{1,300})/g);
  return Array.from(found, ([, path = ""]) => path.trim());
}

/** Ids of the calls that left no change: those that failed, and those that git or an opposite edit took back before a commit. */
export function withoutEffect(messages: readonly Message[]): ReadonlySet<string> {
  const failed = messages.flatMap(toolResults).filter(({ is_error }) => is_error);
  const ids = new Set(failed.map(({ tool_use_id }) => tool_use_id));
  const effects = new Effects();
  for (const use of messages.flatMap(toolUses)) if (!ids.has(use.id)) effects.add(use);
  for (const id of effects.undone) ids.add(id);
  return ids;
}

/** A call that changed files, which git has not stored yet. */
interface Pending {
  readonly id: string;
  readonly files: readonly string[];
  /** The text that an edit replaced, and the one in its place. */
  readonly edit: readonly [unknown, unknown] | undefined;
}

/** The newest changes that an edit may take back. */
const LOOKED_AT = 100;

/** The changes of a session, as its git commands keep them, lay them aside or take them back. */
class Effects {
  readonly undone = new Set<string>();
  #pending: Pending[] = [];
  readonly #stashed: (readonly Pending[])[] = [];

  add(use: ToolUse): void {
    const { files, isChange } = filesIn(use);
    if (isChange && files.length > 0) this.#change({ id: use.id, files, edit: editOf(use) });
    for (const { words, folder } of gitCommandsIn(use)) this.#run(words, folder);
  }

  /** An edit that puts back what another one replaced takes it back. */
  #change(change: Pending): void {
    const [before, after] = change.edit ?? [];
    const turned = this.#pending
      .slice(-LOOKED_AT)
      .findLast(
        ({ files, edit }) =>
          before !== undefined &&
          edit?.[0] === after &&
          edit?.[1] === before &&
          files.join("\n") === change.files.join("\n"),
      );
    if (turned) {
      this.undone.add(turned.id).add(change.id);
      this.#pending = this.#pending.filter((each) => each !== turned);
    } else this.#pending.push(change);
  }

  #run([command = "", ...words]: readonly string[], folder: string): void {
    if (command === "commit") this.#pending = [];
    else if (command === "stash") this.#stash(words, folder);
    else if (command === "checkout") this.#takeBack(pathsOf(checkedOut(words), folder));
    else if (command === "restore" && !isOfIndexAlone(words))
      this.#takeBack(pathsOf(words, folder));
    else if (command === "reset" && words.includes("--hard")) this.#takeBack(["."]);
  }

  #stash([verb = "push", ...rest]: readonly string[], folder: string): void {
    if (verb === "pop" || verb === "apply") {
      const back = this.#stashed.pop() ?? [];
      for (const { id } of back) this.undone.delete(id);
      this.#pending = [...back, ...this.#pending];
    } else if (verb === "push" || verb === "save" || verb.startsWith("-")) {
      const words = [verb, ...rest];
      const at = words.indexOf("--");
      this.#stashed.push(this.#takeBack(at < 0 ? ["."] : pathsOf(words.slice(at), folder)));
    }
  }

  /** A call of which all files are taken back has no effect. */
  #takeBack(paths: readonly string[]): readonly Pending[] {
    const isBack = ({ files }: Pending) =>
      files.every((file) => paths.some((path) => isAt(file, path)));
    const back = this.#pending.filter(isBack);
    this.#pending = this.#pending.filter((each) => !isBack(each));
    for (const { id } of back) this.undone.add(id);
    return back;
  }
}

/** The two texts of an edit, as agents name them. */
function editOf({ args }: Pick<ToolUse, "args">): Pending["edit"] {
  if (!isObject(args)) return undefined;
  const before = args.old_string ?? args.old_str ?? args.oldText ?? args.oldString;
  const after = args.new_string ?? args.new_str ?? args.newText ?? args.newString;
  return typeof before === "string" && typeof after === "string" ? [before, after] : undefined;
}

/** What `git checkout` may take back: without `--`, a word without a dot or a slash is a branch. */
function checkedOut(words: readonly string[]): readonly string[] {
  const at = words.indexOf("--");
  if (at >= 0) return words.slice(at);
  return words.some((word) => /^-[bB]$/.test(word))
    ? []
    : words.filter((word) => /[./]/.test(word));
}

/** `git restore --staged` alone leaves the file as it is. */
function isOfIndexAlone(words: readonly string[]): boolean {
  return (
    words.some((word) => /^(?:--staged|-S)$/.test(word)) &&
    !words.some((word) => /^(?:--worktree|-W)$/.test(word))
  );
}

/** The words of a command that may be paths. */
function pathsOf(words: readonly string[], folder: string): readonly string[] {
  return words
    .filter((word) => !word.startsWith("-"))
    .map((word) => word.replace(/^\.\/(?=.)/, "").replace(/\/$/, ""))
    .map((word) => (folder === "" ? word : word === "." ? folder : `${folder}/${word}`));
}

/** Whether a file is at a path, or below it. Tools often name it from the root, and commands from the folder. */
function isAt(file: string, path: string): boolean {
  if (path === "." || path === ":/") return true;
  const whole = `/${file}/`;
  return path !== "" && (whole.includes(`/${path}/`) || `/${path}`.endsWith(`/${file}`));
}

/** The git commands of a call, each without `git` and its folder. */
function gitCommandsIn({ args }: Pick<ToolUse, "args">) {
  const line = commandLine(args).replace(QUOTED, (text) => (/[;&|\n]/.test(text) ? '""' : text));
  if (!line.includes("git ")) return [];
  let folder = "";
  return line.split(/&&|\|\||[;\n]/).flatMap((part) => {
    const words = (part.match(/"[^"]*"|'[^']*'|[^\s"']+/g) ?? []).map((word) =>
      word.replace(/^["']|["']$/g, ""),
    );
    const at = words.findIndex((word) => /^(?:cd|git)$/.test(word));
    const [program, ...rest] = at < 0 ? [] : words.slice(at);
    if (program === "cd") folder = (rest[0] ?? "").replace(/\/$/, "");
    if (program !== "git") return [];
    const isElsewhere = rest[0] === "-C";
    return [
      {
        words: isElsewhere ? rest.slice(2) : rest,
        folder: isElsewhere ? (rest[1] ?? "") : folder,
      },
    ];
  });
}

/** A message of a commit may have marks that part commands. */
const QUOTED = /"[^"]*"|'[^']*'/g;
