/**
 * The meaning of one embedder's cosines. Models differ: for unrelated texts, one gives 0.05 and another 0.75.
 */
export interface Calibration {
  /** The mean cosine of a question and a text that has nothing to do with it. */
  readonly unrelated: number;
  /** The mean cosine of a question and a text that answers it. */
  readonly related: number;
}

/** Questions, each with a text that answers it and none of the others. */
export const CALIBRATION_PAIRS: readonly (readonly [question: string, answer: string])[] = [
  ["Where do we keep the backups?", "Every night the dumps are copied to a bucket in Frankfurt."],
  ["What pets does she have?", "My two cats, Miso and Pepper, hate it when I travel."],
  ["When is the release planned?", "We agreed to ship version 3 on the last Friday of May."],
  ["Why did the build fail?", "The pipeline broke because the linter found an unused import."],
  ["What does he like to cook?", "On Sundays I make ramen from scratch, broth and all."],
  ["Which database are we using?", "We moved everything to PostgreSQL last winter."],
  ["How did the interview go?", "They offered me the job before I had even left the building!"],
  ["What are they allergic to?", "Nothing with peanuts, please: my son gets a rash from them."],
  ["Where did they go on holiday?", "We spent ten days hiking along the coast of Portugal."],
  ["How should errors be logged?", "Write failures to stderr as one line of JSON each."],
  ["What instrument does she play?", "I have been taking cello lessons since I was nine."],
  ["Who is responsible for billing?", "Ask Priya, she looks after invoices and refunds."],
  ["What book is he reading?", "I am halfway through a novel about a lighthouse keeper."],
  ["How much does the plan cost?", "They charge twelve euros a month for each seat."],
  ["When did they get married?", "Our wedding was in a small chapel, in June four years ago."],
  ["What is wrong with the car?", "The mechanic says that the brake pads are worn out."],
];

/** From the vectors of the questions and those of the answers, both in the order of the pairs. */
export function calibrate(
  questions: readonly Float32Array[],
  answers: readonly Float32Array[],
): Calibration {
  const related: number[] = [];
  const unrelated: number[] = [];
  questions.forEach((question, asked) => {
    answers.forEach((answer, told) => {
      (asked === told ? related : unrelated).push(cosine(question, answer));
    });
  });
  return { unrelated: mean(unrelated), related: mean(related) };
}

/** 0 for an unrelated text, about 1 for an answer, and more for a text that says the same. */
export function likeness(cosine: number, { unrelated, related }: Calibration): number {
  // A model that cannot tell answers from other texts says nothing.
  if (related - unrelated < LEAST_DIFFERENCE) return 0;
  return Math.max(0, (cosine - unrelated) / (related - unrelated));
}

const LEAST_DIFFERENCE = 0.02;

function cosine(one: Float32Array, other: Float32Array): number {
  return one.reduce((sum, number, index) => sum + number * (other[index] ?? 0), 0);
}

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
}
