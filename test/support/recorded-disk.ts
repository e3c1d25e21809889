import { mkdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

/** What a program did to a folder, as `strace -f -y -xx` writes it. */
export const STRACE = [
  "-f",
  "-qq",
  "-y",
  "-xx",
  "-s",
  "100000000",
  // A question mark: not every processor has it.
  "-e",
  "trace=?open,openat,write,pwrite64,ftruncate,fsync,fdatasync,?unlink,unlinkat,?rename,renameat,?renameat2,?mkdir,mkdirat,?rmdir,?copy_file_range,writev,?pwritev",
] as const;

/** A file, however it is called. */
interface RecordedFile {
  readonly before: Buffer;
}

type Change =
  | { readonly kind: "write"; readonly file: RecordedFile; at: number; bytes: Buffer }
  | { readonly kind: "truncate"; readonly file: RecordedFile; readonly size: number }
  /** All writes to the file before `since` are on the disk. */
  | { readonly kind: "sync"; readonly file: RecordedFile; readonly since: number }
  | { readonly kind: "sync folder"; readonly path: string; readonly since: number }
  | { readonly kind: "name"; readonly path: string; readonly file: RecordedFile }
  | { readonly kind: "unname"; readonly path: string }
  | { readonly kind: "make folder" | "remove folder"; readonly path: string }
  | { readonly kind: "said"; readonly text: string };

type Naming = Extract<Change, { readonly path: string }>;

/** A disk keeps or loses so many bytes as a whole. */
const SECTOR_BYTES = 512;

/** How a disk may treat what was not synced when power failed. */
export const FATES = ["lost", "kept", "the first part", "any sectors"] as const;
export type Fate = (typeof FATES)[number];

/**
 * The changes of a folder by a program, in their order, and the states in which a disk may have it when power fails:
 * what was synced is there, and of the rest any part, in any order. Names change in their order, as in a journal.
 */
export class RecordedDisk {
  readonly #changes: Change[] = [];
  readonly #folder: string;
  /** The paths of open folders, by their descriptors. */
  readonly #opened = new Map<string, string>();
  readonly #before: ReadonlyMap<string, RecordedFile>;

  /** `before` has the files of the folder as they were before the program ran. */
  constructor(folder: string, before: ReadonlyMap<string, Buffer>, trace: string) {
    this.#folder = folder;
    this.#before = new Map([...before].map(([path, bytes]) => [path, { before: bytes }]));
    this.#read(trace);
  }

  /** How many moments there are in which power may fail. */
  get moments(): number {
    return this.#changes.length;
  }

  /** The lines that the program had printed at a moment. */
  saidBefore(moment: number): readonly string[] {
    const said = this.#changes
      .slice(0, moment)
      .flatMap((change) => (change.kind === "said" ? [change.text] : []));
    return said.join("").split("\n").filter(Boolean);
  }

  /** Writes the folder as it may be after power failed at a moment. `random` gives numbers from 0 to 1. */
  write(to: string, moment: number, fate: Fate, random: () => number): void {
    const happened = this.#changes.slice(0, moment);
    const names = this.#names(happened, fate, random);
    rmSync(to, { recursive: true, force: true });
    mkdirSync(to, { recursive: true });
    for (const [path, file] of names) {
      const target = join(to, path);
      mkdirSync(dirname(target), { recursive: true });
      if (file === "folder") mkdirSync(target, { recursive: true });
      else {
        writeFileSync(target, contentOf(file, happened, fate, random));
        const changedAt = timeOf(file, happened);
        utimesSync(target, changedAt, changedAt);
      }
    }
  }

  #names(
    happened: readonly Change[],
    fate: Fate,
    random: () => number,
  ): Map<string, RecordedFile | "folder"> {
    const names = new Map<string, RecordedFile | "folder">(this.#before);
    const certain = certainNames(happened);
    const first = fate === "kept" ? happened.length : certain;
    const end =
      fate === "lost" || fate === "kept"
        ? first
        : first + Math.floor(random() * (happened.length - first + 1));
    for (const change of happened.slice(0, end)) {
      if (change.kind === "name") names.set(change.path, change.file);
      else if (change.kind === "make folder") names.set(change.path, "folder");
      else if (change.kind === "unname" || change.kind === "remove folder")
        names.delete(change.path);
    }
    return names;
  }

  #read(trace: string): void {
    const now = new Map<string, RecordedFile>(this.#before);
    /** Calls that have begun, by thread. */
    const begun = new Map<string, { readonly text: string; readonly at: number }>();
    for (const line of trace.split("\n")) {
      const [, thread = "", text = ""] = /^(\d+) +(.*)$/.exec(line) ?? [];
      const half = / <unfinished \.\.\.>$/.exec(text);
      if (half) {
        begun.set(thread, { text: text.slice(0, half.index), at: this.#changes.length });
        continue;
      }
      const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(text);
      const start = resumed ? begun.get(thread) : undefined;
      this.#note(
        `${start?.text ?? ""}${resumed?.[1] ?? text}`,
        start?.at ?? this.#changes.length,
        now,
      );
    }
  }

  /** Takes a call that began when there were `since` changes. */
  #note(text: string, since: number, now: Map<string, RecordedFile>): void {
    const call = callIn(text);
    if (!call) return;
    const { name, args, result, paths } = call;
    const path = this.#within(paths.at(-1));
    if (name.startsWith("open")) this.#opened.set(String(result), paths.at(-1) ?? "");
    if (name === "write" && args[0]?.startsWith("1<")) {
      this.#changes.push({ kind: "said", text: bytesOf(args[1]).toString() });
    } else if (/^open(?:at)?$/.test(name) && path !== undefined && text.includes("O_CREAT")) {
      if (now.has(path)) {
        if (text.includes("O_TRUNC"))
          this.#changes.push({ kind: "truncate", file: fileAt(now, path), size: 0 });
        return;
      }
      const file = { before: Buffer.alloc(0) };
      now.set(path, file);
      this.#changes.push({ kind: "name", path, file });
    }
    if (path === undefined) return;
    if (name === "pwrite64" || name === "write") {
      const file = now.get(path);
      // It was deleted while it was open.
      if (!file) return;
      const bytes = bytesOf(args[1]).subarray(0, result);
      const at = name === "write" ? sizeOf(file, this.#changes) : Number(args[3]);
      this.#changes.push({ kind: "write", file, at, bytes });
    } else if (/writev$|copy_file_range/.test(name)) {
      throw new Error(`A way to write that is not recorded: ${name}`);
    } else if (name === "ftruncate") {
      const file = now.get(path);
      if (file) this.#changes.push({ kind: "truncate", file, size: Number(args[1]) });
    } else if (/^f(?:data)?sync$/.test(name)) {
      const file = now.get(path);
      if (file) this.#changes.push({ kind: "sync", file, since });
      else this.#changes.push({ kind: "sync folder", path, since });
    } else if (/^unlink/.test(name)) {
      const isFolder = text.includes("AT_REMOVEDIR");
      now.delete(path);
      this.#changes.push({ kind: isFolder ? "remove folder" : "unname", path });
    } else if (name === "rmdir") this.#changes.push({ kind: "remove folder", path });
    else if (/^mkdir/.test(name)) this.#changes.push({ kind: "make folder", path });
    else if (/^rename/.test(name)) {
      const from = this.#within(paths.at(-2));
      if (from === undefined) throw new Error(`A name comes from elsewhere: ${text.slice(0, 200)}`);
      this.#changes.push(...renamed(now, from, path));
    }
  }

  #within(path: string | undefined): string | undefined {
    if (path === undefined) return undefined;
    const [, descriptor, rest] = /^\/proc\/self\/fd\/(\d+)\/(.*)$/.exec(path) ?? [];
    const opened = descriptor === undefined ? undefined : this.#opened.get(descriptor);
    const inside = relative(this.#folder, opened === undefined ? path : `${opened}/${rest}`);
    // The index of the write-ahead log is made anew after each start of the machine.
    return inside.startsWith("..") || inside.endsWith("-shm") ? undefined : inside;
  }
}

/** A folder takes what is in it along. */
function renamed(now: Map<string, RecordedFile>, from: string, to: string): Naming[] {
  const moved = [...now].filter(([path]) => path === from || path.startsWith(`${from}/`));
  const changes: Naming[] = [];
  for (const [path, file] of moved) {
    const target = to + path.slice(from.length);
    now.delete(path);
    now.set(target, file);
    changes.push({ kind: "name", path: target, file }, { kind: "unname", path });
  }
  if (!moved.some(([path]) => path === from)) {
    changes.push({ kind: "make folder", path: to }, { kind: "remove folder", path: from });
  }
  return changes;
}

/** So many changes of names are on the disk: those before a folder was synced, or a file that they gave a name. */
function certainNames(happened: readonly Change[]): number {
  let certain = 0;
  for (const change of happened) {
    if (change.kind === "sync folder") certain = Math.max(certain, change.since);
    if (change.kind !== "sync") continue;
    const named = happened.findLastIndex(
      (other, at) => other.kind === "name" && other.file === change.file && at < change.since,
    );
    certain = Math.max(certain, named + 1);
  }
  return certain;
}

/**
 * When a file was changed last, in seconds: before this machine was started. The time of a change may be on the disk
 * although the change is not.
 */
function timeOf(file: RecordedFile, happened: readonly Change[]): number {
  return LONG_AGO + happened.findLastIndex((change) => "file" in change && change.file === file);
}
const LONG_AGO = 1_000_000_000;

function contentOf(
  file: RecordedFile,
  happened: readonly Change[],
  fate: Fate,
  random: () => number,
): Buffer {
  let synced = 0;
  for (const change of happened) {
    if (change.kind === "sync" && change.file === file) synced = Math.max(synced, change.since);
  }
  const loose = happened.slice(synced).filter((change) => "file" in change && change.file === file);
  let bytes = applied(file.before, file, happened.slice(0, synced));
  const end = fate === "the first part" ? Math.floor(random() * (loose.length + 1)) : loose.length;
  if (fate === "lost") return bytes;
  for (const change of loose.slice(0, end)) {
    const parts = fate === "any sectors" ? sectorsOf(change) : [change];
    bytes = applied(
      bytes,
      file,
      parts.filter(() => fate !== "any sectors" || random() < 0.5),
    );
  }
  return bytes;
}

/** A write, by the sectors of the disk. */
function sectorsOf(change: Change): readonly Change[] {
  if (change.kind !== "write") return [change];
  const { at, bytes } = change;
  const parts: Change[] = [];
  for (let from = 0; from < bytes.length; ) {
    const to = Math.min(bytes.length, from + SECTOR_BYTES - ((at + from) % SECTOR_BYTES));
    parts.push({ ...change, at: at + from, bytes: bytes.subarray(from, to) });
    from = to;
  }
  return parts;
}

function applied(before: Buffer, file: RecordedFile, changes: readonly Change[]): Buffer {
  let bytes = before;
  let isOwn = false;
  const resize = (size: number) => {
    const grown = Buffer.alloc(size);
    bytes.copy(grown, 0, 0, Math.min(size, bytes.length));
    bytes = grown;
    isOwn = true;
  };
  for (const change of changes) {
    if (!("file" in change) || change.file !== file) continue;
    if (change.kind === "truncate") resize(change.size);
    if (change.kind !== "write") continue;
    const end = change.at + change.bytes.length;
    if (end > bytes.length || !isOwn) resize(Math.max(end, bytes.length));
    change.bytes.copy(bytes, change.at);
  }
  return bytes;
}

function sizeOf(file: RecordedFile, changes: readonly Change[]): number {
  let size = file.before.length;
  for (const change of changes) {
    if (!("file" in change) || change.file !== file) continue;
    if (change.kind === "truncate") size = change.size;
    if (change.kind === "write") size = Math.max(size, change.at + change.bytes.length);
  }
  return size;
}

function fileAt(now: ReadonlyMap<string, RecordedFile>, path: string): RecordedFile {
  const file = now.get(path);
  if (!file) throw new Error(`No file at ${path}.`);
  return file;
}

interface Call {
  readonly name: string;
  readonly args: readonly string[];
  readonly result: number;
  /** The paths that it names, or that its descriptors stand for. */
  readonly paths: readonly string[];
}

/** A call that succeeded. */
function callIn(text: string): Call | undefined {
  const found = /^(\w+)\((.*)\) += (\d+)(<.*)?$/.exec(text);
  if (!found) return undefined;
  const [, name = "", inside = "", result, opened] = found;
  const args = inside.split(", ");
  const isByPath = /^(?:unlink|rename|mkdir|rmdir)/.test(name);
  const paths = isByPath
    ? args.filter((each) => each.startsWith('"')).map((each) => bytesOf(each).toString())
    : pathsIn(name.startsWith("open") ? opened : args[0]);
  return { name, args, result: Number(result), paths };
}

/** The paths that stand beside descriptors. */
function pathsIn(text = ""): readonly string[] {
  return [...text.matchAll(/<((?:\\x[0-9a-f]{2})*)>/g)].map(([, path]) =>
    unescaped(path ?? "").toString(),
  );
}

function bytesOf(quoted = ""): Buffer {
  return unescaped(quoted.slice(1, quoted.lastIndexOf('"')));
}

function unescaped(text: string): Buffer {
  return Buffer.from(text.replaceAll("\\x", ""), "hex");
}
