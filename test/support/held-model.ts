import type { LanguageModel } from "../../src/core/language-model.ts";

/** A model that answers nothing before it is let go on: what a test does meanwhile, it does while a turn runs. */
export function heldModel<Model extends LanguageModel>(model: Model) {
  const asked = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const stream: LanguageModel["stream"] = async function* (request) {
    asked.resolve();
    await held.promise;
    yield* model.stream(request);
  };
  return { model: { ...model, stream }, asked: asked.promise, letGo: held.resolve };
}
