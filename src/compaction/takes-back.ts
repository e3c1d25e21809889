import { contentWords } from "./content-words.ts";

/** What may stand before a change of mind. */
const LEAD =
  /^(?:(?:ok(?:ay)?|no|nope|wait|stop|halt|sorry|oh|hm+|actually|please|well|but|and|nein|warte|bitte|doch|non|attends|finalement|perdón|espera|aspetta|não|nee|wacht|nie|нет|стоп)(?![\p{L}'’])[\s,.!:…–—-]*){1,4}/iu;

/** Verbs that undo. What they undo has to be what was just said: "that", or a thing that the request named. */
const UNDOES =
  /^(?:never ?mind|forget|scratch|scrap|cancel|undo|revert|roll back|drop|leave|skip|do(?: not|n['’]t)(?: do)?|take back|vergiss|lass|verwirf|storniere|brich|nimm|oublie[zs]?|laisse[zs]?|annule[zs]?|olvida|olvídalo|deja|déjalo|cancela|cancélalo|dimentica|lascia|annulla|esquece|deixa|vergeet|laat|zapomnij|anuluj|забудь|отмени|не надо)(?!\p{L})/iu;

/** The object is what was just said, or nothing follows. */
const WHAT_WAS_SAID =
  /^(?: about)? ?(?:it|that|this|all that|das|es|maar|ça|cela|tomber|lo|eso|perdere|stare|isso|pra lá|het|dat|to|это)?(?: (?:back|alone|please|bitte|ab|sein|zurück|for now|request|again))*(?=$|[\s]*[,.;:!–—])/iu;

/** Whole phrases in scripts without spaces, and those that have no verb of their own. */
const PHRASES =
  /^(?:算了|不用了|取消|やっぱり(?:いい|やめ|なし)|取り消し|忘れて|됐어|취소)|^doch (?:nicht|kein)|^(?:lieber|mejor|meglio|melhor|plutôt) (?:nicht|pas|no|não)(?!\p{L})|^rückgängig/iu;

/** Another thing in the place of what was asked for. */
const INSTEAD =
  /(?<![\p{L}])(?:instead(?! of)|rather(?! than)|stattdessen|lieber|plutôt|en su lugar|mejor|invece|em vez disso|liever|zamiast|вместо этого|лучше)(?!\p{L})|代わりに|改成|대신/iu;

/** A change of mind is short. */
const CHARACTERS_MAX = 200;

/**
 * Whether what was said next takes a request back, or puts another in its place: "Never mind.", "Cancel that order.", "Name it
 * Egret instead.". It has to be about the request, by a pronoun or by its words. Otherwise it is about something else:
 * "Never mind the warning, run it again."
 */
export function takesBack(next: string, request: string): boolean {
  if (next.length > CHARACTERS_MAX || /[?？]\s*$/.test(next)) return false;
  const asked = new Set(contentWords(request));
  return next.split(/(?<=[.!;。！,–—])\s*|\n+/u).some((clause) => {
    const said = clause.trim();
    const own = said.replace(LEAD, "");
    if (PHRASES.test(own) || PHRASES.test(said)) return true;
    const [verb] = UNDOES.exec(own) ?? [];
    if (verb === undefined) return INSTEAD.test(own) && (PRONOUN.test(own) || isAbout(own, asked));
    const object = own.slice(verb.length);
    return WHAT_WAS_SAID.test(object) || isWhollyAbout(object, asked);
  });
}

function isAbout(said: string, asked: ReadonlySet<string>): boolean {
  return [...contentWords(said)].some((word) => asked.has(word));
}

/** "Do not add tests for the lexer" leaves the tests of the parser, which were asked for. */
function isWhollyAbout(object: string, asked: ReadonlySet<string>): boolean {
  return isAbout(object, asked) && [...contentWords(object)].every((word) => asked.has(word));
}

const PRONOUN = /(?<!\p{L})(?:it|them|es|ihn|le|la|lo|het|его)(?!\p{L})/iu;

/** A thing that has to come first, and the decision after it. */
const FIRST =
  /(?<!\p{L})(?:first|before|erst|zuerst|vorher|bevor|d['’]abord|avant|primero|antes|prima|eerst|primeiro|först|først|сначала)(?!\p{L})|先に|먼저/iu;
const THEN_DECIDES =
  /(?<!\p{L})(?:(?:i|we)(?:['’]ll| will)? decide|i (?:can )?say (?:yes|no|so)|entscheide ich|ich entscheide|je (?:décide|déciderai)|decid(?:o|iré)|decido io|besluit ik|bestämmer jag|решу)(?!\p{L})|決め|결정/iu;
const NOT_YET =
  /^(?:not? yet|hold (?:on|off)|wait (?:with|for|until|before)|(?:do not|don['’]t) (?:start|begin|do (?:it|that|anything)) (?:yet|until|before)|noch nicht|warte (?:noch|damit|bis)|pas encore|attends (?:avant|que)|todavía no|aún no|espera a|non ancora|nog niet|ainda não|ещё не)(?!\p{L})/iu;

/** Whether what was said next stops a request until the person decides: "First show me the list, then I decide." */
export function putsOff(next: string): boolean {
  if (next.length > CHARACTERS_MAX) return false;
  const said = next.trim();
  if (FIRST.test(said) && THEN_DECIDES.test(said)) return true;
  return NOT_YET.test(said) || NOT_YET.test(said.replace(LEAD, ""));
}
