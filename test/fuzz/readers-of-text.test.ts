import { HOSTILE_TEXTS } from "../../bench/hostile/hostile-texts.ts";
import { damagedText, fuzz } from "../support/fuzz.ts";
import { SECRETS } from "../support/sample-secrets.ts";

const SAMPLES = Object.values(HOSTILE_TEXTS).map(({ pieces }) => pieces.openers.join(" "));
const WISHES =
  "Always run the tests first. Never push to main; prefer src/core/errors.ts:12 over it.";
const texts = damagedText([...SAMPLES, ...Object.values(SECRETS).map(([text]) => text), WISHES]);

fuzz(
  "no text by others makes a reader of anchors, secrets, wishes or words fail",
  texts,
  { short: 60, long: 1_000_000 },
  (text) => {
    for (const { read } of Object.values(HOSTILE_TEXTS)) read(text);
  },
);
