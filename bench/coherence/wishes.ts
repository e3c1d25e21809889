import { below, oneOf, randomFrom } from "../data/random.ts";
import type { Exchange } from "./talk.ts";

/** What people ask for once and mean until the end, in words of their own. */
export const WISHES = [
  "Whatever you write for the newsletter, keep it under two hundred words.",
  "I'm vegetarian, so leave meat out of every menu you suggest.",
  "Please check with me before you book anything that costs money.",
  "My landlord must not hear about the second cat.",
  "We ship to Norway and Iceland only, nowhere else.",
  "Prices go in euros, without cents.",
  "I can't do mornings, put meetings after eleven.",
  "From here on, call the product Larkspur and not by its old name.",
  "Nothing gets deployed on a Friday.",
  "Leave the folder called vendor the way it is.",
  "If a test fails, show me the output and do not just tell me.",
  "The screen reader reads tables badly, give me lists.",
  "Our oldest customers still run Node 18, it has to work there.",
  "Stick to the standard library for this one.",
  "I'd rather have three short commits than one large one.",
  "Use British spelling, the client is in Leeds.",
  "Don't mention the lawsuit in anything that goes to the press.",
  "Budget is 1,400 pounds and that is all there is.",
  "Treat every date in these files as day first.",
  "My daughter is allergic to peanuts, keep that in mind for the party.",
  "No emojis, please, my boss prints these.",
  "Ask before you delete a record, even a test record.",
  "The table orders is read only for us.",
  "Write the letters so that a ten year old understands them.",
  "Keep my surname out of the examples.",
  "Answers in German from me on, the questions may stay English.",
  "Make sure every function you add has a test next to it.",
  "It has to run offline, there is no network on the boat.",
  "We agreed on tabs, so tabs it is.",
  "Only Maria approves invoices, send them to nobody else.",
  "Round up, never down, when you count bags of cement.",
  "I read this on my phone, five lines at most.",
  "You may read the config but hands off the secrets file.",
  "Assume the reader knows nothing about sailing.",
  "The deadline is the ninth of June and it does not move.",
  "Let's not bring the old framework back, whatever happens.",
] as const;

const ABOUT = ["tide", "ferry", "pier", "harbour", "lantern", "ledger", "winch", "sail"] as const;
const DO = ["check", "describe", "compare", "count", "sort", "look up"] as const;
const WHEN = ["for Monday", "for the report", "again", "from last week", "near the quay"] as const;

/** What is asked for beside it in the same message, and done with its answer. `#` is a number. */
const WORK = [
  "Look at the export in report#.ts, it loses the last row when there are more than # rows.",
  "Rename the class Winch# to Hoist and move it into the folder engine.",
  "The build on Maria's machine ended with exit code #, see what it is.",
  "Write a short page about the ferry to Oban that leaves at #:15.",
  "Then add a column for the price of pier # and sort by it.",
  "Anna wrote in issue # that the login is slow, and Peter sees it too.",
  "Page # of the manual says that the pump in Leith needs oil.",
] as const;

/**
 * An endless talk in which each wish is said once, at one of the first turns, among sentences of other kinds. All else
 * that is asked is done with its answer, and is no wish.
 */
export function* wishfulTalk(
  seed: number,
  wishes: readonly string[] = WISHES,
): Generator<Exchange> {
  const random = randomFrom(seed);
  const turns = wishes.map((wish) => ({ wish, at: below(TURNS_WITH_WISHES, random) }));
  for (let turn = 0; ; turn += 1) {
    const said = turns.flatMap(({ wish, at }) => (at === turn ? [wish] : []));
    const request = `Can you ${oneOf(DO, random)} the ${oneOf(ABOUT, random)} ${oneOf(WHEN, random)}, number ${turn}?`;
    const work = Array.from({ length: below(3, random) }, () =>
      oneOf(WORK, random).replaceAll("#", String(2 + below(80, random))),
    );
    const place = below(work.length + 1, random);
    const answer = Array.from({ length: ANSWER_SENTENCES }, (_, index) => {
      return `Point ${index} of ${turn}: the ${oneOf(ABOUT, random)} was next to the ${oneOf(ABOUT, random)} at ${below(24, random)} hours.`;
    });
    yield {
      asked: [{ text: [...work.toSpliced(place, 0, ...said), request].join(" ") }],
      answered: [{ text: answer.join(" ") }],
    };
  }
}

/** Each wish has been said when so many turns are over. */
export const TURNS_WITH_WISHES = 40;
const ANSWER_SENTENCES = 24;
