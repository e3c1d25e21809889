// What the programs of the docs use of packages that are not installed here.
declare module "ai" {
  type ModelMessage = Parameters<typeof import("rkat/ai-sdk").fromModelMessages>[0][number];
  interface Step {
    readonly messages: ModelMessage[];
    readonly steps: readonly { readonly usage: { readonly inputTokens: number | undefined } }[];
    readonly model: unknown;
  }
  function generateText(options: {
    readonly prepareStep?: (step: Step) => unknown;
    readonly [option: string]: unknown;
  }): Promise<{ readonly text: string; readonly responseMessages: ModelMessage[] }>;
  function wrapLanguageModel(options: {
    readonly model: unknown;
    readonly middleware: object;
  }): unknown;
  function isStepCount(count: number): unknown;
  function tool<Input>(tool: {
    readonly description: string;
    readonly inputSchema: { parse(value: unknown): Input };
    execute(input: Input): unknown;
  }): unknown;
}

declare module "langchain" {
  function createAgent(options: { readonly [option: string]: unknown }): unknown;
}

declare module "@mastra/core/agent" {
  class Agent {
    constructor(options: { readonly [option: string]: unknown });
  }
}
