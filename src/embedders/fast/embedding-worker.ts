import { parentPort, workerData } from "node:worker_threads";
import type { Answer, Request } from "./fast-embedder.ts";
import { loadSentenceModel } from "./sentence-model.ts";

/** Runs a model in a thread, because one text takes milliseconds to seconds of computation. */
const loading = loadSentenceModel(workerData);
// The failure is the answer to each request.
loading.catch(() => {});

parentPort?.on("message", async ({ id, text }: Request) => {
  parentPort?.postMessage(await answer(id, text));
});

async function answer(id: number, text: string): Promise<Answer> {
  try {
    const model = await loading;
    return { id, vector: await model.embed(text) };
  } catch (error) {
    return { id, error };
  }
}
