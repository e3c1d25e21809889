/** Words before the answer itself: "Ok, agreed". */
const LEAD =
  /^(?:(?:ok(?:ay)?|cool|great|good|fine|well|oh|hm+|please|sorry|bitte|gut|bon|bien|vale)[,!. ]+){1,3}/iu;

const YES =
  /^(?:agreed|do (?:it|that)|go (?:ahead|for it|with (?:it|that))|sounds good|let['’]?s do (?:it|that)|yes|yep|sure|of course|no (?:problem|objections?|worries)|einverstanden|ja|mach das|natürlich|kein problem|d['’]accord|oui|vas-y|allez-y|bien sûr|pas de problème|de acuerdo|sí|hazlo|adelante|claro|sim|si)(?!\p{L})/iu;

const NO =
  /^(?:no|nope|not? (?:yet|now|today)|never|don['’]?t|do not|wait|stop|hold (?:on|off)|absolutely not|nein|nicht|noch nicht|auf keinen fall|bloß nicht|lieber nicht|besser nicht|warte|non|surtout pas|pas (?:encore|maintenant|question)|attends|attendez|todavía no|aún no|mejor no|de ninguna manera|espera|não|nee|niet|nie|nej|нет)(?!\p{L})/iu;

/** Whether an answer consents to what was asked or proposed (1), refuses it (-1), or neither (0). */
export function consentIn(answer: string): -1 | 0 | 1 {
  const own = answer.trim().replace(LEAD, "");
  if (YES.test(own)) return 1;
  return NO.test(own) ? -1 : 0;
}
