/** Answers any message of the parent process with what this one holds after a collection. */
export function answerMemory(): void {
  process.on("message", async () => {
    // What was just let go of is gone after a moment and a collection.
    await new Promise((resolve) => setTimeout(resolve, 200));
    globalThis.gc?.();
    process.send?.(process.memoryUsage());
  });
  // Only to be asked is no reason to stay.
  process.channel?.unref();
}
