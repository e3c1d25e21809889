import { madeOnce } from "../text/made-once.ts";
import { bare } from "./clause-facts.ts";

/** A change: `310 KB` became `92 KB`, `parseDate` became `readDate`. Numbers stand without their units. */
export interface Change {
  readonly from: string;
  readonly to: string;
}

/** A number with a unit, or a name of code. Other names may be read in either direction: "from Porto to Lisbon". */
const NUMBER = String.raw`\d[\d.,]{0,12}(?: ?(?:%|\p{L}{1,8}))?`;
const CODE = String.raw`[\p{L}\p{N}_$@/.-]{0,60}(?:[_./$@]|\p{Ll}\p{Lu}|\p{L}\d)[\p{L}\p{N}_$@/.-]{0,60}`;
const VALUE = String.raw`(\u0060?(?:${NUMBER}|${CODE})\u0060?)`;
/** Any one word. The verb says which one came first. */
const NAME = String.raw`(?:the )?([\p{L}\p{N}_$@/.\u0060-]{2,80})`;
const BE = "(?:is|was|were|are|been|being|got|gets)";

/** Each form with the place of what was before: the first name, or the second. */
const forms = madeOnce<readonly (readonly [RegExp, "first" | "second"])[]>(() => [
  [form(`from ${VALUE} (?:down |up |back )?to ${VALUE}`), "first"],
  [form(`renam(?:e[ds]?|ing) ${NAME} (?:in)?to ${NAME}`), "first"],
  [form(`${NAME} ${BE} (?:now )?renamed (?:in)?to ${NAME}`), "first"],
  [form(`replac(?:e[ds]?|ing) ${NAME} (?:with|by) ${NAME}`), "first"],
  [form(`${NAME} ${BE} (?:now )?replaced (?:with|by) ${NAME}`), "first"],
  [form(`${NAME} (?:instead of|in place of) ${NAME}`), "second"],
  [form(`${VALUE} (?:instead of|in place of) ${VALUE}`), "second"],
]);

function form(source: string): RegExp {
  return new RegExp(String.raw`(?<![\p{L}\p{N}_])${source}`, "giu");
}

/** The changes that a clause tells of, as "from … to", "renamed … to", "replaced … with" and "… instead of". */
export function changesIn(clause: string): readonly Change[] {
  return forms().flatMap(([pattern, before]) =>
    Array.from(clause.matchAll(pattern), ([, one = "", other = ""]) => {
      const [first, second] = [plain(one), plain(other)];
      return before === "first" ? { from: first, to: second } : { from: second, to: first };
    }).filter(({ from, to }) => from !== to),
  );
}

function plain(name: string): string {
  const word = bare(name.toLowerCase().replaceAll("`", ""));
  return bare(/^\d[\d.,]*/.exec(word)?.[0] ?? word);
}
