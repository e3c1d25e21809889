import { parentPort, workerData } from "node:worker_threads";
import type { Answer, Request } from "./fast-embedder.ts";
import { loadSentenceModel } from "./sentence-model.ts";

/** The thread in which a model runs, so that it holds up nobody: it computes for milliseconds to seconds at a time. */
const loading = loadSentenceModel(workerData);
// Who asks is told.
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
