import { readClock } from "../text/time/calendar.ts";
import { timeInWords } from "../text/time/time-in-words.ts";

/**
 * The end of the past time that a question asks about, in Unix milliseconds; `undefined` when it asks about none. `at` is
 * when it was asked:
 *
 *     where did Leo live in June      the end of June
 *     what was the port last week     the end of last week
 *     what happens in June            none: it may be the next one
 *     what was said since June        none: it has not ended
 */
export function askedPastEnd(question: string, at: string): number | undefined {
  const clock = readClock(at);
  const said = clock && timeInWords(question, clock);
  if (!clock || !said || !(said.isRelative || IN_THE_PAST.test(question))) return undefined;
  const end = Math.max(...said.spans.map(({ to }) => to));
  return end <= clock.ms ? end : undefined;
}

/** Without it, "in June" and "on Tuesday" may be to come. */
const IN_THE_PAST =
  /(?<!\p{L})(?:was|were|did|had|war|waren|wurden?|hatten?|galt|hieß|était|étaient|avait|avaient|a-t-il|estaba|estaban|tenía|fue|fueron|había|era|erano|aveva|avevano|werd|hade|havde|foi|foram|tinha|był|była|było|был[аои]?)(?!\p{L})/iu;
