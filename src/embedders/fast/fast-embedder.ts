import { statSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { Worker } from "node:worker_threads";
import type { Embedder } from "../../core/embedder.ts";
import { errorText, SessionError } from "../../core/errors.ts";
import {
  type FoundModel,
  installedName,
  kindOf,
  lookForModel,
  missingModel,
} from "./find-model.ts";

export interface Request {
  readonly id: number;
  readonly text: string;
}

export type Answer = { readonly id: number } & (
  | { readonly vector: Float32Array }
  | { readonly error: unknown }
);

export interface FastEmbedderOptions {
  /** A name such as `bge-small-en-v1.5`, a repository in the Hugging Face cache, or a folder. Default `all-MiniLM-L6-v2`. */
  readonly model?: string;
  /** Says where the cache is. Default: the process's environment. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

// TypeScript in a checkout, JavaScript in the package.
const SCRIPT = new URL(
  import.meta.url.endsWith(".ts") ? "./embedding-worker.ts" : "./embedding-worker.js",
  import.meta.url,
);

const TOKENIZERS = "@huggingface/tokenizers";

/**
 * Runs a model on this machine in its own thread: a sentence transformer (ONNX), or a static table. The first
 * text starts the thread. Long texts are cut to the model's limit.
 */
export class FastEmbedder implements Embedder {
  readonly id: string;
  readonly dimensions: number;
  readonly trained = true;
  /** A table has vectors for some words only. */
  readonly givesZeros: boolean;
  readonly #model: FoundModel;
  readonly #waiting = new Map<number, PromiseWithResolvers<Float32Array>>();
  #worker: Worker | undefined;
  #lastId = 0;

  /** @throws SessionError `MODEL_UNAVAILABLE` when the model or a package is missing. The hint says how to get it. */
  constructor({ model = "all-MiniLM-L6-v2", env = process.env }: FastEmbedderOptions = {}) {
    const found = lookForModel(model, env);
    this.givesZeros = found !== undefined && "tableFile" in found;
    requirePackages(this.givesZeros ? [TOKENIZERS] : ["onnxruntime-web", TOKENIZERS]);
    this.#model = found ?? missingModel(model, env);
    this.dimensions = this.#model.dimensions;
    this.id = `fast/${installedName(this.#model.folder) ?? model}/${this.dimensions}`;
  }

  /** The kind of the model, for people. */
  get about(): string {
    const model = this.#model;
    const { size } = statSync("tableFile" in model ? model.tableFile : model.onnxFile);
    return `a ${kindOf(model)} of ${(size / 1e6).toFixed(1)} MB`;
  }

  async embed(
    texts: readonly string[],
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<readonly Float32Array[]> {
    const vectors: Float32Array[] = [];
    // One at a time, so that a search does not wait for a whole batch.
    for (const text of texts) {
      signal?.throwIfAborted();
      const isBlank = text.trim() === "";
      vectors.push(isBlank ? new Float32Array(this.dimensions) : await this.#ask(text, signal));
    }
    return vectors;
  }

  async #ask(text: string, signal: AbortSignal | undefined): Promise<Float32Array> {
    const worker = this.#worker ?? this.#start();
    this.#worker = worker;
    const id = ++this.#lastId;
    const waiting = Promise.withResolvers<Float32Array>();
    const leave = () => {
      this.#forget(worker, id);
      waiting.reject(signal?.reason);
    };
    this.#waiting.set(id, waiting);
    // The thread keeps the process alive only while a request is open.
    worker.ref();
    worker.postMessage({ id, text: text.toWellFormed() } satisfies Request);
    signal?.addEventListener("abort", leave, { once: true });
    try {
      return await waiting.promise;
    } finally {
      signal?.removeEventListener("abort", leave);
    }
  }

  #forget(worker: Worker, id: number): void {
    this.#waiting.delete(id);
    if (this.#waiting.size === 0) worker.unref();
  }

  #start(): Worker {
    const worker = new Worker(SCRIPT, {
      workerData: this.#model,
      execArgv: ["--disable-warning=ExperimentalWarning"],
    });
    worker.on("message", (answer: Answer) => this.#settle(worker, answer));
    worker.on("error", (error) => this.#fail(worker, error));
    worker.on("exit", () => this.#fail(worker, new Error("The thread ended.")));
    return worker;
  }

  #settle(worker: Worker, answer: Answer): void {
    const waiting = this.#waiting.get(answer.id);
    this.#forget(worker, answer.id);
    if ("vector" in answer) waiting?.resolve(answer.vector);
    else waiting?.reject(this.#failure(answer.error));
  }

  /** Fails all open requests. The next text starts a new thread. */
  #fail(worker: Worker, cause: Error): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    for (const { reject } of this.#waiting.values()) reject(this.#failure(cause));
    this.#waiting.clear();
  }

  #failure(cause: unknown): SessionError {
    return new SessionError("MODEL_UNAVAILABLE", {
      message: `The embedding model in ${this.#model.folder} failed: ${errorText(cause)}`,
      hint: "Download its files again, or set another model under [embeddings].",
      cause,
    });
  }
}

function requirePackages(names: readonly string[]): void {
  const missing = names.filter((name) => !isInstalled(name));
  if (missing.length === 0) return;
  throw new SessionError("MODEL_UNAVAILABLE", {
    message: `provider = "fast" needs ${missing.length > 1 ? "the packages" : "the package"} ${missing.join(" and ")}.`,
    hint: `Install it: npm install ${missing.join(" ")}`,
  });
}

function isInstalled(name: string): boolean {
  try {
    return findPackageJSON(name, import.meta.url) !== undefined;
  } catch {
    return false;
  }
}
