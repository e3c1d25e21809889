import { createHash, createHmac, type Hash, timingSafeEqual } from "node:crypto";
import { createReadStream, statSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { fileProblem, SessionError } from "../core/errors.ts";

/**
 * A backup is one file: a line of JSON, the manifest, and then the stores that it names, byte for byte.
 *
 *     {"rkat_backup":1,"made_at":"…","parts":[{"name":"project","bytes":…,"sha256":"…"},…],"seal":"…"} ⏎
 *     SQLite format 3 …                                  the project's store
 *     SQLite format 3 …                                  the user-wide store
 */
export interface BackupManifest {
  readonly made_at: string;
  readonly parts: readonly BackupPart[];
  /** Made of the rest with the key of the user who wrote it. Missing where that user keeps no key. */
  readonly seal?: string;
}

export const PARTS = ["project", "user"] as const;

/** The store of the project, and the user-wide one. */
export type PartName = (typeof PARTS)[number];

export interface BackupPart {
  readonly name: PartName;
  readonly bytes: number;
  readonly sha256: string;
}

/** A store's file that goes into a backup. */
export interface PartFile {
  readonly name: PartName;
  readonly file: string;
}

interface Watch {
  readonly signal: AbortSignal;
  readonly onProgress: (bytes: number) => void;
}

/** The version of the format. */
const VERSION = 1;
const MANIFEST_BYTES_MAX = 65_536;

/** Writes a backup into a new file that only you can read, and syncs it to the disk. Returns its size. */
export async function writeBackup(
  path: string,
  files: readonly PartFile[],
  {
    key,
    madeAt,
    ...watch
  }: Watch & { readonly key: Uint8Array | undefined; readonly madeAt: Date },
): Promise<number> {
  const parts: BackupPart[] = [];
  for (const { name, file } of files) {
    const digest = createHash("sha256");
    await copyBytes(file, { from: 0, bytes: statSync(file).size }, { ...watch, digest });
    parts.push({ name, bytes: statSync(file).size, sha256: digest.digest("hex") });
  }
  const manifest = { made_at: madeAt.toISOString(), parts };
  const seal = key && sealOf(sealedText(manifest), key);
  const line = `${JSON.stringify({ rkat_backup: VERSION, ...manifest, ...(seal ? { seal } : {}) })}\n`;
  const to = await open(path, "wx", 0o600);
  try {
    await to.writeFile(line);
    for (const [index, { file }] of files.entries()) {
      await copyBytes(file, { from: 0, bytes: parts[index]?.bytes ?? 0 }, { ...watch, to });
    }
    await to.sync();
    return (await to.stat()).size;
  } finally {
    await to.close();
  }
}

/** A backup whose manifest was read. Nothing of its parts is known to be right before `verify`. */
export class BackupFile {
  readonly path: string;
  readonly manifest: BackupManifest;
  readonly #start: number;

  private constructor(path: string, manifest: BackupManifest, start: number) {
    this.path = path;
    this.manifest = manifest;
    this.#start = start;
  }

  /** @throws SessionError `INVALID_PARAMS` for a file that is no backup, or one that was cut off */
  static async open(path: string): Promise<BackupFile> {
    const line = await firstLine(path);
    const manifest = manifestIn(line, path);
    const start = Buffer.byteLength(line) + 1;
    const expected = manifest.parts.reduce((sum, { bytes }) => sum + bytes, start);
    const { size } = statSync(path);
    if (size !== expected) {
      const what = size < expected ? "is cut off" : "has more in it than it says";
      throw damaged(path, `${what}: it has ${size} bytes, and should have ${expected}`);
    }
    return new BackupFile(path, manifest, start);
  }

  /** Whether the user with this key made it, on this machine or another one that has the key. */
  isSealedWith(key: Uint8Array | undefined): boolean {
    return isSealed(sealedText(this.manifest), this.manifest.seal, key);
  }

  /** @throws SessionError `INVALID_PARAMS` when a part is not what was written */
  async verify(watch: Watch): Promise<void> {
    for (const part of this.manifest.parts) await this.#read(part, watch);
  }

  /**
   * Writes a part into a new file that only you can read.
   *
   * @throws SessionError `INVALID_PARAMS` when it is not what was written
   */
  async extract(name: PartName, path: string, watch: Watch): Promise<void> {
    const part = this.manifest.parts.find((each) => each.name === name);
    if (!part) throw damaged(this.path, `has no part "${name}"`);
    const to = await open(path, "wx", 0o600);
    try {
      await this.#read(part, { ...watch, to });
      await to.sync();
    } finally {
      await to.close();
    }
  }

  async #read(part: BackupPart, options: Watch & { readonly to?: FileHandle }): Promise<void> {
    const before = this.manifest.parts.slice(0, this.manifest.parts.indexOf(part));
    const from = before.reduce((sum, { bytes }) => sum + bytes, this.#start);
    const digest = createHash("sha256");
    await copyBytes(this.path, { from, bytes: part.bytes }, { ...options, digest });
    if (digest.digest("hex") === part.sha256) return;
    throw damaged(this.path, `is damaged: the checksum of its part "${part.name}" is wrong`);
  }
}

/** Reads a part of a file, and writes it elsewhere if `to` says where. */
async function copyBytes(
  path: string,
  { from, bytes }: { readonly from: number; readonly bytes: number },
  { to, digest, signal, onProgress }: Watch & { readonly to?: FileHandle; readonly digest?: Hash },
): Promise<void> {
  if (bytes === 0) return;
  const end = from + bytes - 1;
  for await (const chunk of createReadStream(path, { start: from, end, highWaterMark: 1 << 20 })) {
    signal.throwIfAborted();
    digest?.update(chunk);
    // Unlike `write`, it writes all or fails.
    await to?.writeFile(chunk);
    onProgress(chunk.length);
  }
}

async function firstLine(path: string): Promise<string> {
  const file = await opened(path);
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(MANIFEST_BYTES_MAX), 0);
    const end = buffer.subarray(0, bytesRead).indexOf("\n");
    if (end < 0) throw noBackup(path);
    return buffer.toString("utf8", 0, end);
  } finally {
    await file.close();
  }
}

async function opened(path: string): Promise<FileHandle> {
  try {
    // Looked at before: opening a pipe would wait for its other end.
    if (!statSync(path).isFile()) throw noBackup(path);
    return await open(path, "r");
  } catch (cause) {
    if (SessionError.is(cause)) throw cause;
    throw new SessionError("INVALID_PARAMS", {
      message: `${path} cannot be read: ${fileProblem(cause)}.`,
      hint: "Name a backup that `rkat backup` wrote.",
      cause,
    });
  }
}

function manifestIn(line: string, path: string): BackupManifest {
  let read: Partial<BackupManifest & { rkat_backup: number }>;
  try {
    read = JSON.parse(line);
  } catch {
    throw noBackup(path);
  }
  if (typeof read !== "object" || read === null || !("rkat_backup" in read)) throw noBackup(path);
  if (read.rkat_backup !== VERSION) {
    throw new SessionError("INVALID_PARAMS", {
      message: `${path} was written by another version of rkat (format ${String(read.rkat_backup)}; this one knows ${VERSION}).`,
      hint: "Update rkat.",
    });
  }
  const { made_at, parts, seal } = read;
  const names = Array.isArray(parts) ? parts.map((part: Partial<BackupPart>) => part?.name) : [];
  const isRight =
    typeof made_at === "string" &&
    !Number.isNaN(Date.parse(made_at)) &&
    (seal === undefined || typeof seal === "string") &&
    Array.isArray(parts) &&
    parts.length > 0 &&
    parts.every(isPart) &&
    new Set(names).size === names.length;
  if (!isRight) throw damaged(path, "is damaged: its first line is wrong");
  return { made_at, parts, ...(seal === undefined ? {} : { seal }) };
}

function isPart(part: Partial<BackupPart> | null): boolean {
  return (
    PARTS.some((name) => name === part?.name) &&
    Number.isSafeInteger(part?.bytes) &&
    Number(part?.bytes) >= 0 &&
    /^[0-9a-f]{64}$/.test(String(part?.sha256))
  );
}

/** The text that the seal of a backup is made of. */
function sealedText({ made_at, parts }: BackupManifest): string {
  const told = parts.map(({ name, bytes, sha256 }) => [name, bytes, sha256]);
  return JSON.stringify(["rkat_backup", made_at, told]);
}

function noBackup(path: string): SessionError {
  return new SessionError("INVALID_PARAMS", {
    message: `${path} is not a backup of rkat.`,
    hint: "Name a file that `rkat backup` wrote.",
  });
}

function damaged(path: string, what: string): SessionError {
  return new SessionError("INVALID_PARAMS", {
    message: `${path} ${what}.`,
    hint: "Use another backup. Nothing was restored from this one.",
  });
}

/** The seal of a text, an HMAC with a user's own key. Only that user can have written a file that has it. */
export function sealOf(text: string, key: Uint8Array): string {
  return createHmac("sha256", key).update(text).digest("hex");
}

export function isSealed(text: string, seal: unknown, key: Uint8Array | undefined): boolean {
  if (key === undefined || typeof seal !== "string") return false;
  const [own, given] = [Buffer.from(sealOf(text, key)), Buffer.from(seal)];
  return own.length === given.length && timingSafeEqual(own, given);
}
